// SPDX-License-Identifier: Apache-2.0
// gate.h - the waiters of one client for one key: one at the store, in order among themselves.
#pragma once
#include <algorithm>
#include <deque>
#include <optional>

namespace holdfast::core {

// The gate owns the client's place in the store's queue; whoever is first at the gate speaks for it.
template <class Waiter>
class Gate {
 public:
  // True: first, may talk to the store.
  bool enter(Waiter waiter) {
    waiting_.push_back(waiter);
    return waiting_.size() == 1;
  }

  // Whoever is first now because the one who leaves was.
  std::optional<Waiter> leave(Waiter waiter) {
    const bool was_first = first(waiter);
    std::erase(waiting_, waiter);
    if (!was_first || waiting_.empty()) return std::nullopt;
    return waiting_.front();
  }

  bool first(Waiter waiter) const { return !waiting_.empty() && waiting_.front() == waiter; }
  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }
  std::optional<Waiter> front() const {
    return waiting_.empty() ? std::optional<Waiter>{} : std::optional<Waiter>{waiting_.front()};
  }

 private:
  std::deque<Waiter> waiting_;
};

}  // namespace holdfast::core
