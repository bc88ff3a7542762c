// SPDX-License-Identifier: Apache-2.0
#include "core/belief.h"

#include <gtest/gtest.h>

#include "tests/core/moments.h"

namespace holdfast::core {
namespace {

constexpr Millis::rep end_of_time = ms(Instant::max());

Belief believing(KeepPlan plan = {.ttl = 30s}) { return Belief(plan, start, plan.ttl); }

TEST(Belief, a_lease_has_its_moments) {
  const struct {
    const char* what;
    KeepPlan plan;
    Millis renew, jeopardy, deadline;
  } table[] = {
      {"thirds", {.ttl = 30s}, 10s, 20s, 29'700ms},
      {"thirds asked for", {.ttl = 30s, .renew_every = 0ms}, 10s, 20s, 29'700ms},
      {"short", {.ttl = 30ms}, 10ms, 20ms, 25ms},
      {"a margin set", {.ttl = 30s, .margin = 2s}, 10s, 20s, 28s},
      {"a coarse store", {.ttl = 30s, .resolution = 1s}, 10s, 20s, 28'700ms},
      {"a margin past the jeopardy", {.ttl = 30s, .margin = 12s}, 10s, 18s, 18s},
      {"renewed often", {.ttl = 30s, .renew_every = 1s}, 1s, 20s, 29'700ms},
      {"renewed seldom", {.ttl = 30s, .renew_every = 25s}, 25s, 27'350ms, 29'700ms},
      {"less often than it lasts", {.ttl = 30s, .renew_every = 31s}, 10s, 20s, 29'700ms},
      {"late", {.ttl = 30s, .late = true}, 21s, 25'350ms, 29'700ms},
      {"late, with a margin that leaves no room for it",
       {.ttl = 30s, .late = true, .margin = 10s},
       10s,
       20s,
       20s},
      {"often, though it could be late", {.ttl = 30s, .renew_every = 1s, .late = true}, 1s, 20s, 29'700ms},
  };
  for (const auto& row : table) {
    const Belief belief = believing(row.plan);
    EXPECT_EQ(ms(belief.renew_at()), ms(row.renew)) << row.what;
    EXPECT_EQ(ms(belief.jeopardy_at()), ms(row.jeopardy)) << row.what;
    EXPECT_EQ(ms(belief.deadline()), ms(row.deadline)) << row.what;
  }
}

TEST(Belief, one_that_is_not_kept_is_never_renewed_and_runs_out_as_usual) {
  for (const KeepPlan& plan :
       {KeepPlan{.ttl = 30s, .keep = false}, KeepPlan{.ttl = 30s, .max_renewals = 0}}) {
    const Belief belief = believing(plan);
    EXPECT_EQ(ms(belief.renew_at()), end_of_time);
    EXPECT_EQ(ms(belief.jeopardy_at()), 20'000);
    EXPECT_EQ(ms(belief.deadline()), 29'700);
  }
}

TEST(Belief, late_is_70_percent_of_what_each_renewal_gave) {
  Belief belief = believing({.ttl = 30s, .late = true});
  belief.set_ttl(10min);
  EXPECT_TRUE(belief.renewed(at(20s), 10min, at(20s), true));
  EXPECT_EQ(ms(belief.renew_at()), 20'000 + 420'000);
}

TEST(Belief, a_renewal_by_hand_is_none_of_those_that_are_allowed) {
  Belief belief = believing({.ttl = 30s, .max_renewals = 1});
  EXPECT_TRUE(belief.renewed(at(1s), 30s, at(1s), true));
  EXPECT_NE(ms(belief.renew_at()), end_of_time);
  EXPECT_TRUE(belief.renewed(at(2s), 30s, at(2s)));
  EXPECT_EQ(ms(belief.renew_at()), end_of_time);
}

TEST(Belief, a_ttl_that_was_made_too_short_for_its_pace_is_renewed_at_a_third) {
  Belief belief = believing({.ttl = 10s, .renew_every = 9s});
  belief.set_ttl(9050ms);
  EXPECT_TRUE(belief.renewed(at(9s), 9050ms, at(9s), true));
  EXPECT_LT(belief.renew_at(), belief.deadline());
}

TEST(Belief, one_without_end_is_never_renewed_nor_in_jeopardy) {
  Belief belief = believing({.ttl = Millis(never), .renew_every = 5s, .margin = 1s, .resolution = 1s});
  EXPECT_EQ(ms(belief.deadline()), end_of_time);
  EXPECT_EQ(ms(belief.jeopardy_at()), end_of_time);
  EXPECT_EQ(ms(belief.renew_at()), end_of_time);
  EXPECT_TRUE(belief.renewed(at(1h), Millis(never), at(1h)));
  EXPECT_EQ(ms(belief.renew_at()), end_of_time);
}

TEST(Belief, a_renewal_counts_from_when_it_was_sent) {
  Belief belief = believing();
  EXPECT_TRUE(belief.renewed(at(10s), 30s, at(12s)));
  EXPECT_EQ(ms(belief.deadline()), 39'700);
  EXPECT_EQ(ms(belief.jeopardy_at()), 30'000);
  EXPECT_EQ(ms(belief.renew_at()), 20'000);
}

TEST(Belief, lost_is_final) {
  Belief belief = believing();
  EXPECT_FALSE(belief.renewed(at(10s), 30s, at(29'700ms)));
  EXPECT_FALSE(belief.renewed(at(10s), 1h, at(40s)));
  EXPECT_EQ(ms(belief.deadline()), 29'700);
}

TEST(Belief, an_answer_just_before_the_deadline_is_in_time) {
  Belief belief = believing();
  EXPECT_TRUE(belief.renewed(at(10s), 30s, at(29'700ms) - 1ns));
  EXPECT_EQ(ms(belief.deadline()), 39'700);
}

TEST(Belief, an_answer_that_comes_out_of_order_shortens_nothing) {
  Belief belief = believing();
  EXPECT_TRUE(belief.renewed(at(15s), 30s, at(15s)));
  EXPECT_TRUE(belief.renewed(at(10s), 30s, at(16s)));
  EXPECT_EQ(ms(belief.deadline()), 44'700);
}

// Its clock was set back: what it says goes further than what we asked for.
TEST(Belief, more_time_than_was_asked_for_is_ignored) {
  for (const Millis remaining : {Millis(50s), Millis(24h), Millis(never)}) {
    Belief belief({.ttl = 30s}, start, remaining);
    EXPECT_EQ(ms(belief.deadline()), 29'700) << ms(remaining);
    EXPECT_TRUE(belief.renewed(at(10s), remaining, at(10s)));
    EXPECT_EQ(ms(belief.deadline()), 39'700) << ms(remaining);
    EXPECT_EQ(ms(belief.jeopardy_at()), 30'000) << ms(remaining);
    EXPECT_EQ(ms(belief.renew_at()), 20'000) << ms(remaining);
    EXPECT_TRUE(belief.extended(60s, at(15s), remaining, at(15s)));
    EXPECT_LE(ms(belief.deadline()), 100'000) << ms(remaining);
  }
}

// Also where the margin, one percent of the long life, is itself longer than the ttl.
TEST(Belief, one_extended_far_is_believed_to_its_end_and_renewed_at_a_third_of_its_ttl_all_the_same) {
  for (const Millis more : {Millis(1min), Millis(10min), Millis(1h), Millis(24h), Millis(24h * 365)}) {
    Belief belief = believing();
    const Millis life = 25s + more;
    EXPECT_TRUE(belief.extended(more, at(5s), life, at(5s)));
    const Millis::rep deadline = ms(at(5s) + life - life / 100);
    EXPECT_EQ(ms(belief.deadline()), deadline);
    EXPECT_EQ(ms(belief.renew_at()), 15'000) << ms(more);
    EXPECT_GE(ms(belief.jeopardy_at()), deadline - 10'000) << ms(more);
    EXPECT_LE(ms(belief.jeopardy_at()), deadline) << ms(more);
    EXPECT_TRUE(belief.renewed(at(15s), life - 10s, at(15s)));
    EXPECT_EQ(ms(belief.deadline()), deadline) << "a renewal takes nothing away";
    EXPECT_EQ(ms(belief.renew_at()), 25'000) << ms(more);
  }
}

TEST(Belief, extensions_add_up_and_are_no_more_than_the_store_says) {
  Belief belief = believing({.ttl = 30s, .margin = 0ms});
  EXPECT_TRUE(belief.extended(20s, at(1s), 49s, at(1s)));
  EXPECT_TRUE(belief.extended(20s, at(2s), 68s, at(2s)));
  EXPECT_EQ(ms(belief.deadline()), 70'000);
  EXPECT_TRUE(belief.extended(20s, at(3s), 77s, at(3s)));
  EXPECT_EQ(ms(belief.deadline()), 80'000);
  EXPECT_FALSE(belief.extended(20s, at(80s), 20s, at(80s))) << "lost is final";
}

TEST(Belief, an_extended_one_is_renewed_at_the_pace_that_was_asked_for) {
  Belief often = believing({.ttl = 30s, .renew_every = 1s});
  EXPECT_TRUE(often.extended(1h, at(5s), 1h + 25s, at(5s)));
  EXPECT_EQ(ms(often.renew_at()), 6'000);
  Belief late = believing({.ttl = 30s, .late = true});
  EXPECT_TRUE(late.extended(1h, at(5s), 1h + 25s, at(5s)));
  EXPECT_EQ(ms(late.renew_at()), 26'000);
}

TEST(Belief, one_with_less_life_than_its_ttl_is_renewed_at_once) {
  const Belief belief({.ttl = 30s}, start, 5s);
  EXPECT_EQ(ms(belief.deadline()), 4950);
  EXPECT_LE(ms(belief.renew_at()), 0);
}

TEST(Belief, renewing_ends_after_so_many_times) {
  Belief belief = believing({.ttl = 30s, .max_renewals = 2});
  EXPECT_TRUE(belief.renewed(at(10s), 30s, at(10s)));
  EXPECT_EQ(ms(belief.renew_at()), 20'000);
  EXPECT_TRUE(belief.renewed(at(20s), 30s, at(20s)));
  EXPECT_EQ(ms(belief.renew_at()), end_of_time);
  EXPECT_EQ(ms(belief.deadline()), 49'700);
}

TEST(Belief, a_failed_renewal_moves_no_deadline) {
  Belief belief = believing();
  belief.failed(at(10s), 0.5);
  EXPECT_EQ(ms(belief.deadline()), 29'700);
  EXPECT_EQ(ms(belief.jeopardy_at()), 20'000);
}

TEST(Belief, failures_are_retried_with_growing_pauses_up_to_a_tenth_of_the_ttl) {
  Belief belief = believing();
  const Instant now = at(10s);
  for (const Millis pause : {50ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 3000ms, 3000ms}) {
    Belief least = belief;
    least.failed(now, 0);
    EXPECT_EQ(ms(least.renew_at()), ms(now + pause / 2));
    belief.failed(now, 0.999999);
    EXPECT_LE(ms(belief.renew_at()), ms(now + pause));
    EXPECT_GE(ms(belief.renew_at()), ms(now + pause) - 1);
  }
}

TEST(Belief, a_success_makes_the_pauses_short_again) {
  Belief belief = believing();
  for (int i = 0; i < 10; ++i) belief.failed(at(10s), 0);
  EXPECT_TRUE(belief.renewed(at(20s), 30s, at(20s)));
  belief.failed(at(30s), 0);
  EXPECT_EQ(ms(belief.renew_at()), 30'025);
}

// Answered by a failure at once each time: how often is the store asked between ttl/3 and the deadline?
TEST(Belief, many_attempts_fit_before_the_deadline_and_they_are_not_a_storm) {
  for (const Millis ttl : {Millis(20ms), Millis(100ms), Millis(1s), Millis(30s), Millis(1h), Millis(24h)}) {
    for (const double jitter : {0.0, 0.5, 0.999}) {
      Belief belief = believing({.ttl = ttl});
      int attempts = 0;
      for (; belief.renew_at() < belief.deadline(); ++attempts) {
        ASSERT_LT(attempts, 100) << ms(ttl);
        const Instant now = belief.renew_at();
        belief.failed(now, jitter);
        if (belief.renew_at() == Instant::max()) break;  // it would come after the deadline
        ASSERT_LE(ms(belief.renew_at() - now), ms(std::max(ttl / 10, 1ms)));
      }
      EXPECT_GE(attempts, 5) << ms(ttl);
    }
  }
}

TEST(Belief, the_last_attempt_is_shortly_before_the_deadline_and_none_is_planned_after_it) {
  for (const Millis ttl : {Millis(100ms), Millis(30s), Millis(1h)}) {
    for (const double jitter : {0.0, 0.5, 0.999}) {
      Belief belief = believing({.ttl = ttl});
      Instant last = belief.renew_at();
      for (; belief.renew_at() != Instant::max(); belief.failed(last, jitter)) {
        last = belief.renew_at();
        ASSERT_LT(last, belief.deadline());
      }
      EXPECT_LE(ms(belief.deadline() - last), 100) << ms(ttl);
    }
  }
}

TEST(Belief, a_new_ttl_counts_from_the_next_renewal_on) {
  Belief belief = believing();
  belief.set_ttl(60s);
  EXPECT_EQ(ms(belief.ttl()), 60'000);
  EXPECT_EQ(ms(belief.renew_at()), 10'000);
  EXPECT_EQ(ms(belief.deadline()), 29'700);
  EXPECT_TRUE(belief.renewed(at(10s), 60s, at(10s)));
  EXPECT_EQ(ms(belief.renew_at()), 30'000);
  EXPECT_EQ(ms(belief.jeopardy_at()), 50'000);
  EXPECT_EQ(ms(belief.deadline()), 69'400);
}

TEST(Belief, a_lease_that_is_not_renewed_any_more_still_runs_out_on_time) {
  Belief belief = believing();
  belief.stop_renewing();
  EXPECT_EQ(ms(belief.renew_at()), end_of_time);
  EXPECT_EQ(ms(belief.deadline()), 29'700);
  EXPECT_TRUE(belief.renewed(at(10s), 30s, at(10s)));  // by hand
  EXPECT_EQ(ms(belief.renew_at()), end_of_time);
  EXPECT_EQ(ms(belief.deadline()), 39'700);
}

// A renewal may be on its way while the renewing ends, and fail afterwards.
TEST(Belief, a_failure_does_not_take_up_a_renewing_that_has_ended) {
  Belief stopped = believing();
  stopped.stop_renewing();
  Belief without_end = believing({.ttl = Millis(never)});
  Belief enough = believing({.ttl = 30s, .max_renewals = 1});
  EXPECT_TRUE(enough.renewed(at(1s), 30s, at(1s)));
  for (Belief* belief : {&stopped, &without_end, &enough}) {
    belief->failed(at(11s), 0.5);
    EXPECT_EQ(ms(belief->renew_at()), end_of_time);
  }
}

}  // namespace
}  // namespace holdfast::core
