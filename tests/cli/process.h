// SPDX-License-Identifier: Apache-2.0
// process.h - a program under test, from outside: started, typed to, signalled, read, awaited.
#pragma once
#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "holdfast/clock.h"

namespace holdfast::test {

// Longer than anything here takes, also under a sanitizer on a busy machine.
inline constexpr Millis long_enough = std::chrono::seconds(30);

class Process {
 public:
  struct Plan {
    std::vector<std::string> command;
    std::map<std::string, std::string> environment = {};  // all of it
    std::string folder = "/";
    bool on_terminal = false;  // a new one controls it, of 24 rows and 120 columns; else it has none
    bool keep_input = false;   // type() is possible; else stdin is at its end
    bool full_err = false;     // its first write to stderr blocks until we read err()
    int out = -1;              // its stdout; else one that out() reads
  };

  // A session of its own.
  explicit Process(const Plan& plan);
  // Kills what of the session still runs.
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;

  pid_t pid() const { return pid_; }
  void type(std::string_view text);
  void end_input() { input_.reset(); }
  void signal(int number) const;
  // Of its terminal.
  void resize(int rows, int columns) const;
  // What is typed is shown and comes line by line, as a shell has it.
  bool terminal_is_as_ever() const;

  // What came so far.  On a terminal everything comes to out().
  const std::string& out();
  const std::string& err();
  bool await_out(std::string_view text);
  bool await_err(std::string_view text);

  bool has_ended();
  // Its exit code as a shell counts: 128+N for signal N.  -1 if it did not end in time.
  int wait(Millis limit = long_enough);

 private:
  void read_all();

  pid_t pid_ = -1;
  Fd input_, out_, err_;
  std::string out_text_, err_text_;
  int code_ = -1;
  bool ended_ = false;
};

}  // namespace holdfast::test
