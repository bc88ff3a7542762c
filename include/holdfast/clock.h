// SPDX-License-Identifier: Apache-2.0
// clock.h - the one clock that decides how long we believe in a lease.
#pragma once
#include <algorithm>
#include <chrono>

#include "holdfast/export.h"

namespace holdfast {

using Millis = std::chrono::milliseconds;
using Micros = std::chrono::microseconds;

// CLOCK_BOOTTIME: time since the machine started.  It goes on while the machine is suspended and no
// administrator or time server can set it; std::chrono::steady_clock stops in suspend, and a lease
// does not.
struct HOLDFAST_API BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept;
};

using Instant = BootClock::time_point;

// A moment of the wall clock: when something happened, or when a job is to run.  It decides about no lease.
using Moment = std::chrono::sys_time<Micros>;

// How long it is until that moment on the wall, for a ttl: {.ttl = time_until(half_past_two), .keep = false}.
// Zero or less: it has passed.
HOLDFAST_API Millis time_until(std::chrono::sys_time<std::chrono::nanoseconds> moment) noexcept;

// A ttl without end: the lease ends never.  A wait without end: the call waits forever.  They are different
// types, so that neither compiles in the place of the other (Ttl and Wait in options.h).  In rows and in what
// a store is asked for, a duration that is equal to `never` has no end.
struct Never {
  constexpr operator Millis() const noexcept { return Millis::max(); }  // NOLINT: implicit on purpose
};
struct Forever {
  constexpr operator Millis() const noexcept { return Millis::max(); }  // NOLINT
};
inline constexpr Never never;
inline constexpr Forever forever;
constexpr bool operator==(Millis duration, Never) noexcept { return duration == Millis::max(); }
constexpr bool operator==(Millis duration, Forever) noexcept { return duration == Millis::max(); }

// `t + d`, or the end of time where that would overflow.  `never` after anything is the end of time.
constexpr Instant clamped_add(Instant t, Millis d) noexcept {
  if (d >= std::chrono::duration_cast<Millis>(Instant::max() - std::max(t, Instant{}))) return Instant::max();
  return t + d;
}

}  // namespace holdfast
