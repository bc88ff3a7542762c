// SPDX-License-Identifier: Apache-2.0
// timeline.h - what happens, in order of true time, one thing after another.
#pragma once
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "sim/clocks.h"

namespace holdfast::sim {

// Events belong to a process or to the world.  Those of a paused process wait until it goes on.  Of two
// events at the same moment the one planned first happens first.
class Timeline {
 public:
  using Owner = std::size_t;
  static constexpr Owner world = 0;

  Timeline() : owners_(1) {}

  True now() const noexcept { return now_; }
  Owner add_owner();
  // REQUIRES: `when` is not in the past.  `never_comes` is allowed, and forgotten.
  void at(True when, Owner owner, std::function<void()> what);

  void pause(Owner owner);
  void go_on(Owner owner);
  // What happens to it from here on, nobody sees.
  void died(Owner owner) { owners_[owner].dead = true; }
  bool running(Owner owner) const { return !owners_[owner].paused && !owners_[owner].dead; }
  bool paused(Owner owner) const { return owners_[owner].paused; }
  // When it last went on after a pause.
  True went_on(Owner owner) const { return owners_[owner].went_on; }
  bool dead(Owner owner) const { return owners_[owner].dead; }

  // False: nothing is left to happen before `end`, and it is `end` now.
  bool step(True end);
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  struct Event {
    True when;
    std::uint64_t order;
    Owner owner;
    std::uint32_t what;  // index into whats_: what is sorted is small
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.when != b.when ? a.when > b.when : a.order > b.order;
    }
  };
  struct OwnerState {
    bool paused = false, dead = false;
    True went_on{0};
    std::vector<std::function<void()>> backlog;  // what came up while it was paused
  };

  True now_{0};
  std::uint64_t planned_ = 0, steps_ = 0;
  std::vector<OwnerState> owners_;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  std::vector<std::function<void()>> whats_;
  std::vector<std::uint32_t> free_whats_;
};

}  // namespace holdfast::sim
