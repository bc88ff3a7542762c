// SPDX-License-Identifier: Apache-2.0
#include "cli/schedule.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr Instant start{1000s};

TEST(Schedule, kills_a_little_before_the_deadline_and_tells_before_that) {
  const Schedule schedule(start + 30s, 30s);
  EXPECT_EQ(schedule.kill_at(), start + 30s - 1s);
  EXPECT_EQ(schedule.term_at(), start + 30s - 1s - 5s);
}

TEST(Schedule, scales_with_the_ttl) {
  EXPECT_EQ(Schedule(start + 1s, 1s).kill_at(), start + 900ms);
  EXPECT_EQ(Schedule(start + 60ms, 60ms).kill_at(), start + 54ms);
  EXPECT_EQ(Schedule(start + 60ms, 60ms).term_at(), start + 44ms);
  EXPECT_EQ(Schedule(start + 1h, 1h).term_at(), start + 1h - 1s - 10s);
}

TEST(Schedule, always_tells_before_it_kills_and_kills_before_the_deadline) {
  for (Millis ttl = 20ms; ttl < 24h; ttl = ttl * 3 / 2) {
    const Schedule schedule(start + ttl, ttl);
    EXPECT_LT(start, schedule.term_at()) << ttl.count();
    EXPECT_LT(schedule.term_at(), schedule.kill_at()) << ttl.count();
    EXPECT_LT(schedule.kill_at(), schedule.doubt_at()) << ttl.count();
    EXPECT_LT(schedule.doubt_at(), start + ttl) << ttl.count();
  }
}

TEST(Schedule, moves_with_a_renewal_and_never_back) {
  Schedule schedule(start + 30s, 30s);
  schedule.renewed(start + 40s);
  EXPECT_EQ(schedule.kill_at(), start + 40s - 1s);
  schedule.renewed(start + 35s);
  EXPECT_EQ(schedule.kill_at(), start + 40s - 1s);
}

TEST(Schedule, told_kills_after_its_grace_but_never_later_than_the_deadline_asks) {
  Schedule early(start + 30s, 30s);
  early.tell(start + 1s, 5s);
  EXPECT_EQ(early.term_at(), start + 1s);
  EXPECT_EQ(early.kill_at(), start + 6s);
  Schedule late(start + 30s, 30s);
  late.tell(start + 28s, 5s);
  EXPECT_EQ(late.kill_at(), start + 30s - 1s);
}

TEST(Schedule, the_first_telling_counts) {
  Schedule schedule(start + 30s, 30s);
  schedule.tell(start + 1s, 5s);
  schedule.tell(start + 2s, 5s);
  EXPECT_EQ(schedule.kill_at(), start + 6s);
}

TEST(Schedule, no_renewal_takes_back_what_was_told) {
  Schedule schedule(start + 30s, 30s);
  schedule.tell(start + 1s, 5s);
  schedule.renewed(start + 60s);
  EXPECT_EQ(schedule.term_at(), start + 1s);
  EXPECT_EQ(schedule.kill_at(), start + 6s);
}

TEST(Schedule, at_once_is_at_once) {
  Schedule schedule(start + 30s, 30s);
  schedule.at_once();
  EXPECT_LT(schedule.kill_at(), start);
}

TEST(Schedule, a_lease_without_end_is_not_ended) {
  const Schedule schedule(Instant::max(), never);
  EXPECT_GT(schedule.term_at(), start + 1000h);
}

}  // namespace
}  // namespace holdfast::cli
