// SPDX-License-Identifier: Apache-2.0
// store_offset.h - what we know of the store's clock, to say by it when a request is void.
#pragma once
#include <optional>

#include "holdfast/clock.h"

namespace holdfast::core {

// The store's clock shows at least so much more than ours.  Each answer narrows it: the store read its clock
// after we sent and before we received.
//
//   ours:      sent ------------------------------- received
//   the store:             `store` was read here
//
// Rates may differ by one part in a hundred.  A step of the store's clock is noticed with the next answer.
class StoreOffset {
 public:
  void learn(Instant sent, Instant received, Micros store);

  bool known() const noexcept { return least_.has_value(); }
  // What the store's clock shows at that moment of ours, or less.
  //
  // REQUIRES: known().
  Micros at_least(Instant moment) const;

 private:
  std::optional<std::chrono::nanoseconds> least_;
  Instant as_of_{};
};

}  // namespace holdfast::core
