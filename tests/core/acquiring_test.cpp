// SPDX-License-Identifier: Apache-2.0
#include "core/acquiring.h"

#include <gtest/gtest.h>

#include "tests/core/attempt.h"

namespace holdfast::core {
namespace {

TEST(Acquiring, one_attempt_gets_a_bounded_time) {
  EXPECT_EQ(ms(ManualAcquire({}).send().until), 2000);
  EXPECT_EQ(ms(ManualAcquire({.ttl = 600ms}).send().until), 100);
  EXPECT_EQ(ms(ManualAcquire({.wait = 1s}).send().until), 2000);
  EXPECT_EQ(ms(ManualAcquire(forever_plan).send().until), 2000);
}

TEST(Acquiring, a_grant_in_time_is_taken_in_one_attempt) {
  ManualAcquire acquire({});
  EXPECT_EQ(acquire.answered(granted).done().failed, std::nullopt);
  EXPECT_FALSE(acquire.done().tidy);
  EXPECT_EQ(acquire.acquiring().attempts(), 1);
}

TEST(Acquiring, a_grant_with_less_than_half_its_life_left_is_given_back) {
  EXPECT_EQ(ManualAcquire({}).answered(granted, 14'700ms).done().failed, std::nullopt);
  for (const AcquirePlan& plan : {AcquirePlan{}, forever_plan}) {
    ManualAcquire acquire(plan);
    EXPECT_EQ(acquire.answered(granted, 14'701ms).done().failed, Errc::too_late);
    expect_tidied(acquire.done());
  }
}

TEST(Acquiring, the_remaining_time_is_the_stores_and_not_the_requested_one) {
  Reply short_one = granted;
  short_one.remaining = 14s;
  EXPECT_EQ(ManualAcquire({}).answered(short_one).done().failed, Errc::too_late);
  short_one.remaining = 16s;
  EXPECT_FALSE(ManualAcquire({}).answered(short_one).done().failed);
}

TEST(Acquiring, a_grant_without_end_is_never_too_late) {
  EXPECT_EQ(ManualAcquire({.ttl = Millis(never)}).answered(granted, 1h).done().failed, std::nullopt);
}

TEST(Acquiring, without_a_wait_busy_is_returned_at_once) {
  ManualAcquire acquire({});
  EXPECT_EQ(acquire.answered(busy).done().failed, Errc::busy);
  EXPECT_FALSE(acquire.done().tidy);
  EXPECT_EQ(acquire.acquiring().last().owner, one_of_us);
}

TEST(Acquiring, without_a_wait_an_unavailable_store_is_reported_at_once) {
  ManualAcquire acquire({});
  EXPECT_EQ(acquire.failed(Errc::unavailable).done().failed, Errc::unavailable);
  EXPECT_FALSE(acquire.done().tidy);
}

TEST(Acquiring, with_a_wait_an_unavailable_store_is_tried_again_with_growing_pauses) {
  ManualAcquire acquire(forever_plan);
  for (const Millis::rep pause : {20, 40, 80, 160, 320, 640, 1000, 1000}) {
    EXPECT_EQ(acquire.failed(Errc::unavailable).sleeps_for(), pause);
    acquire.sleeps();
  }
  acquire.answered(busy).answered(busy).sleeps();
  EXPECT_EQ(acquire.failed(Errc::unavailable).sleeps_for(), 20);
}

TEST(Acquiring, a_store_that_stays_away_is_what_the_end_of_the_wait_reports) {
  ManualAcquire acquire({.wait = 50ms});
  acquire.failed(Errc::unavailable).sleeps();
  EXPECT_EQ(acquire.failed(Errc::unavailable).sleeps().done().failed, Errc::unavailable);
}

TEST(Acquiring, a_request_in_doubt_is_sent_again) {
  for (const AcquirePlan& plan : {AcquirePlan{}, forever_plan}) {
    ManualAcquire acquire(plan);
    EXPECT_EQ(acquire.failed(Errc::in_doubt).answered(granted).done().failed, std::nullopt);
    EXPECT_FALSE(acquire.done().tidy);
  }
}

TEST(Acquiring, an_acquire_that_stays_in_doubt_is_released_now_and_after_it_is_void) {
  ManualAcquire acquire({});
  acquire.failed(Errc::in_doubt, 2s);
  EXPECT_EQ(acquire.done().failed, Errc::in_doubt);
  expect_tidied(acquire.done(), acquire.until());
}

TEST(Acquiring, without_a_wait_no_sleep_goes_past_the_one_attempt) {
  ManualAcquire acquire({});
  acquire.failed(Errc::in_doubt).failed(Errc::in_doubt);
  for (const Millis::rep pause : {40, 80, 160, 320, 640}) {
    EXPECT_EQ(acquire.sleeps_for(), pause);
    acquire.sleeps().failed(Errc::in_doubt);
  }
  EXPECT_EQ(ms(acquire.sleep().until), 2000);
  EXPECT_EQ(acquire.sleeps().done().failed, Errc::in_doubt);
}

TEST(Acquiring, a_doubt_is_not_forgotten_when_the_store_is_away_afterwards) {
  ManualAcquire acquire({});
  EXPECT_EQ(acquire.failed(Errc::in_doubt).failed(Errc::unavailable).done().failed, Errc::in_doubt);
  expect_tidied(acquire.done(), at(2s));
}

TEST(Acquiring, a_doubt_is_tidied_also_when_somebody_else_has_the_key) {
  ManualAcquire acquire({});
  EXPECT_EQ(acquire.failed(Errc::in_doubt).answered(busy).done().failed, Errc::busy);
  expect_tidied(acquire.done(), acquire.until());
}

TEST(Acquiring, a_refusal_ends_it_at_once) {
  for (const Errc code : {Errc::refused, Errc::invalid, Errc::forked}) {
    EXPECT_EQ(ManualAcquire(forever_plan).failed(code).done().failed, code);
    EXPECT_EQ(ManualAcquire({.attempts = 3}).failed(code).done().failed, code);
  }
}

TEST(Acquiring, a_stop_ends_it_in_any_state) {
  EXPECT_EQ(ManualAcquire(forever_plan).stopped().done().failed, Errc::stopped);
  EXPECT_FALSE(ManualAcquire(forever_plan).stopped().done().tidy);
  EXPECT_EQ(ManualAcquire(forever_plan).answered(busy).stopped().done().failed, Errc::stopped);
  EXPECT_EQ(ManualAcquire(forever_plan).failed(Errc::unavailable).stopped().done().failed, Errc::stopped);
  ManualAcquire asleep(forever_plan);
  asleep.answered(busy).answered(busy).sleep();
  EXPECT_EQ(asleep.stopped().done().failed, Errc::stopped);
  expect_tidied(asleep.done());
}

TEST(Acquiring, a_stop_in_doubt_gives_back_what_may_have_been_granted) {
  ManualAcquire acquire(forever_plan);
  acquire.failed(Errc::in_doubt).stopped();
  EXPECT_EQ(acquire.done().failed, Errc::stopped);
  expect_tidied(acquire.done(), acquire.until());
}

TEST(Acquiring, after_a_pause_before_the_first_attempt_it_still_asks_or_reports_a_timeout) {
  EXPECT_EQ(ms(ManualAcquire({}).passes(1h).send().until), ms(at(1h) + 2s));
  EXPECT_EQ(ManualAcquire({.wait = 5s}).passes(1h).done().failed, Errc::timeout)
      << "busy would name a holder nobody asked for";
}

Gate<int> gate_of(std::initializer_list<int> waiters) {
  Gate<int> gate;
  for (const int w : waiters) gate.enter(w);
  return gate;
}

TEST(Gate, only_the_first_may_talk_to_the_store) {
  Gate<int> gate;
  EXPECT_TRUE(gate.enter(1));
  EXPECT_FALSE(gate.enter(2));
  EXPECT_FALSE(gate.enter(3));
  EXPECT_TRUE(gate.first(1));
  EXPECT_FALSE(gate.first(2));
  EXPECT_EQ(gate.front(), 1);
  EXPECT_EQ(gate.size(), 3u);
}

TEST(Gate, waiters_become_first_in_the_order_they_came) {
  Gate<int> gate = gate_of({1, 2, 3});
  EXPECT_EQ(gate.leave(1), 2);
  EXPECT_EQ(gate.leave(2), 3);
  EXPECT_EQ(gate.leave(3), std::nullopt);
  EXPECT_TRUE(gate.empty());
}

TEST(Gate, leaving_from_the_middle_makes_nobody_first) {
  Gate<int> gate = gate_of({1, 2, 3});
  EXPECT_EQ(gate.leave(2), std::nullopt);
  EXPECT_TRUE(gate.first(1));
  EXPECT_EQ(gate.leave(1), 3);
}

TEST(Gate, leaving_from_the_end_makes_nobody_first) {
  Gate<int> gate = gate_of({1, 2});
  EXPECT_EQ(gate.leave(2), std::nullopt);
  EXPECT_TRUE(gate.first(1));
  EXPECT_EQ(gate.size(), 1u);
}

TEST(Gate, coming_back_means_the_end_of_the_line) {
  Gate<int> gate = gate_of({1, 2});
  gate.leave(1);
  EXPECT_FALSE(gate.enter(1));
  EXPECT_EQ(gate.leave(2), 1);
}

TEST(Gate, leaving_without_having_entered_changes_nothing) {
  Gate<int> gate = gate_of({1});
  EXPECT_EQ(gate.leave(7), std::nullopt);
  EXPECT_TRUE(gate.first(1));
}

TEST(Gate, an_empty_gate_has_no_first) {
  Gate<int> gate;
  EXPECT_TRUE(gate.empty());
  EXPECT_EQ(gate.front(), std::nullopt);
  EXPECT_FALSE(gate.first(1));
  EXPECT_EQ(gate.leave(1), std::nullopt);
}

}  // namespace
}  // namespace holdfast::core
