// SPDX-License-Identifier: Apache-2.0
// terms.h - the options of one acquisition, with all defaults filled in.
#pragma once
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "holdfast/options.h"

namespace holdfast::core {

// Each field as in AcquireOptions, with the default that is documented there.
struct Terms {
  Millis ttl{std::chrono::seconds(30)};
  Millis wait{0};
  std::stop_token stop = {};
  std::optional<std::string> owner = {};  // none: a new name
  std::string note = {};
  int attempts = 0;
  Interval interval = {};
  bool fair = true;
  bool keep = true;
  Millis renew_every{0};  // zero: ttl/3, or at 70 % of the ttl if it has `finished`
  std::optional<int> max_renewals = {};
  std::function<bool()> finished = {};
  bool detached = false;

  // Whether it waits in the queue, rather than by a schedule of attempts.
  bool queues() const noexcept { return fair && wait > Millis::zero() && attempts == 0 && !interval; }
};

// Takes each option from the call, else from the client's defaults, else from Terms.  Calls `owner` to get
// the name.  `margin` is the client's.
Terms settle(const AcquireOptions& given, const AcquireOptions& defaults, std::optional<Millis> margin = {});

}  // namespace holdfast::core
