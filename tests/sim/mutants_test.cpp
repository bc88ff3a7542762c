// SPDX-License-Identifier: Apache-2.0
// A simulator that finds nothing proves nothing: each deliberate mistake must be found.
#include <gtest/gtest.h>

#include "sim/shrink.h"
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

TEST(Shrinking, leaves_what_still_breaks_the_same_promise_and_no_more) {
  const Mutant mutant = Mutant::unknown_is_success;
  std::uint64_t seed = 1;
  Outcome broken = run(seed, {.mutant = mutant});
  while (!broken.violation) broken = run(++seed, {.mutant = mutant});
  const Less less = shrink(seed, mutant, broken.violation->property);
  const Outcome again = run(seed, {.mutant = mutant, .less = less});
  ASSERT_TRUE(again.violation);
  EXPECT_STREQ(again.violation->property, broken.violation->property);
  int faults = 0;
  for (const Fault fault : all<Fault>) faults += less.of(plan_for(seed)).of(fault) > 0 ? 1 : 0;
  EXPECT_LE(faults, 2) << to_string(less);
}

INSTANTIATE_TEST_SUITE_P(All, Mutants, testing::ValuesIn(all<Mutant>.begin() + 1, all<Mutant>.end()),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

}  // namespace
}  // namespace holdfast::sim
