// SPDX-License-Identifier: Apache-2.0
// terms.h - what an acquisition asks for, with nothing left unsaid.
#pragma once
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "holdfast/options.h"

namespace holdfast::core {

// Each field as in AcquireOptions, with the default that is promised there.
struct Terms {
  Millis ttl{std::chrono::seconds(30)};
  Millis wait{0};
  std::stop_token stop = {};
  std::optional<std::string> owner = {};  // none: a name that is new
  std::string note = {};
  int attempts = 0;
  Interval interval = {};
  bool fair = true;
  bool keep = true;
  Millis renew_every{0};  // zero: ttl/3, or late if it has `finished`
  std::optional<int> max_renewals = {};
  std::function<bool()> finished = {};
  bool detached = false;

  // Whether it waits in the queue, and not by a schedule.
  bool queues() const noexcept { return fair && wait > Millis::zero() && attempts == 0 && !interval; }
};

// `margin` of the client.  What the call says, else what the client's defaults say, else ours.  Asks who the
// owner is.
Terms settle(const AcquireOptions& said, const AcquireOptions& defaults, std::optional<Millis> margin = {});

}  // namespace holdfast::core
