// SPDX-License-Identifier: Apache-2.0
// gates.h - the threads of a process that wait for keys: core::Gate with notifications, as
// src/client/waiting.h.
#pragma once
#include <map>
#include <optional>
#include <utility>

#include "core/acquiring.h"
#include "holdfast/spi/store.h"
#include "sim/doze.h"
#include "sim/run_context.h"

namespace holdfast::sim {

class Gates {
  struct Door;

 public:
  explicit Gates(RunContext& context) : context_(context) {}

  class Waiter {
   public:
    Waiter(Gates& gates, int key, Doze doze) : gates_(gates), key_(key), doze_(std::move(doze)) {
      door().gate.enter(this);
    }
    ~Waiter() { leave_gate(); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    bool first() const { return door().gate.first(const_cast<Waiter*>(this)); }
    // The store may keep a place for this process from now on; a grant takes it away.
    void queueing() { door().queued = true; }
    void granted() { door().queued = false; }
    // Leaves the gate.  True: nobody of us waits any more, and the store may keep a place for us.
    bool leave() {
      const bool last = door().queued && door().gate.size() == 1;
      leave_gate();
      return last;
    }
    Parking::Stand sleep(Instant until) { return doze_.until(until); }
    void ring() { doze_.ring(); }
    void heard(const Reply& reply) { door().last = reply; }

   private:
    friend class Gates;
    void leave_gate() {
      if (std::exchange(left_, true)) return;
      if (const auto next = door().gate.leave(this)) (*next)->ring();
      if (!door().gate.empty()) return;
      gates_.doors_.erase(key_);
      gates_.left_[key_] = gates_.context_.now();
    }
    Door& door() const { return gates_.doors_[key_]; }
    Gates& gates_;
    const int key_;
    Doze doze_;
    bool left_ = false;
  };

  // What the first at that gate heard last; nothing if nobody waits here.
  std::optional<Reply> queue_at(int key) const {
    const auto door = doors_.find(key);
    if (door == doors_.end()) return std::nullopt;
    return door->second.last;
  }
  int size(int key) const {
    const auto door = doors_.find(key);
    return door == doors_.end() ? 0 : static_cast<int>(door->second.gate.size());
  }
  // Somebody waits for that key, and the place that the store may keep for us is theirs.
  bool inherits(int key) {
    const auto door = doors_.find(key);
    if (door == doors_.end()) return false;
    door->second.queued = true;
    return true;
  }
  void listen() { listening_ = true; }
  void ring(int key) {
    const auto door = doors_.find(key);
    if (listening_ && door != doors_.end()) (*door->second.gate.front())->ring();
  }
  // Since when nobody waits for that key.
  True left(int key) const {
    const auto at = left_.find(key);
    return at == left_.end() ? True(0) : at->second;
  }

 private:
  struct Door {
    core::Gate<Waiter*> gate;
    Reply last{.verdict = Verdict::busy};
    bool queued = false;
  };
  RunContext& context_;
  std::map<int, Door> doors_;
  std::map<int, True> left_;
  bool listening_ = false;
};

}  // namespace holdfast::sim
