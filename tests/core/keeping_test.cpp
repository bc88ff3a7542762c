// SPDX-License-Identifier: Apache-2.0
#include "core/keeping.h"

#include <gmock/gmock.h>

#include "tests/core/moments.h"

namespace holdfast::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Ids = std::vector<Keeping::Id>;

constexpr double jitter = 0.5;
constexpr std::size_t all = 1'000'000;

// With ttl 30 s: renewal at 10 s, jeopardy at 20 s, lost at 29.7 s after `sent`.
Belief lease(Instant sent = start, KeepPlan plan = {.ttl = 30s}) { return Belief(plan, sent, plan.ttl); }

Keeping keeping_of(std::initializer_list<Belief> beliefs) {
  Keeping keeping;
  Keeping::Id id = 0;
  for (const Belief& belief : beliefs) keeping.add(++id, belief);
  return keeping;
}

// "1!" in jeopardy, "1x" lost.
std::vector<std::string> events_of(Keeping& keeping, Instant now) {
  std::vector<std::string> seen;
  for (const auto& [id, lost] : keeping.take_events(now))
    seen.push_back(std::to_string(id) + (lost ? "x" : "!"));
  return seen;
}

// The other one need only be renewed by an earlier moment.
TEST(Keeping, of_leases_of_several_hours_one_is_due_before_the_other) {
  Keeping keeping = keeping_of({lease(at(70min), {.ttl = 3h}), lease(start, {.ttl = 6h})});
  EXPECT_THAT(keeping.due(at(2h), all), ElementsAre(2));
}

TEST(Keeping, one_that_fails_after_its_renewing_has_ended_holds_up_no_other) {
  Keeping keeping = keeping_of({lease(), lease(at(1s), {.ttl = 300s})});
  ASSERT_THAT(keeping.due(at(10s), all), ElementsAre(1));
  keeping.stop_renewing(1);
  keeping.failed(1, at(11s), jitter);
  EXPECT_EQ(keeping.next_renewal(), at(101s));
}

TEST(Keeping, nothing_is_due_where_nothing_is_kept) {
  Keeping keeping;
  EXPECT_THAT(keeping.due(at(1h), all), IsEmpty());
  EXPECT_THAT(events_of(keeping, at(1h)), IsEmpty());
  EXPECT_EQ(keeping.next_renewal(), Instant::max());
  EXPECT_EQ(keeping.next_event(), Instant::max());
  EXPECT_EQ(keeping.find(1), nullptr);
}

