// SPDX-License-Identifier: Apache-2.0
// A simulator that finds nothing proves nothing: each deliberate mistake must be found.
#include <gtest/gtest.h>

#include "sim/world.h"

namespace holdfast::sim {
namespace {

constexpr std::uint64_t most_seeds = 10000;

class Mutants : public testing::TestWithParam<Mutant> {};

TEST_P(Mutants, every_mutant_dies) {
  for (std::uint64_t seed = 1; seed <= most_seeds; ++seed) {
    const Outcome outcome = run(seed, {.mutant = GetParam()});
    if (!outcome.violation) continue;
    RecordProperty("seeds", std::to_string(seed));
    RecordProperty("promise", outcome.violation->property);
    return;
  }
  FAIL() << to_string(GetParam()) << " lived for " << most_seeds << " seeds";
}

INSTANTIATE_TEST_SUITE_P(All, Mutants, testing::ValuesIn(all<Mutant>.begin() + 1, all<Mutant>.end()),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

}  // namespace
}  // namespace holdfast::sim
