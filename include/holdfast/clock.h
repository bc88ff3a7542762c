// SPDX-License-Identifier: Apache-2.0
// clock.h - the clock that decides how long this process treats a lease as held.
#pragma once
#include <algorithm>
#include <chrono>
#include <compare>
#include <concepts>

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
// different types and are no durations, so that neither compiles in place of the other, or where a duration
// is needed that ends.  Millis(never) is how requests to a store and its replies say that there is no end.
struct Never {
  constexpr explicit operator Millis() const noexcept { return Millis::max(); }
};
struct Forever {
  constexpr explicit operator Millis() const noexcept { return Millis::max(); }
};
inline constexpr Never never;
inline constexpr Forever forever;

// The remaining time of a lease without end, as a client reports it: a hundred years and a millisecond.  That
// is longer than any ttl and than all other times that a client reports, and it can be added to the now() of
// any clock.
inline constexpr Millis endless_remaining = std::chrono::hours(24 * 36525) + Millis(1);

// Whether a duration has no end, in a request to a store, in its reply, and in what a client reports.
constexpr bool operator==(Millis duration, Never) noexcept {
  return duration == Millis::max() || duration == endless_remaining;
}
constexpr bool operator==(Millis duration, Forever) noexcept { return duration == Millis::max(); }

// A duration, or no end: Endless is Never or Forever.
template <class Endless>
class DurationOr {
 public:
  template <class Rep, class Period>
  requires std::convertible_to<std::chrono::duration<Rep, Period>, Millis>
  constexpr DurationOr(std::chrono::duration<Rep, Period> length) noexcept  // NOLINT: implicit on purpose
      : length_(length) {}
  constexpr DurationOr(Endless endless) noexcept : length_(endless) {}  // NOLINT
  constexpr operator Millis() const noexcept { return length_; }        // NOLINT
  friend constexpr auto operator<=>(DurationOr, DurationOr) = default;
  friend constexpr bool operator==(DurationOr, DurationOr) = default;
  friend constexpr bool operator==(DurationOr a, Endless b) noexcept { return a.length_ == b; }

 private:
  Millis length_;
};
using Ttl = DurationOr<Never>;     // how long a lease lasts without a renewal
using Wait = DurationOr<Forever>;  // how long a call waits

// `t + d`, or Instant::max() if that would overflow or `d` has no end.
constexpr Instant clamped_add(Instant t, Millis d) noexcept {
  if (d >= std::chrono::duration_cast<Millis>(Instant::max() - std::max(t, Instant{}))) return Instant::max();
  return t + d;
}

}  // namespace holdfast
