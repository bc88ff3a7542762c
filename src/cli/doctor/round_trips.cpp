// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/round_trips.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/time.h"

namespace holdfast::cli {
namespace {

constexpr Millis pause_budget(250);

}  // namespace

RoundTrips round_trips_of(std::vector<Micros> all) {
  std::sort(all.begin(), all.end());
  return {.median = all[all.size() / 2], .p99 = all[(all.size() * 99 - 1) / 100]};
}

Millis least_ttl(const RoundTrips& trips) {
  return std::chrono::ceil<Millis>(10 * trips.p99) + 2 * pause_budget;
}

std::optional<Finding> judge(const RoundTrips& trips, Millis ttl) {
  const Millis least = least_ttl(trips);
  if (ttl >= least) return std::nullopt;
  return Finding{Weight::warning, "all.round-trip",
                 "a round trip takes up to " + in_millis(trips.p99) + ": a ttl of " + format_duration(ttl) +
                     " leaves too little time to renew, so leases may be lost although nothing has failed",
                 "use a ttl of " + format_duration(least) + " or more, or a store with faster answers"};
}

std::string in_millis(Micros time) {
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "%.1fms", static_cast<double>(time.count()) / 1000);
  return text.data();
}

}  // namespace holdfast::cli
