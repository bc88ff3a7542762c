// SPDX-License-Identifier: Apache-2.0
// The simulated world keeps every promise, and is the same world each time.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sim/world.h"
#include "tests/sim/reported.h"

namespace holdfast::sim {
namespace {

std::vector<std::uint64_t> kept_seeds() {
  std::ifstream file(SIM_SEEDS);
  std::vector<std::uint64_t> seeds;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::uint64_t seed = 0; words >> seed;) seeds.push_back(seed);
  }
  return seeds;
}

TEST(Seeds, three_hundred_keep_every_promise) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Outcome outcome = run(seed);
    ASSERT_FALSE(outcome.violation) << told(seed, outcome);
  }
}

TEST(Seeds, the_same_seed_is_the_same_world) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome first = run(seed), second = run(seed);
    EXPECT_EQ(first.hash, second.hash) << "seed " << seed;
    EXPECT_EQ(first.events, second.events) << "seed " << seed;
  }
}

TEST(Seeds, different_seeds_are_different_worlds) { EXPECT_NE(run(1).hash, run(2).hash); }

TEST(Seeds, one_that_once_failed_stays_mended) {
  const std::vector<std::uint64_t> seeds = kept_seeds();
  ASSERT_FALSE(seeds.empty()) << SIM_SEEDS;
  for (const std::uint64_t seed : seeds) {
    const Outcome outcome = run(seed);
    EXPECT_FALSE(outcome.violation) << told(seed, outcome);
  }
}

}  // namespace
}  // namespace holdfast::sim
