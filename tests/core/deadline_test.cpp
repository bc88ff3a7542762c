// SPDX-License-Identifier: Apache-2.0
#include "core/deadline.h"

#include <gtest/gtest.h>

#include "core/pause.h"
#include "tests/core/moments.h"

namespace holdfast::core {
namespace {

static_assert(margin_of(30s, {}, 0ms) == 300ms);
static_assert(margin_of(100ms, {}, 0ms) == 5ms);
static_assert(margin_of(30s, 2s, 0ms) == 2s);
static_assert(margin_of(never, 2s, 1ms) == 0ms);
static_assert(deadline_of(start, 30s, 300ms) == at(29'700ms));
static_assert(deadline_of(start, never, 0ms) == Instant::max());
static_assert(attempt_limit(30s) == 2s);
static_assert(worth_having(start, Instant::max(), never));
static_assert(growing(20ms, 1s, 0) == 20ms && growing(20ms, 1s, 3) == 160ms && growing(20ms, 1s, 1000) == 1s);
static_assert(scaled(100ms, 0.8) == 80ms && scaled(0ms, 1.2) == 0ms);

TEST(Deadline, the_margin_is_what_was_set_or_the_larger_of_five_milliseconds_and_one_percent) {
  const struct {
    Millis ttl;
    std::optional<Millis> set;
    Millis resolution, margin;
  } table[] = {
      {20ms, {}, 0ms, 5ms},  {499ms, {}, 0ms, 5ms},  {500ms, {}, 0ms, 5ms},    {600ms, {}, 0ms, 6ms},
      {30s, {}, 0ms, 300ms}, {30s, {}, 1ms, 301ms},  {24h, {}, 0ms, 864s},     {30s, 0ms, 0ms, 0ms},
      {30s, 1ms, 0ms, 1ms},  {30s, 1ms, 1s, 1001ms}, {100ms, 40ms, 2ms, 42ms}, {never, {}, 1s, 0ms},
      {never, 5s, 1s, 0ms},
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
  } table[] = {{20ms, 50ms}, {300ms, 50ms}, {306ms, 51ms}, {6s, 1s}, {12s, 2s}, {30s, 2s}, {never, 2s}};
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

}  // namespace
}  // namespace holdfast::core
