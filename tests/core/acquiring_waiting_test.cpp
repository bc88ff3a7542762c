// SPDX-License-Identifier: Apache-2.0
// How a busy key is waited for: places, notifications, polls, schedules.
#include <vector>

#include "tests/core/attempt.h"

namespace holdfast::core {
namespace {

TEST(AcquiringWaits, a_place_is_asked_for_by_fair_waiters_without_a_schedule_only) {
  EXPECT_EQ(ManualAcquire(forever_plan).send().place, 3s);
  EXPECT_EQ(ManualAcquire({}).send().place, 0ms);
  EXPECT_EQ(ManualAcquire({.wait = 1ms}).send().place, 3s);
  EXPECT_EQ(ManualAcquire({.wait = 1s, .fair = false}).send().place, 0ms);
  EXPECT_EQ(ManualAcquire({.wait = 1s, .attempts = 3}).send().place, 0ms);
  EXPECT_EQ(ManualAcquire({.wait = 1s, .interval = 1s}).send().place, 0ms);
}

TEST(AcquiringWaits, a_waiter_with_a_place_asks_again_before_it_sleeps) {
  ManualAcquire acquire(forever_plan);
  acquire.answered(busy).answered(busy).sleep();
  EXPECT_EQ(acquire.acquiring().attempts(), 2);
}

TEST(AcquiringWaits, a_waiter_without_a_place_sleeps_at_once) {
  ManualAcquire({.wait = 1s, .fair = false}).answered(busy).sleep();
  ManualAcquire({.wait = 1s, .interval = 100ms}).answered(busy).sleep();
}

TEST(AcquiringWaits, a_waiter_whose_place_has_expired_asks_once_more) {
  ManualAcquire acquire(forever_plan);
  acquire.answered(busy).answered(busy).sleep();
  acquire.passes(4s).answered(busy).answered(busy).sleep();
  acquire.passes(2s).answered(busy).sleep();
}

TEST(AcquiringWaits, with_a_listener_a_waiter_sleeps_until_its_place_must_be_refreshed) {
  const struct {
    double jitter;
    Millis::rep length;
  } table[] = {{0, 800}, {0.5, 1000}, {0.999, 1199}};
  for (const auto& row : table) {
    EXPECT_EQ(ManualAcquire(forever_plan).with_jitter(row.jitter).answered(busy).answered(busy).sleeps_for(),
              row.length);
  }
}

TEST(AcquiringWaits, nobody_sleeps_longer_than_the_holder_can_have_the_key) {
  Reply short_lease = busy;
  short_lease.remaining = 200ms;
  EXPECT_EQ(
      ManualAcquire(forever_plan).with_jitter(0).answered(short_lease).answered(short_lease).sleeps_for(),
      201);
  short_lease.remaining = 0ms;
  EXPECT_GE(
      ManualAcquire(forever_plan).with_jitter(0).answered(short_lease).answered(short_lease).sleeps_for(), 1);
}

TEST(AcquiringWaits, for_a_holder_that_never_notifies_a_waiter_polls_more_often) {
  for (const auto* stranger :
       {"ann", "host:h pid:1 guid:short", "host:h pid:1", " guid:0123456789abcdef0123456789abcdef0"}) {
    Reply reply = busy;
    reply.owner = stranger;
    EXPECT_EQ(ManualAcquire(forever_plan).answered(reply).answered(reply).sleeps_for(), 500) << stranger;
  }
}

TEST(AcquiringWaits, without_a_listener_polls_grow_apart_up_to_a_quarter_of_a_second) {
  for (const AcquirePlan& plan :
       {AcquirePlan{.wait = Millis(forever)}, AcquirePlan{.wait = Millis(forever), .fair = false}}) {
    ManualAcquire acquire(plan);
    acquire.answered(busy);
    for (const Millis::rep length : {5, 10, 20, 40, 80, 160, 250, 250}) {
      if (plan.fair && length == 5) acquire.answered(busy);
      EXPECT_EQ(acquire.sleeps_for(), length);
      acquire.sleeps().answered(busy);
    }
  }
}

TEST(AcquiringWaits, without_a_listener_a_short_place_is_still_refreshed_in_time) {
  ManualAcquire acquire({.wait = Millis(forever), .place = 90ms});
  acquire.answered(busy).answered(busy);
  for (int i = 0; i < 10; ++i) {
    EXPECT_LE(acquire.sleeps_for(), 36);
    acquire.sleeps().answered(busy);
  }
}

TEST(AcquiringWaits, polls_refresh_the_place_in_time_and_only_read_in_between) {
  ManualAcquire acquire({.wait = Millis(forever)});
  EXPECT_EQ(acquire.send().place, 3s);
  Instant placed = acquire.now();
  acquire.replied(busy, 1ms);
  int polls = 0, reads = 0;
  for (; polls < 100; ++polls) {
    const Millis place = acquire.send().place;
    if (place == 0ms) ++reads;
    EXPECT_LT(acquire.now() - placed, 3s);
    if (place > 0ms) placed = acquire.now();
    acquire.replied(busy, 1ms);
    acquire.sleeps();
  }
  EXPECT_GT(reads, polls / 2);
  EXPECT_LT(reads, polls);
}

TEST(AcquiringWaits, a_place_whose_keeping_was_not_answered_is_asked_for_again) {
  ManualAcquire acquire(forever_plan);
  acquire.failed(Errc::in_doubt);
  EXPECT_EQ(acquire.send().place, 3s);
}

TEST(AcquiringWaits, a_place_far_from_the_front_is_kept_longer_and_left_alone_longer) {
  Reply far = busy;
  far.ahead = 4;
  ManualAcquire acquire(forever_plan);
  EXPECT_EQ(acquire.send().place, 3s);
  acquire.replied(far, 1ms).answered(far).sleeps();
  EXPECT_EQ(acquire.send().place, 9s);
  acquire.replied(far, 1ms);
  EXPECT_EQ(acquire.sleeps_for(), 3000);
}

TEST(AcquiringWaits, a_place_that_comes_near_the_front_is_kept_for_a_shorter_time_again) {
  Reply far = busy, near = busy;
  far.ahead = 4, near.ahead = 3;
  ManualAcquire acquire(forever_plan);
  acquire.answered(far).answered(far).sleeps().answered(far).sleeps();
  acquire.answered(near).sleeps();
  EXPECT_EQ(acquire.send().place, 3s);
  acquire.replied(near, 1ms);
  EXPECT_EQ(acquire.sleeps_for(), 1000);
}

TEST(AcquiringWaits, with_a_listener_each_scheduled_poll_refreshes_the_place) {
  ManualAcquire acquire(forever_plan);
  acquire.answered(busy).answered(busy).with_jitter(0);
  for (int i = 0; i < 10; ++i) {
    acquire.sleeps();
    EXPECT_EQ(acquire.send().place, 3s);
    acquire.replied(busy, 1ms);
  }
}

TEST(AcquiringWaits, without_a_listener_waiters_further_back_poll_less_often) {
  const struct {
    std::uint32_t ahead;
    Millis::rep apart;
  } table[] = {{0, 250}, {1, 500}, {2, 750}, {3, 1000}, {4, 1000}, {1000, 1000}};
  for (const auto& row : table) {
    ManualAcquire acquire({.wait = Millis(forever)});
    Reply reply = busy;
    reply.ahead = row.ahead;
    acquire.answered(reply);
    for (int i = 0; i < 12; ++i) acquire.answered(reply).sleeps();
    EXPECT_EQ(acquire.answered(reply).sleeps_for(), row.apart) << row.ahead;
  }
}

TEST(AcquiringWaits, a_notification_wakes_a_sleeping_waiter) {
  ManualAcquire acquire(forever_plan);
  acquire.answered(busy).answered(busy).sleep();
  EXPECT_EQ(acquire.ready().answered(granted).done().failed, std::nullopt);
}

TEST(AcquiringWaits, a_notification_makes_polls_frequent_again) {
  ManualAcquire acquire({.wait = Millis(forever), .fair = false});
  for (int i = 0; i < 5; ++i) acquire.answered(busy).sleeps();
  acquire.answered(busy).sleep();
  EXPECT_EQ(acquire.ready().answered(busy).sleeps_for(), 5);
}

TEST(AcquiringWaits, waking_without_a_notification_goes_on_sleeping_until_the_same_moment) {
  ManualAcquire acquire(forever_plan);
  const Instant until = acquire.answered(busy).answered(busy).sleep().until;
  EXPECT_EQ(ms(acquire.passes(10ms).with_jitter(0.9).sleep().until), ms(until));
}

TEST(AcquiringWaits, a_notification_does_not_disturb_a_schedule) {
  ManualAcquire({.wait = 5s, .interval = 1s}).answered(busy).ready().sleep();
}

TEST(AcquiringWaits, the_end_of_the_wait_is_a_timeout_that_leaves_the_queue) {
  ManualAcquire acquire({.wait = 5s, .push = true});
  acquire.answered(busy).answered(busy).passes(4900ms);
  EXPECT_EQ(ms(acquire.send().until), 5000);
  acquire.replied(busy, 100ms);
  EXPECT_EQ(acquire.done().failed, Errc::timeout);
  expect_tidied(acquire.done());
}

TEST(AcquiringWaits, a_sleep_ends_with_the_wait) {
  ManualAcquire acquire({.wait = 500ms, .push = true});
  acquire.answered(busy).answered(busy);
  EXPECT_EQ(ms(acquire.sleep().until), 500);
  EXPECT_EQ(acquire.sleeps().done().failed, Errc::timeout);
  expect_tidied(acquire.done());
}

TEST(AcquiringWaits, attempts_are_counted_from_one_and_the_last_is_followed_by_no_sleep) {
  std::vector<int> asked;
  ManualAcquire acquire({.attempts = 3, .interval = [&](int attempt) {
                           asked.push_back(attempt);
                           return Millis(attempt * 10);
                         }});
  EXPECT_EQ(acquire.answered(busy).sleeps_for(), 10);
  EXPECT_EQ(acquire.sleeps().answered(busy).sleeps_for(), 20);
  EXPECT_EQ(acquire.sleeps().answered(busy).done().failed, Errc::exhausted);
  EXPECT_EQ(asked, (std::vector{1, 2}));
  EXPECT_EQ(acquire.acquiring().attempts(), 3);
}

TEST(AcquiringWaits, attempts_without_an_interval_are_a_tenth_of_a_second_apart) {
  EXPECT_EQ(ManualAcquire({.attempts = 2}).answered(busy).sleeps_for(), 100);
  EXPECT_EQ(ManualAcquire({.attempts = 2}).failed(Errc::unavailable).sleeps_for(), 100);
}

TEST(AcquiringWaits, a_schedule_that_would_sleep_past_the_wait_ends_at_once) {
  ManualAcquire acquire({.wait = 150ms, .interval = 100ms});
  EXPECT_EQ(acquire.answered(busy).sleeps().answered(busy).done().failed, Errc::timeout);
}

TEST(AcquiringWaits, an_interval_is_slept_between_attempts_as_it_is_given) {
  ManualAcquire acquire({.attempts = 4, .interval = 1s});
  for (int attempt = 1; attempt < 4; ++attempt) {
    EXPECT_EQ(acquire.answered(busy).sleeps_for(), 1000) << attempt;
    acquire.sleeps();
  }
  EXPECT_EQ(acquire.answered(busy).done().failed, Errc::exhausted);
  EXPECT_EQ(ManualAcquire({.attempts = 2, .interval = 1s}).failed(Errc::unavailable).sleeps_for(), 1000);
}

TEST(AcquiringWaits, a_negative_interval_is_none) {
  EXPECT_EQ(ManualAcquire({.attempts = 2, .interval = -5ms}).answered(busy).answered(granted).done().failed,
            std::nullopt);
}

}  // namespace
}  // namespace holdfast::core
