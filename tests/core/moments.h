// SPDX-License-Identifier: Apache-2.0
// moments.h - instants of the virtual time the core is tested in, as numbers that a failing test can show.
#pragma once
#include "holdfast/clock.h"

namespace holdfast::core {

using namespace std::chrono_literals;

// Late enough that nothing a test subtracts falls before the clock's zero.
constexpr Instant start{std::chrono::hours(1000)};

constexpr Instant at(Millis since_start) { return start + since_start; }

// Rounded down.
template <class Rep, class Period>
constexpr Millis::rep ms(std::chrono::duration<Rep, Period> d) {
  return std::chrono::floor<Millis>(d).count();
}
// Since `start`.
constexpr Millis::rep ms(Instant t) { return ms(t - start); }

}  // namespace holdfast::core
