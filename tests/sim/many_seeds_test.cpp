// SPDX-License-Identifier: Apache-2.0
// Enough seeds to have seen everything.
#include <gtest/gtest.h>
#include <unistd.h>

#include "sim/world.h"
#include "tests/sim/reported.h"

namespace holdfast::sim {
namespace {

// It computes for a minute, and the tests beside it read clocks.  A static object: each test is a process.
[[maybe_unused]] const int polite = ::nice(19);

TEST(ManySeeds, ten_thousand_keep_every_promise_and_reach_every_situation) {
  Tally<Fault> faults;
  Tally<Sometimes> seen;
  for (std::uint64_t seed = 1001; seed <= 11000; ++seed) {
    const Outcome outcome = run(seed);
    ASSERT_FALSE(outcome.violation) << told(seed, outcome);
    faults += outcome.faults;
    seen += outcome.seen;
  }
  for (const Fault fault : all<Fault>) EXPECT_GT(faults[fault], 0U) << to_string(fault);
  for (const Sometimes situation : all<Sometimes>) EXPECT_GT(seen[situation], 0U) << to_string(situation);
}

}  // namespace
}  // namespace holdfast::sim
