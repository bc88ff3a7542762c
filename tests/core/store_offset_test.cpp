// SPDX-License-Identifier: Apache-2.0
#include "core/store_offset.h"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;

constexpr Instant at(std::chrono::nanoseconds t) { return Instant(t); }

// A store whose clock shows 1,000 s more than ours.
constexpr Micros ahead = 1000s;

TEST(StoreOffset, an_answer_is_taken_as_if_it_had_been_written_when_it_came) {
  StoreOffset offset;
  EXPECT_FALSE(offset.known());
  offset.learn(at(10s), at(12s), ahead + 11s);
  ASSERT_TRUE(offset.known());
  EXPECT_EQ(offset.at_least(at(12s)), ahead + 11s);
}

TEST(StoreOffset, a_quicker_answer_narrows_and_a_slower_one_does_not_widen) {
  StoreOffset offset;
  offset.learn(at(10s), at(12s), ahead + 11s);
  offset.learn(at(12s), at(12s + 2ms), ahead + 12s + 1ms);
  EXPECT_EQ(offset.at_least(at(12s + 2ms)), ahead + 12s + 1ms);
  offset.learn(at(12s + 3ms), at(12s + 900ms), ahead + 12s + 4ms);
  EXPECT_GT(offset.at_least(at(12s + 900ms)), ahead + 12s + 800ms);
}

TEST(StoreOffset, it_never_says_more_than_the_store_shows_while_rates_differ_by_less_than_a_hundredth) {
  StoreOffset offset;
  offset.learn(at(0s), at(1ms), ahead);
  // A store that runs one part in 101 slower than we do.
  for (const auto later : {1s, 60s, 3600s}) {
    const auto shows = ahead + std::chrono::duration_cast<Micros>(later - later / 101);
    EXPECT_LE(offset.at_least(at(1ms + later)), shows);
  }
}

TEST(StoreOffset, the_end_of_time_is_far_away_and_no_overflow) {
  StoreOffset offset;
  offset.learn(at(100s), at(100s), ahead + 100s);
  EXPECT_GT(offset.at_least(Instant::max()), ahead + std::chrono::hours(24 * 300));
}

TEST(StoreOffset, moments_before_the_answer_are_judged_as_carefully) {
  StoreOffset offset;
  offset.learn(at(100s), at(100s), ahead + 100s);
  EXPECT_LT(offset.at_least(at(50s)), ahead + 50s);
  EXPECT_GE(offset.at_least(at(50s)), ahead + 49s);
}

TEST(StoreOffset, a_clock_that_was_set_back_is_noticed_with_the_next_answer) {
  StoreOffset offset;
  offset.learn(at(10s), at(10s + 1ms), ahead + 10s);
  offset.learn(at(11s), at(11s + 1ms), 11s);
  EXPECT_EQ(offset.at_least(at(11s + 1ms)), Micros(11s));
}

TEST(StoreOffset, a_clock_that_was_set_forward_is_noticed_with_the_next_answer) {
  StoreOffset offset;
  offset.learn(at(10s), at(10s + 1ms), 10s);
  offset.learn(at(11s), at(11s + 1ms), ahead + 11s);
  EXPECT_EQ(offset.at_least(at(11s + 1ms)), ahead + 11s);
}

}  // namespace
}  // namespace holdfast::core
