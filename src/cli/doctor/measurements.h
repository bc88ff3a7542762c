// SPDX-License-Identifier: Apache-2.0
// measurements.h - what doctor computes from its calls to the store: the length of round trips, how fast the
// store's clock runs, and how far it is from ours.  Pure.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "holdfast/clock.h"
#include "holdfast/rows.h"

namespace holdfast::cli {

// ---- round trips

struct RoundTrips {
  Micros median{};
  Micros p99{};  // with fewer than a hundred calls, the longest
};

// REQUIRES: `all` is not empty.
RoundTrips round_trips_of(std::vector<Micros> all);

// The shortest ttl that leaves time for ten calls and for two pauses of the process.
Millis least_ttl(const RoundTrips& trips);

std::optional<Finding> judge(const RoundTrips& trips, Millis ttl);

// "0.4ms": more precise than format_duration().
std::string in_millis(Micros time);

// ---- the rate of the store's clock
//
// The store reads its clock at some moment between our sending and our receiving, so one sample only gives
// bounds for the difference between the clocks:
//
//   ours:      sent ------------------------------- received
//   the store:             `store` was read here
//
// Only a change that the bounds of two samples prove is reported; everything else may be the network.

struct ClockSample {
  Instant sent, received;
  Micros store;  // its clock, on a scale of its own; zero: the store does not report it
};

struct ClockRate {
  double drift_ppm = 0;         // above zero, the store's clock is faster
  double give_or_take_ppm = 0;  // the uncertainty that the bounds of all samples together leave
  Micros step{};                // the clock was set by at least this much; zero: it was not set

  // Precise enough to show.
  bool is_meaningful() const noexcept;
};

// `resolution` is that of the store's clock.  None: fewer than two samples, or the store reports no time.
std::optional<ClockRate> clock_rate_of(std::span<const ClockSample> samples, Micros resolution);

std::optional<Finding> judge(const ClockRate& rate);

// ---- the offset of the store's wall clock

// The store's wall clock is `offset` ahead of ours, give or take half of `width`.
struct ClockOffset {
  Micros offset{};
  Micros width{};
};
// The store granted a lease at `granted` by its clock, somewhere between the two moments of ours.
ClockOffset clock_offset_of(Moment before, Moment granted, Moment after);

std::optional<Finding> judge(const ClockOffset& offset);

}  // namespace holdfast::cli
