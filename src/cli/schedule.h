// SPDX-License-Identifier: Apache-2.0
// schedule.h - when a command is told to end, and when it is made to.
//
//   normal:   ... renewed, renewed ...                 [ grace ][ margin ]
//                                                      TERM     KILL      deadline: we stop believing
//   told:     lost, or CMD ended and left others       now      + grace, and never later than that KILL
//   at once:  the main process is gone                          now
//
// The margin is for the kernel: to wake us, and to bury the dead before the belief ends.  Where every
// processor is busy, and CMD takes what its session is due, a process that is woken was seen to wait 0.9 s
// for its turn.  Pure: no clock of its own.
#pragma once
#include <algorithm>

#include "holdfast/clock.h"

namespace holdfast::cli {

class Schedule {
 public:
  Schedule() = default;
  Schedule(Instant deadline, Millis ttl) noexcept : deadline_(deadline), ttl_(ttl) {}

  Millis margin() const noexcept { return std::min(Millis(1'000), ttl_ / 10); }
  Millis grace() const noexcept { return std::min(Millis(10'000), ttl_ / 6); }
  // For what CMD has left behind when it ended itself.
  Millis grace_for_the_rest() const noexcept { return std::min(Millis(2'000), grace()); }

  // A deadline only ever moves forward.
  void renewed(Instant deadline) noexcept { deadline_ = std::max(deadline_, deadline); }

  // TERM at `now`, KILL after `grace`.  The first telling counts.
  void tell(Instant now, Millis grace) noexcept {
    if (now >= told_) return;
    told_ = now;
    killed_by_telling_ = after(now, grace);
  }
  void at_once() noexcept { told_ = killed_by_telling_ = Instant::min(); }

  Instant term_at() const noexcept { return std::min(told_, deadline_ - margin() - grace()); }
  Instant kill_at() const noexcept { return std::min(killed_by_telling_, deadline_ - margin()); }

  // For the main process, which watches the watchman: by then it should have reported the group dead.
  Instant doubt_at() const noexcept { return deadline_ - margin() / 2; }

 private:
  Instant deadline_ = Instant::max();
  Millis ttl_{};
  Instant told_ = Instant::max();
  Instant killed_by_telling_ = Instant::max();
};

}  // namespace holdfast::cli
