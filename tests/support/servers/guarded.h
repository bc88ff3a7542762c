// SPDX-License-Identifier: Apache-2.0
// guarded.h - a program of somebody else's that never outlives the test.
#pragma once
#include <string>
#include <vector>

#include "base/fd.h"
#include "holdfast/clock.h"

namespace holdfast::test {

struct Program {
  std::vector<std::string> words;
  std::string user{};    // run as; empty: as ourselves
  std::string log{};     // where its output is appended
  std::string folder{};  // removed if the test dies without doing so
  int end_signal = 15;   // what it is sent then
};

// Any thread may start it and any end it, one at a time.
class Guarded {
 public:
  explicit Guarded(Program program);  // throws if the guard cannot be started
  ~Guarded();                         // sends its end_signal, and waits
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  int pid() const noexcept { return pid_; }
  void signal(int number) const;
  bool ended();
  // Its exit code, 128 + N after signal N; with it all its descendants are gone.  Throws if it takes
  // far longer than it should.
  int wait(Millis limit = std::chrono::seconds(30));
  // The end of its output since it was started, for messages.
  std::string said() const;

 private:
  const Program program_;
  std::size_t log_began_ = 0;
  int guard_ = -1;
  int pid_ = -1;
  int code_ = -1;
  Fd life_line_;
};

// Runs it to its end; throws with its output unless it ends well.
void run_to_end(Program program);

// The user that servers run as which refuse root: `postgres` if we are root, else empty, ourselves.
std::string server_user();
// Gives the folder and all in it to that user.
void hand_over(const std::string& path);
// The program in PATH, /usr/sbin, or the newest /usr/lib/postgresql/*/bin; empty if there is none.
std::string find_program(const std::string& name);
void write_file(const std::string& path, const std::string& text);

}  // namespace holdfast::test
