// SPDX-License-Identifier: Apache-2.0
// wants.h - what a simulated thread asks for, drawn at random.
#pragma once
#include "core/belief.h"
#include "core/terms.h"
#include "sim/run_context.h"

namespace holdfast::sim {

struct Wants {
  int key = 0;
  core::Terms terms;
  bool stranger = false;  // with a holder's name that is not recognisably ours
};

Wants draw_wants(RunContext& context);

}  // namespace holdfast::sim
