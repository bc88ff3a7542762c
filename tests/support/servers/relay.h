// SPDX-License-Identifier: Apache-2.0
// relay.h - one address with several servers behind it: connections go to them in turn.  It can be far away.
#pragma once
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace holdfast::test {

class Relay {
 public:
  // Ports of this machine.  What a server says is held back for `delay`.
  explicit Relay(std::vector<int> behind, std::chrono::milliseconds delay = {});
  ~Relay();

  int port() const noexcept { return port_; }

  // What is connected now is neither passed on nor ended any more, as behind a router that has lost its
  // state; who comes later is served.
  void forget();

 private:
  void serve();
  void let_in();
  // What one end has sent to the other; false: it has ended.
  static bool pass_on(int from, int to);
  void drop(int fd);

  const std::vector<int> behind_;
  const std::chrono::milliseconds delay_;
  const Fd door_, end_, forget_;
  std::atomic<bool> forgotten_ = false;
  int port_ = 0;
  std::size_t served_ = 0;
  std::map<int, Fd> ends_;     // all that are open
  std::map<int, int> others_;  // of each, the other one
  std::set<int> servers_;      // those of them that lead to a server
  std::thread thread_;
};

}  // namespace holdfast::test
