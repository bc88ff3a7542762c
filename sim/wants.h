// SPDX-License-Identifier: Apache-2.0
// wants.h - what a simulated thread asks for, drawn at random.
#pragma once
#include <optional>
#include <stop_token>
#include <string>

#include "holdfast/options.h"
#include "sim/message.h"
#include "sim/run_context.h"

namespace holdfast::sim {

struct Wants {
  int key = 0;
  Millis ttl{};
  Millis wait{};
  int attempts = 0;
  Millis interval{};
  bool fair = true;
  bool keep = true;
  Millis renew_every{};
  std::optional<int> max_renewals = {};
  bool detached = false;  // outlives its process; not renewed
  bool stranger = false;  // by a name that is not recognisably Holdfast's

  // As core::Terms::queues().
  bool queues() const { return fair && attempts == 0 && interval == Millis::zero() && wait > Millis::zero(); }
  bool kept() const {
    return keep && !detached && ttl != never && !max_renewals && renew_every == Millis::zero();
  }
  // REQUIRES: stranger.
  static std::string name(AttemptId attempt_id) { return "stranger " + std::to_string(attempt_id); }
  AcquireOptions options(AttemptId attempt_id, std::stop_token stop) const;
};

Wants draw_wants(RunContext& context);

}  // namespace holdfast::sim
