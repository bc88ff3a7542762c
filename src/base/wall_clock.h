// SPDX-License-Identifier: Apache-2.0
// wall_clock.h - the time on the wall: for people, and for the clock part of tokens.  It decides nothing.
#pragma once
#include <optional>
#include <string>

#include "holdfast/clock.h"

namespace holdfast {

Moment wall_now() noexcept;

// In words: "2026-11-15 04:12:09Z".
std::string format_wall(Moment moment);

// Stores keep moments as microseconds since 1970, and zero where there is none.
constexpr std::optional<Moment> moment_or_none(Micros since_1970) noexcept {
  return since_1970 == Micros::zero() ? std::nullopt : std::optional(Moment(since_1970));
}
constexpr Micros micros_or_zero(std::optional<Moment> moment) noexcept {
  return moment.value_or(Moment{}).time_since_epoch();
}

}  // namespace holdfast
