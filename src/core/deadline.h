// SPDX-License-Identifier: Apache-2.0
// deadline.h - how long we believe in a lease.  The formula stands here and nowhere else.
//
//   the store:   [ applies the request ............................ + ttl: may give it away ]
//   we:    [ sent ........................ + ttl - margin: stop believing ]
//
// `sent` is read before the first byte goes out, so our window begins before the store's and ends before
// it, as long as the two clocks' rates differ by less than the margin.
#pragma once
#include <algorithm>
#include <optional>

#include "holdfast/clock.h"

namespace holdfast::core {

// What we leave unused at the end of a lease of length `life`: what was set, or the larger of 5 ms and
// 1 % (rounded up: rounded down it would be less than promised), and in any case the grain of the
// store's clock.
constexpr Millis margin_of(Millis life, std::optional<Millis> set, Millis resolution) {
  if (life == never) return Millis::zero();
  return set.value_or(std::max(Millis(5), life / 100 + Millis(life % 100 == Millis::zero() ? 0 : 1))) +
         resolution;
}

constexpr Instant deadline_of(Instant sent, Millis life, Millis margin) {
  return life == never ? Instant::max() : clamped_add(sent, life - margin);
}

// What may be believed in: no more than was asked for, and no more than the store says is there.
constexpr Millis granted_life(Millis asked, Millis remaining) { return std::min(asked, remaining); }

// One call of a store never gets more: a longer wish is several attempts.
inline constexpr Millis shortest_attempt{50}, longest_attempt{2000};
constexpr Millis attempt_limit(Millis ttl) { return std::clamp(ttl / 6, shortest_attempt, longest_attempt); }

// A grant that comes back with less than half its life left is given back.
constexpr bool worth_having(Instant now, Instant deadline, Millis ttl) {
  return deadline == Instant::max() || (now < deadline && deadline - now >= ttl / 2);
}

}  // namespace holdfast::core