TEST(Keeping, a_lease_is_due_at_a_third_and_not_before) {
  Keeping keeping = keeping_of({lease()});
  EXPECT_EQ(ms(keeping.next_renewal()), 10'000);
  EXPECT_THAT(keeping.due(at(10s) - 1ns, all), IsEmpty());
  EXPECT_THAT(keeping.due(at(10s), all), ElementsAre(1));
}

TEST(Keeping, a_lease_in_flight_is_not_due_twice) {
  Keeping keeping = keeping_of({lease()});
  EXPECT_THAT(keeping.due(at(10s), all), ElementsAre(1));
  EXPECT_EQ(keeping.next_renewal(), Instant::max());
  EXPECT_THAT(keeping.due(at(15s), all), IsEmpty());
  keeping.failed(1, at(15s), jitter);
  EXPECT_GT(ms(keeping.next_renewal()), 15'000);
  EXPECT_THAT(keeping.due(keeping.next_renewal(), all), ElementsAre(1));
  EXPECT_EQ(ms(*keeping.renewed(1, at(16s), 30s, at(16s))), 45'700);
  EXPECT_EQ(ms(keeping.next_renewal()), 26'000);
}

TEST(Keeping, those_that_are_due_within_a_tenth_of_their_ttl_ride_along) {
  Keeping keeping = keeping_of({lease(), lease(at(1s)), lease(at(3s)), lease(at(3s) + 1ns)});
  EXPECT_THAT(keeping.due(at(10s) - 1ns, all), IsEmpty());
  EXPECT_THAT(keeping.due(at(10s), all), ElementsAre(1, 2, 3));
  EXPECT_EQ(ms(keeping.next_renewal()), 13'000);
}

TEST(Keeping, a_short_lease_does_not_ride_along_for_long_and_a_long_one_does) {
  Keeping keeping = keeping_of({lease(), lease(at(9'900ms), {.ttl = 3s}), lease(start, {.ttl = 33s})});
  EXPECT_THAT(keeping.due(at(10s), all), ElementsAre(1, 3));  // 2 is due at 10.9 s, 3 at 11 s
}

TEST(Keeping, leases_of_different_groups_are_not_renewed_in_one_batch) {
  const BatchSize two(2), many;
  Keeping keeping;
  keeping.add(1, lease());
  for (const Keeping::Id id : {2u, 3u, 4u}) keeping.add(id, lease(at(1ms)), &two);
  keeping.add(5, lease(at(2ms)), &many);
  keeping.add(6, lease(at(3ms)));
  EXPECT_THAT(keeping.due(at(10s), all), ElementsAre(1, 6));
  EXPECT_THAT(keeping.due(keeping.next_renewal(), all), ElementsAre(2, 3)) << "as many as their group says";
  EXPECT_THAT(keeping.due(keeping.next_renewal(), all), ElementsAre(4));
  EXPECT_THAT(keeping.due(keeping.next_renewal(), all), ElementsAre(5));
  EXPECT_THAT(keeping.due(at(11s), all), IsEmpty());
}

TEST(Keeping, one_with_an_interval_of_its_own_rides_along_for_a_tenth_of_that) {
  const KeepPlan hourly{.ttl = 1h, .renew_every = 10s, .max_renewals = 3};
  Keeping keeping = keeping_of({lease(start, {.ttl = 3s}), lease(start, hourly)});
  Ids renewed;
  for (Instant now = start; now < at(10s); now += 1s) {
    for (const auto id : keeping.due(now, all)) {
      if (id == 2) renewed.push_back(id);
      keeping.renewed(id, now, id == 1 ? Millis(3s) : Millis(1h), now);
    }
  }
  EXPECT_LE(renewed.size(), 1u) << "three renewals, ten seconds apart, were used up in the first ten seconds";
}

TEST(Keeping, a_lease_with_an_endless_ttl_is_not_computed_with) {
  Keeping keeping = keeping_of({lease()});
  keeping.set_ttl(1, Millis(never));
  EXPECT_THAT(keeping.due(at(10s), all), ElementsAre(1));
}

TEST(Keeping, jeopardy_and_loss_are_reported_once_each_and_on_time) {
  Keeping keeping = keeping_of({lease()});
  EXPECT_EQ(ms(keeping.next_event()), 20'000);
  EXPECT_THAT(events_of(keeping, at(20s) - 1ns), IsEmpty());
  EXPECT_THAT(events_of(keeping, at(20s)), ElementsAre("1!"));
  EXPECT_THAT(events_of(keeping, at(20s)), IsEmpty());
  EXPECT_EQ(ms(keeping.next_event()), 29'700);
  EXPECT_THAT(events_of(keeping, at(29'700ms) - 1ns), IsEmpty());
  EXPECT_THAT(events_of(keeping, at(29'700ms)), ElementsAre("1x"));
  EXPECT_THAT(events_of(keeping, at(1h)), IsEmpty());
  EXPECT_FALSE(keeping.knows(1));
}

TEST(Keeping, a_late_check_reports_only_the_loss) {
  Keeping keeping = keeping_of({lease()});
  EXPECT_THAT(events_of(keeping, at(1h)), ElementsAre("1x"));
  EXPECT_EQ(keeping.size(), 0u);
}

TEST(Keeping, events_are_reported_in_order_of_time) {
  const Belief late_jeopardy = lease(at(5s));                           // ! 25 s
  const Belief loses_late = lease();                                    // x 29.7 s
  const Belief loses_early = lease(start, {.ttl = 30s, .margin = 8s});  // x 22 s
  Keeping keeping = keeping_of({late_jeopardy, loses_late, loses_early});
  EXPECT_THAT(events_of(keeping, at(30s)), ElementsAre("3x", "1!", "2x"));
}

TEST(Keeping, a_renewal_ends_the_jeopardy_and_a_later_jeopardy_is_reported_again) {
  Keeping keeping = keeping_of({lease()});
  EXPECT_THAT(events_of(keeping, at(20s)), ElementsAre("1!"));
  EXPECT_TRUE(keeping.renewed(1, at(21s), 30s, at(22s)));
  EXPECT_THAT(events_of(keeping, at(40s)), IsEmpty());
  EXPECT_THAT(events_of(keeping, at(41s)), ElementsAre("1!"));
}

TEST(Keeping, a_failure_ends_no_jeopardy) {
  Keeping keeping = keeping_of({lease()});
  keeping.due(at(10s), all);
  EXPECT_THAT(events_of(keeping, at(20s)), ElementsAre("1!"));
  keeping.failed(1, at(21s), jitter);
  EXPECT_THAT(events_of(keeping, at(22s)), IsEmpty());
  EXPECT_EQ(ms(keeping.next_event()), 29'700);
}

TEST(Keeping, an_answer_after_the_deadline_brings_nothing_back) {
  Keeping keeping = keeping_of({lease()});
  EXPECT_THAT(keeping.due(at(10s), all), ElementsAre(1));
  EXPECT_EQ(keeping.renewed(1, at(10s), 30s, at(29'700ms)), std::nullopt);
  EXPECT_THAT(events_of(keeping, at(29'700ms)), ElementsAre("1x"));
  EXPECT_EQ(keeping.renewed(1, at(10s), 30s, at(29'800ms)), std::nullopt);
  EXPECT_FALSE(keeping.knows(1));
}

TEST(Keeping, a_removed_lease_has_no_more_events) {
  Keeping keeping = keeping_of({lease(), lease()});
  keeping.due(at(10s), all);
  keeping.remove(1);
  keeping.remove(1);
  EXPECT_EQ(keeping.renewed(1, at(10s), 30s, at(10s)), std::nullopt);
  keeping.failed(1, at(10s), jitter);
  keeping.set_ttl(1, 60s);
  keeping.stop_renewing(1);
  EXPECT_EQ(keeping.size(), 1u);
  EXPECT_THAT(events_of(keeping, at(1h)), ElementsAre("2x"));
}

TEST(Keeping, a_lease_that_is_not_renewed_any_more_is_not_due_and_runs_out_on_time) {
  Keeping keeping = keeping_of({lease()});
  EXPECT_THAT(keeping.due(at(10s), all), ElementsAre(1));
  keeping.stop_renewing(1);
  keeping.failed(1, at(11s), jitter);  // of the renewal that was on its way
  EXPECT_EQ(keeping.next_renewal(), Instant::max());
  EXPECT_THAT(events_of(keeping, at(29s)), ElementsAre("1!"));
  EXPECT_THAT(events_of(keeping, at(30s)), ElementsAre("1x"));
}

TEST(Keeping, one_without_end_is_never_due_and_never_lost) {
  Keeping keeping = keeping_of({lease(start, {.ttl = Millis(never)})});
  EXPECT_EQ(keeping.next_renewal(), Instant::max());
  EXPECT_EQ(keeping.next_event(), Instant::max());
  EXPECT_THAT(keeping.due(at(1000h), all), IsEmpty());
  EXPECT_THAT(events_of(keeping, at(1000h)), IsEmpty());
}

TEST(Keeping, a_new_ttl_is_that_of_the_next_renewal) {
  Keeping keeping = keeping_of({lease()});
  keeping.set_ttl(1, 60s);
  EXPECT_EQ(ms(keeping.find(1)->ttl()), 60'000);
  EXPECT_EQ(ms(*keeping.renewed(1, at(5s), 60s, at(5s))), 64'400);
  EXPECT_EQ(ms(keeping.next_renewal()), 25'000);
}

TEST(Keeping, no_more_are_due_at_once_than_a_call_can_take_and_the_rest_follow_before_their_jeopardy) {
  Keeping keeping;
  for (Keeping::Id id = 0; id < 100; ++id) keeping.add(id, lease());
  std::size_t renewed = 0;
  for (Instant now = at(10s); renewed < 100; now = keeping.next_renewal()) {
    ASSERT_LT(now, at(20s));
    const Ids due = keeping.due(now, 10);
    ASSERT_EQ(due.size(), 10u);
    for (const auto id : due) ASSERT_TRUE(keeping.renewed(id, now, 30s, now));
    renewed += due.size();
    EXPECT_GT(keeping.next_renewal(), now) << "they are spread";
  }
}

TEST(Keeping, the_shortest_lived_of_many_comes_first) {
  Keeping keeping;
  for (Keeping::Id id = 0; id < 100; ++id) keeping.add(id, lease());
  keeping.add(200, lease(at(9'900ms), {.ttl = 300ms}));
  EXPECT_THAT(keeping.due(at(10s), 10), ElementsAre(200)) << "and no long-lived one is given so short a call";
  EXPECT_THAT(keeping.due(at(10s), 2), ElementsAre(0, 1));
}

// The row of one may be locked by somebody's transaction.
TEST(Keeping, a_batch_that_fails_again_and_again_keeps_no_other_lease_from_being_renewed) {
  Keeping keeping;
  for (Keeping::Id id = 0; id < 100; ++id) keeping.add(id, lease());
  Instant now = at(10s);
  std::set<Keeping::Id> renewed;
  while (renewed.size() < 90 && now < at(20s)) {
    const Ids due = keeping.due(now, 10);
    ASSERT_FALSE(due.empty());
    const bool fails = due.front() < 10;
    now += fails ? 2s : 2ms;
    for (const auto id : due) {
      ASSERT_EQ(id < 10, fails) << "they do not travel together";
      if (fails)
        keeping.failed(id, now, jitter);
      else if (keeping.renewed(id, now - 2ms, 30s, now))
        renewed.insert(id);
    }
    now = std::max(now, keeping.next_renewal());
  }
  EXPECT_EQ(renewed.size(), 90u) << "before their jeopardy";
}

TEST(Keeping, a_store_that_does_not_answer_one_is_not_asked_by_the_next_at_once) {
  Keeping keeping = keeping_of({lease(), lease()});
  EXPECT_THAT(keeping.due(at(10s), 1), ElementsAre(1));
  keeping.failed(1, at(10s), jitter);
  EXPECT_THAT(keeping.due(at(10s), all), IsEmpty());
  EXPECT_GT(keeping.next_renewal(), at(10s));
  EXPECT_LT(keeping.next_renewal(), at(11s));
}

// A claim of ten minutes fails to its end, with pauses of up to a minute; a lease of 30 s is renewed beside
// it.
TEST(Keeping, one_that_fails_until_its_deadline_costs_no_other_lease) {
  for (double share = 0; share < 1; share += 0.02) {
    Keeping keeping = keeping_of({lease(start, {.ttl = 10min}), lease(at(450s))});
    const Instant end = keeping.find(1)->deadline();
    for (Instant now = keeping.next_renewal(); now < end + 1min;
         now = std::max(now + 1ms, std::min(keeping.next_renewal(), keeping.next_event()))) {
      for (const auto& [id, lost] : keeping.take_events(now))
        EXPECT_EQ(id, 1u) << share << ": the other lease is " << (lost ? "lost" : "in jeopardy");
      for (const auto id : keeping.due(now, all)) {
        if (id == 1)
          keeping.failed(1, now, share);
        else
          keeping.renewed(2, now, 30s, now);
      }
    }
    EXPECT_EQ(keeping.size(), 1u);
  }
}

TEST(Keeping, neither_a_call_nor_a_rest_keeps_a_short_lived_one_waiting) {
  Keeping keeping;
  for (Keeping::Id id = 0; id < 100; ++id) keeping.add(id, lease());
  EXPECT_EQ(keeping.due(at(10s), 50).size(), 50u);
  EXPECT_GE(ms(keeping.time_for_a_call(at(10s))), 12'000);
  EXPECT_GE(ms(keeping.next_renewal()), 11'000);
  keeping.add(200, lease(at(10s), {.ttl = 300ms}));  // due at 10.1 s
  EXPECT_EQ(ms(keeping.time_for_a_call(at(10s))), 10'150);
  EXPECT_EQ(ms(keeping.next_renewal()), 10'150);
  EXPECT_EQ(ms(keeping.time_for_a_call(at(11s))), 11'050) << "no call gets less";
}

TEST(Keeping, ten_thousand_leases_are_renewed_in_few_batches) {
  constexpr Keeping::Id many = 10'000;
  Keeping keeping;
  for (Keeping::Id id = 0; id < many; ++id) keeping.add(id, lease(start + Micros(id * 1000)));  // within 10 s
  std::size_t batches = 0, renewals = 0;
  for (Instant now = keeping.next_renewal(); now < at(60s); now = keeping.next_renewal()) {
    const Ids due = keeping.due(now, all);
    ASSERT_FALSE(due.empty());
    ++batches;
    renewals += due.size();
    for (const auto id : due) ASSERT_TRUE(keeping.renewed(id, now, 30s, now + 1ms));
    ASSERT_THAT(keeping.take_events(now), IsEmpty());
  }
  EXPECT_GE(renewals, many * 4);
  EXPECT_LE(renewals, many * 8);
  EXPECT_LE(batches, 30u);
  EXPECT_EQ(keeping.take_events(at(1h)).size(), many);
}

}  // namespace
}  // namespace holdfast::core
