// SPDX-License-Identifier: Apache-2.0
// clock_rate.h - whether the store's clock runs as ours does.
//
// The store reads its clock at some moment between our sending and our receiving, so each sample says of the
// difference between the clocks only that it lies between two bounds:
//
//   ours:      sent ------------------------------- received
//   the store:             `store` was read here
//
// What the bounds of two samples rule out has really changed; nothing else is blamed on the store.
#pragma once
#include <optional>
#include <span>

#include "holdfast/clock.h"
#include "holdfast/rows.h"

namespace holdfast::cli {

struct ClockSample {
  Instant sent, received;
  Micros store;  // its clock, on a scale of its own; zero: it did not tell
};

struct ClockRate {
  double drift_ppm = 0;         // above zero, the store's is faster
  double give_or_take_ppm = 0;  // what the bounds of all samples together leave open, either way
  Micros step{};                // it was set, by so much at least; zero: it was not

  // Worth telling.
  bool is_meaningful() const noexcept;
};

// `resolution` is that of the store's clock.  None: fewer than two samples, or the store did not tell time.
std::optional<ClockRate> clock_rate_of(std::span<const ClockSample> samples, Micros resolution);

std::optional<Finding> judge(const ClockRate& rate);

// The store's wall clock against ours: by `offset` ahead of it, known to half of `width`.
struct ClockOffset {
  Micros offset{};
  Micros width{};
};
// `granted` is when a lease was granted by the store's clock, somewhere between the two moments of ours.
ClockOffset clock_offset_of(Moment before, Moment granted, Moment after);

std::optional<Finding> judge(const ClockOffset& offset);

}  // namespace holdfast::cli
