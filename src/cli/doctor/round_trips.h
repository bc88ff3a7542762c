// SPDX-License-Identifier: Apache-2.0
// round_trips.h - how far away the store is, and which ttl that leaves time for.
#pragma once
#include <optional>
#include <vector>

#include "holdfast/clock.h"
#include "holdfast/rows.h"

namespace holdfast::cli {

struct RoundTrips {
  Micros median{};
  Micros p99{};  // of few: the longest
};

// REQUIRES: there are some.
RoundTrips round_trips_of(std::vector<Micros> all);

// So short a ttl leaves time for ten calls, and twice for a process that is not let run.
Millis least_ttl(const RoundTrips& trips);

std::optional<Finding> judge(const RoundTrips& trips, Millis ttl);

// "0.4ms": finer than durations are written elsewhere.
std::string in_millis(Micros time);

}  // namespace holdfast::cli
