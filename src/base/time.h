// SPDX-License-Identifier: Apache-2.0
// time.h - the wall clock, and times as people write them.  The clock of leases is holdfast/clock.h.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/clock.h"
#include "holdfast/result.h"

namespace holdfast {

// -- the wall clock: shown to people, and a lower bound of tokens.  It never decides whether a lease expired.

Moment wall_now() noexcept;

// "2026-11-15 04:12:09Z".
std::string format_wall(Moment moment);

// Stores keep moments as microseconds since 1970, and zero where there is none.
constexpr std::optional<Moment> moment_or_none(Micros since_1970) noexcept {
  return since_1970 == Micros::zero() ? std::nullopt : std::optional(Moment(since_1970));
}
constexpr Micros micros_or_zero(std::optional<Moment> moment) noexcept {
  return moment.value_or(Moment{}).time_since_epoch();
}

// -- durations

// Parses "250ms", "30s", "5m", "1.5h", "2d", up to 100 years.  The error names the text and the valid forms.
// Zero is valid here; the caller decides whether it makes sense.
Result<Millis> parse_duration(std::string_view text);

// Short, for people: "250ms", "29.8s", "5m", "1h 5m", "3d 2h"; "never".
std::string format_duration(Millis duration);

}  // namespace holdfast
