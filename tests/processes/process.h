// SPDX-License-Identifier: Apache-2.0
// process.h - another process: HOLDFAST_PEER, started and not forked, so that it shares nothing.
#pragma once
#include <string>
#include <vector>

#include "base/fd.h"
#include "holdfast/clock.h"

namespace holdfast::test {

class Process {
 public:
  explicit Process(std::vector<std::string> arguments);
  Process(Process&&) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();  // kill -9

  int pid() const noexcept { return pid_; }
  void signal(int number) const;
  // kill -9, and gone when this returns.
  void kill();

  void send(const std::string& line);
  std::string hear();  // the next line; empty at the end
  // Whether there is something to hear, now or within `wait`.
  bool speaks(Millis wait) const;
  std::string ask(const std::string& line) {
    send(line);
    return hear();
  }

 private:
  int pid_ = -1;
  Fd to_, from_;
};

// A client of the store at URL, in a process of its own.
class PeerProcess : public Process {
 public:
  explicit PeerProcess(const std::string& url) : Process({url}), client_(hear()) {}
  const std::string& client() const noexcept { return client_; }

 private:
  std::string client_;
};

}  // namespace holdfast::test
