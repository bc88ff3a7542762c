// SPDX-License-Identifier: Apache-2.0
// wants.h - what a simulated thread asks for, drawn at random.
#pragma once
#include "core/belief.h"
#include "holdfast/options.h"
#include "sim/scene.h"

namespace holdfast::sim {

struct Wants {
  int key = 0;
  AcquireOptions options;
  bool stranger = false;  // with a holder's name that is not recognisably ours

  bool queues() const {
    return options.fair && options.wait > Millis::zero() && options.attempts == 0 && !options.interval;
  }
};

Wants draw_wants(Scene& scene);

}  // namespace holdfast::sim
