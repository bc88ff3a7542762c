// SPDX-License-Identifier: Apache-2.0
#include "core/store_offset.h"

#include <algorithm>
#include <cassert>

namespace holdfast::core {

void StoreOffset::learn(Instant sent, Instant received, Micros store) {
  // More than it can have been: the clock was set back since.
  if (known() && at_least(sent) > store) least_.reset();
  if (known() && at_least(received) >= store) return;
  least_ = store - received.time_since_epoch();
  as_of_ = received;
}

Micros StoreOffset::at_least(Instant moment) const {
  assert(known());
  // Without this a call that may take for ever would overflow; no clock of a store shows such a moment
  // anyway.
  moment = std::min(moment, as_of_ + std::chrono::hours(24 * 365));
  const std::chrono::nanoseconds apart = std::chrono::abs(moment - as_of_) / 100;
  return std::chrono::floor<Micros>(moment.time_since_epoch() + *least_ - apart);
}

}  // namespace holdfast::core
