// SPDX-License-Identifier: Apache-2.0
// shrink.h - less of a world: a seed that broke a promise is easier to read with fewer processes and faults.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/names.h"
#include "sim/plan.h"

namespace holdfast::sim {

// What is left out of a seed's plan.  As text: "processes=2,keys=1,lost-reply".
struct Less {
  int processes = 0;  // at most so many; zero: as the seed says
  int threads = 0;
  int keys = 0;
  std::vector<Fault> without = {};

  Plan of(Plan plan) const;
};

std::string to_string(const Less& less);
// Empty, or what is wrong, as a sentence.
std::string parse(std::string_view text, Less& less);

// The least of that seed, with that mutant, that still breaks the same promise.
Less shrink(std::uint64_t seed, Mutant mutant, const char* promise);

}  // namespace holdfast::sim
