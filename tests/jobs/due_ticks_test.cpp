// SPDX-License-Identifier: Apache-2.0
// Which ticks a schedule makes up for: every ten minutes, and nobody there for an hour.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/running.h"
#include "jobs/schedule.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using jobs::backoff_of;
using jobs::of_schedule;
using jobs::Second;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Misfire = CronOptions::Misfire;
using Overlap = CronOptions::Overlap;

std::optional<Second> every_ten_minutes(Second then) { return (then / 10min + 1) * Second(10min); }

std::vector<long> due(const CronOptions& options, Second last, Second now) {
  std::vector<long> minutes;
  for (const Second tick : jobs::due_ticks(every_ten_minutes, options, last, now))
    minutes.push_back(tick / 1min);
  return minutes;
}

TEST(DueTicks, one_that_is_on_time_is_due_whatever_is_missed) {
  for (const Misfire misfire : {Misfire::run_once, Misfire::skip, Misfire::all}) {
    EXPECT_THAT(due({.misfire = misfire}, 50min, 60min), ElementsAre(60));
    EXPECT_THAT(due({.misfire = misfire}, 50min, 61min), ElementsAre(60)) << "a minute late is on time";
    EXPECT_THAT(due({.misfire = misfire}, 50min, 60min - 1s), IsEmpty());
    EXPECT_THAT(due({.misfire = misfire}, 60min, 69min), IsEmpty()) << "it has been taken";
    EXPECT_THAT(due({.misfire = misfire, .deadline = 0ms}, 50min, 60min + 30s), ElementsAre(60));
  }
}

TEST(DueTicks, of_those_that_were_missed_the_last_one_runs) {
  EXPECT_THAT(due({}, 0min, 65min), ElementsAre(60));
  EXPECT_THAT(due({}, 0min, 60min), ElementsAre(60));
}

TEST(DueTicks, skip_runs_none_of_them_but_the_one_that_is_on_time) {
  EXPECT_THAT(due({.misfire = Misfire::skip}, 0min, 65min), IsEmpty());
  EXPECT_THAT(due({.misfire = Misfire::skip}, 0min, 60min), ElementsAre(60));
}

TEST(DueTicks, all_runs_each_in_its_order) {
  EXPECT_THAT(due({.misfire = Misfire::all}, 0min, 45min), ElementsAre(10, 20, 30, 40));
}

TEST(DueTicks, none_that_is_older_than_the_deadline_is_made_up_for) {
  EXPECT_THAT(due({.misfire = Misfire::all, .deadline = 25min}, 0min, 65min), ElementsAre(40, 50, 60));
  EXPECT_THAT(due({.misfire = Misfire::all, .deadline = 24min}, 0min, 65min), ElementsAre(50, 60));
  EXPECT_THAT(due({.deadline = 4min}, 0min, 65min), IsEmpty());
  EXPECT_THAT(due({.misfire = Misfire::all}, 0min, 1000h).size(), 37u) << "six hours";
}

TEST(Backoff, twenty_five_attempts_take_about_three_weeks) {
  const auto after = [](int attempt) { return backoff_of({}, attempt, 0.5); };
  EXPECT_EQ(after(1), 10s);
  EXPECT_EQ(after(3), 81s);
  Millis all{};
  for (int attempt = 1; attempt < 25; ++attempt) all += after(attempt);
  EXPECT_GT(all, 24h * 20);
  EXPECT_LT(all, 24h * 21);
  EXPECT_EQ(after(1'000'000), after(24)) << "and no longer";
  EXPECT_EQ(backoff_of({}, 3, 0), 72'900ms);
  EXPECT_EQ(backoff_of({}, 3, 1), 89'100ms);
  EXPECT_EQ(backoff_of({.backoff = 5ms}, 3, 1), 5ms) << "one's own is as one says";
}

TEST(DueTicks, a_tick_is_tried_five_times_unless_its_job_says_otherwise) {
  EXPECT_EQ(of_schedule({}, Overlap::skip).max_attempts, 5);
  EXPECT_EQ(of_schedule({.max_attempts = 9}, Overlap::skip).max_attempts, 9);
}

TEST(DueTicks, overlap_is_a_matter_of_the_jobs_lock) {
  JobOptions job;
  job.lock = JobLock{.limit = 0};
  job.loner_enqueue_failed = [](const Duplicate&, const Args&) {};
  EXPECT_EQ(of_schedule(job, Overlap::skip).lock->unique, Unique::loner);
  EXPECT_EQ(of_schedule(job, Overlap::wait).lock->on_conflict, OnConflict::wait);
  EXPECT_EQ(of_schedule(job, Overlap::wait).lock->limit, 1);
  job.lock_failed = [](JobContext&, const Args&) {};
  EXPECT_FALSE(of_schedule(job, Overlap::wait).lock_failed) << "it would never be called, and is refused";
  EXPECT_TRUE(of_schedule(job, Overlap::skip).lock_failed);
  EXPECT_EQ(of_schedule(job, Overlap::wait).lock->unique, Unique::no);
  job.lock->limit = 3;
  EXPECT_EQ(of_schedule(job, Overlap::wait).lock->limit, 3);
  EXPECT_EQ(of_schedule(job, Overlap::allow).lock->limit, 0);
  EXPECT_FALSE(of_schedule(job, Overlap::allow).loner_enqueue_failed);
  job.lock->unique = Unique::until_start;
  EXPECT_EQ(of_schedule(job, Overlap::skip).lock->unique, Unique::loner) << "also while the last one runs";
  job.lock->unique = Unique::until_success;
  EXPECT_EQ(of_schedule(job, Overlap::skip).lock->unique, Unique::until_success);
  job.lock->loner = true;
  for (const Overlap overlap : {Overlap::wait, Overlap::allow}) {
    EXPECT_EQ(of_schedule(job, overlap).lock->unique, Unique::no);
    EXPECT_FALSE(of_schedule(job, overlap).lock->loner);
  }
}

}  // namespace
}  // namespace holdfast::test
