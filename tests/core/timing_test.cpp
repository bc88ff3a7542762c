// SPDX-License-Identifier: Apache-2.0
#include "core/timing.h"

#include <gtest/gtest.h>

#include "tests/core/moments.h"

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;

static_assert(margin_of(30s, {}, 0ms) == 300ms);
static_assert(margin_of(100ms, {}, 0ms) == 5ms);
static_assert(margin_of(30s, 2s, 0ms) == 2s);
static_assert(margin_of(Millis(never), 2s, 1ms) == 0ms);
static_assert(deadline_of(start, 30s, 300ms) == at(29'700ms));
static_assert(deadline_of(start, Millis(never), 0ms) == Instant::max());
static_assert(reported(Millis(never)) == never && reported(Millis(never)) == endless_remaining);
static_assert(reported(endless_remaining) == never && reported(Millis(never) - 1ms) == 24h * 36525);
static_assert(reported(30s) == 30s && reported(0ms) == 0ms);
static_assert(attempt_limit(30s) == 2s);
static_assert(worth_having(start, Instant::max(), Millis(never)));
static_assert(backoff(20ms, 1s, 0) == 20ms && backoff(20ms, 1s, 3) == 160ms && backoff(20ms, 1s, 1000) == 1s);
static_assert(scaled(100ms, 0.8) == 80ms && scaled(0ms, 1.2) == 0ms);

TEST(Deadline, the_margin_is_what_was_set_or_the_larger_of_five_milliseconds_and_one_percent) {
  const struct {
    Millis ttl;
    std::optional<Millis> set;
    Millis resolution, margin;
  } table[] = {
      {20ms, {}, 0ms, 5ms},         {499ms, {}, 0ms, 5ms},    {500ms, {}, 0ms, 5ms},
      {600ms, {}, 0ms, 6ms},        {30s, {}, 0ms, 300ms},    {30s, {}, 1ms, 301ms},
      {24h, {}, 0ms, 864s},         {30s, 0ms, 0ms, 0ms},     {30s, 1ms, 0ms, 1ms},
      {30s, 1ms, 1s, 1001ms},       {100ms, 40ms, 2ms, 42ms}, {Millis(never), {}, 1s, 0ms},
      {Millis(never), 5s, 1s, 0ms},
  };
  for (const auto& row : table)
    EXPECT_EQ(ms(margin_of(row.ttl, row.set, row.resolution)), ms(row.margin)) << ms(row.ttl);
}

TEST(Deadline, is_always_before_the_store_may_give_the_lease_away) {
  for (const Millis ttl :
       {Millis(20ms), Millis(100ms), Millis(1s), Millis(30s), Millis(1h), Millis(24h * 365)}) {
    for (const std::optional<Millis> set :
         {std::optional<Millis>{}, std::optional<Millis>{1ms}, std::optional<Millis>{9ms}}) {
      for (const Millis resolution : {0ms, 1ms}) {
        const Instant deadline = deadline_of(start, ttl, margin_of(ttl, set, resolution));
        EXPECT_LT(ms(deadline), ms(start + ttl));
        EXPECT_GT(ms(deadline), ms(start));
      }
    }
  }
}

TEST(Deadline, one_call_gets_a_sixth_of_the_ttl_within_bounds) {
  const struct {
    Millis ttl, limit;
  } table[] = {{20ms, 50ms}, {300ms, 50ms}, {306ms, 51ms},      {6s, 1s},
               {12s, 2s},    {30s, 2s},     {Millis(never), 2s}};
  for (const auto& row : table) EXPECT_EQ(ms(attempt_limit(row.ttl)), ms(row.limit));
}

TEST(Deadline, a_grant_is_worth_having_while_half_its_life_is_left) {
  constexpr Instant deadline = at(29'700ms);
  EXPECT_TRUE(worth_having(start, deadline, 30s));
  EXPECT_TRUE(worth_having(at(14'700ms), deadline, 30s));
  EXPECT_FALSE(worth_having(at(14'701ms), deadline, 30s));
  EXPECT_FALSE(worth_having(deadline, deadline, 30s));
  EXPECT_FALSE(worth_having(at(1h), deadline, 30s));
}

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
