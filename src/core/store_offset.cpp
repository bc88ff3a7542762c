// SPDX-License-Identifier: Apache-2.0
#include "core/store_offset.h"

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
  const std::chrono::nanoseconds apart = std::chrono::abs(moment - as_of_) / 100;
  return std::chrono::floor<Micros>(moment.time_since_epoch() + *least_ - apart);
}

}  // namespace holdfast::core
