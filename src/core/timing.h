// SPDX-License-Identifier: Apache-2.0
// timing.h - how long a lease is believed in, a call may take and a pause lasts; and the store's clock.
#pragma once
#include <algorithm>
#include <cassert>
#include <optional>

#include "holdfast/clock.h"

namespace holdfast::core {

// -- the deadline of a lease.  The formula is here and nowhere else.
//
//   the store:   [ applies the request ............................ + ttl: may grant it to another ]
//   we:    [ sent ........................ + ttl - margin: stop believing ]
//
// `sent` is read before the first byte goes out, so our window begins before the store's.  It also ends
// before the store's, as long as the rates of the two clocks differ by less than the margin.

// The unused time at the end of a lease of length `life`: the margin that was set, or the larger of 5 ms and
// 1 % (rounded up, because rounded down it would be less than promised); plus the resolution of the store's
// clock.
constexpr Millis margin_of(Millis life, std::optional<Millis> set, Millis resolution) {
  if (life == never) return Millis::zero();
  return set.value_or(std::max(Millis(5), life / 100 + Millis(life % 100 == Millis::zero() ? 0 : 1))) +
         resolution;
}

constexpr Instant deadline_of(Instant sent, Millis life, Millis margin) {
  return life == never ? Instant::max() : clamped_add(sent, life - margin);
}

// We believe in no more than we asked for, and no more than the store says is left.
constexpr Millis granted_life(Millis asked, Millis remaining) { return std::min(asked, remaining); }

// The remaining time of a lease as a client reports it.  A store may say Millis(never), or thousands of years
// for a lease that was extended again and again: added to a clock's now() they would overflow.
constexpr Millis reported(Millis remaining) {
  return remaining == never ? endless_remaining : std::min(remaining, endless_remaining - Millis(1));
}

// A grant that arrives with less than half of its life left is given back.
constexpr bool worth_having(Instant now, Instant deadline, Millis ttl) {
  return deadline == Instant::max() || (now < deadline && deadline - now >= ttl / 2);
}

// -- calls and pauses

// The limit of one call of a store.  A longer wait is several attempts.
inline constexpr Millis shortest_attempt{50}, longest_attempt{2000};
constexpr Millis attempt_limit(Millis ttl) { return std::clamp(ttl / 6, shortest_attempt, longest_attempt); }

// The pause after `times` failures: `first`, twice that, four times, …, at most `longest`.
constexpr Millis backoff(Millis first, Millis longest, int times) {
  return std::min(longest, first * (Millis::rep{1} << std::min(times, 16)));
}

constexpr Millis scaled(Millis d, double factor) {
  return Millis(static_cast<Millis::rep>(static_cast<double>(d.count()) * factor));
}

// -- the store's clock

// A lower bound of the difference between the store's clock and ours.  With it a request can carry the
// store's own time after which it is void.  Each reply improves the bound: the store read its clock after we
// sent and before we received.
//
//   ours:      sent ------------------------------- received
//   the store:             `store` was read here
//
// The rates of the clocks may differ by one part in a hundred.  A step of the store's clock is noticed with
// the next reply.
class StoreOffset {
 public:
  void learn(Instant sent, Instant received, Micros store) {
    // The store's clock shows less than it can: it was set back since.
    if (known() && at_least(sent) > store) least_.reset();
    if (known() && at_least(received) >= store) return;
    least_ = store - received.time_since_epoch();
    as_of_ = received;
  }

  bool known() const noexcept { return least_.has_value(); }

  // The store's clock shows this or more at that moment of ours.  REQUIRES: known().
  Micros at_least(Instant moment) const {
    assert(known());
    // A call without a deadline would overflow; no clock of a store shows such a moment anyway.
    moment = std::min(moment, as_of_ + std::chrono::hours(24 * 365));
    const std::chrono::nanoseconds apart = std::chrono::abs(moment - as_of_) / 100;
    return std::chrono::floor<Micros>(moment.time_since_epoch() + *least_ - apart);
  }

 private:
  std::optional<std::chrono::nanoseconds> least_;
  Instant as_of_{};
};

}  // namespace holdfast::core
