// SPDX-License-Identifier: Apache-2.0
// world.h - a store, a network and some processes, from one seed to its end.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>

#include "sim/names.h"
#include "sim/run_context.h"
#include "sim/shrink.h"

namespace holdfast::sim {

// What a seed came to.
struct Outcome {
  std::optional<Violation> violation;
  Tally<Fault> faults;
  Tally<Sometimes> seen;
  std::uint64_t events = 0;
  std::uint64_t hash = 0;  // of the whole trace: the same for the same seed, always
  std::deque<Event> last;  // before the end, or before the violation
};

struct RunOptions {
  Mutant mutant = Mutant::none;
  bool print_events = false;
  Less less = {};
};

Outcome run(std::uint64_t seed, RunOptions options = {});

}  // namespace holdfast::sim
