// SPDX-License-Identifier: Apache-2.0
// clock.h - the clock that decides how long this process treats a lease as held.
#pragma once
#include <algorithm>
#include <chrono>

#include "holdfast/export.h"

namespace holdfast {

using Millis = std::chrono::milliseconds;
using Micros = std::chrono::microseconds;

// CLOCK_BOOTTIME: time since the machine started.  It goes on during suspend, and nobody can set it.
// std::chrono::steady_clock stops in suspend, but a lease does not.
struct HOLDFAST_API BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept;
};

using Instant = BootClock::time_point;

// A moment of the wall clock: when something happened, or when a job is to run.  Leases do not depend on it.
using Moment = std::chrono::sys_time<Micros>;

// The time until that moment of the wall clock, for a ttl: {.ttl = time_until(half_past_two), .keep = false}.
// Zero or less: it has passed.
HOLDFAST_API Millis time_until(std::chrono::sys_time<std::chrono::nanoseconds> moment) noexcept;

// `never` is a ttl: the lease does not end.  `forever` is a wait: the call waits without a limit.  They have
// different types, so that neither compiles in place of the other (Ttl and Wait in options.h).  In rows and
// in requests to a store, a duration that is equal to `never` has no end.
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

// `t + d`, or Instant::max() if that would overflow or `d` is `never`.
constexpr Instant clamped_add(Instant t, Millis d) noexcept {
  if (d >= std::chrono::duration_cast<Millis>(Instant::max() - std::max(t, Instant{}))) return Instant::max();
  return t + d;
}

}  // namespace holdfast
