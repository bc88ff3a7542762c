// SPDX-License-Identifier: Apache-2.0
// relay.h - one address with several servers behind it: connections go to them in turn.  It can be far away,
// and forget its connections.
#pragma once
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace holdfast::test {

class Relay {
 public:
  // Ports of this machine.  The server's answers are delayed by `delay`.
  explicit Relay(std::vector<int> behind, std::chrono::milliseconds delay = {});
  ~Relay();

  int port() const noexcept { return port_; }

  // From now on nothing is passed on over existing connections, and neither end is notified: as when a proxy
  // forgets them.  New ones work.  When this returns it has happened.
  void forget_connections();

 private:
  void serve();
  void let_in();
  // What one end has sent to the other; false: it has ended.
  static bool pass_on(int from, int to);
  void drop(int fd);
  void fall_silent();

  const std::vector<int> behind_;
  const std::chrono::milliseconds delay_;
  const Fd door_, end_;
  const Fd forget_, forgotten_;
  int port_ = 0;
  std::size_t served_ = 0;
  std::map<int, Fd> ends_;     // all that are open
  std::map<int, int> others_;  // of each, the other one
  std::set<int> servers_;      // those of them that lead to a server
  std::vector<Fd> silent_;     // forgotten: still open, and never read
  std::thread thread_;
};

}  // namespace holdfast::test
