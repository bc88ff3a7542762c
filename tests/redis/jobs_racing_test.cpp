// SPDX-License-Identifier: Apache-2.0
// Many at once: enqueues of one loner, and workers on a few keys.
#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "tests/redis/suite.h"
#include "tests/support/worker.h"

namespace holdfast::test {
namespace {

using RacingJobs = RedisTest;

TEST_F(RacingJobs, of_2000_enqueues_of_one_loner_one_is_a_job_and_the_others_are_counted) {
  std::mutex mutex;
  std::set<std::uint64_t> ids;
  std::atomic<int> enqueued = 0, duplicates = 0;
  {
    std::vector<std::jthread> crowd;
    for (int i = 0; i < 40; ++i)
      crowd.emplace_back([&] {
        Worker worker(server_.url());
        for (int n = 0; n < 50; ++n) {
          const EnqueueReply told = worker.loner("lock:Lonely:1");
          if (told.what == EnqueueOutcome::enqueued) ++enqueued;
          if (told.what == EnqueueOutcome::duplicate) ++duplicates;
          const std::lock_guard lock(mutex);
          ids.insert(to_number(told.id));
        }
      });
  }
  EXPECT_EQ(enqueued, 1);
  EXPECT_EQ(duplicates, 1999);
  EXPECT_EQ(ids.size(), 1u);
  Worker worker(server_.url());
  const auto rows = worker.list({});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].duplicates, 1999u);
}

struct Tally {
  std::atomic<int> done = 0, dropped = 0, overlaps = 0;
};

// 20 workers until 600 jobs on 5 keys are over; each checks that no other worker runs under its key.
void work_off(const std::string& url, OnConflict on_conflict, Tally& tally) {
  constexpr int jobs = 600, keys = 5, workers = 20;
  Worker first(url);
  for (int i = 0; i < jobs; ++i)
    first.enqueue("key" + std::to_string(i % keys), {.on_conflict = on_conflict});
  std::array<std::atomic<int>, keys> at_work{};
  std::vector<std::jthread> crowd;
  for (int i = 0; i < workers; ++i)
    crowd.emplace_back([&, i] {
      Worker worker(url);
      for (int n = 0; tally.done + tally.dropped < jobs; ++n) {
        const Claimed claimed = worker.claim("w" + std::to_string(i) + "." + std::to_string(n));
        if (claimed.what == Got::nothing) let_pass(std::min(claimed.next, Millis(5)));
        if (claimed.what == Got::dropped) {
          EXPECT_TRUE(claimed.blocker.starts_with("w")) << claimed.blocker;
          ++tally.dropped;
        }
        if (claimed.what != Got::running) continue;
        std::atomic<int>& key = at_work[static_cast<std::size_t>(claimed.job.key.back() - '0')];
        if (key.fetch_add(1) != 0) ++tally.overlaps;
        std::this_thread::yield();
        key.fetch_sub(1);
        EXPECT_TRUE(worker.finish(claimed).released);
        ++tally.done;
      }
    });
}

TEST_F(RacingJobs, twenty_workers_that_wait_do_all_jobs_and_never_two_of_a_key) {
  Tally tally;
  work_off(server_.url(), OnConflict::wait, tally);
  EXPECT_EQ(tally.overlaps, 0);
  EXPECT_EQ(tally.done, 600);
  EXPECT_EQ(tally.dropped, 0);
  EXPECT_EQ(redis({"ZCARD", "holdfast:jobs:over"}), "600");
  EXPECT_EQ(redis({"KEYS", "holdfast:jobs:parked:*"}), "");
}

TEST_F(RacingJobs, twenty_workers_that_drop_do_or_drop_all_jobs_and_never_two_of_a_key) {
  Tally tally;
  work_off(server_.url(), OnConflict::drop, tally);
  EXPECT_EQ(tally.overlaps, 0);
  EXPECT_EQ(tally.done + tally.dropped, 600);
  Worker worker(server_.url());
  std::size_t done = 0, dropped = 0;
  for (const JobRow& row : worker.list({.limit = 1000})) {
    if (row.state == JobState::done) ++done;
    if (row.state == JobState::dropped) ++dropped;
  }
  EXPECT_EQ(done, static_cast<std::size_t>(tally.done));
  EXPECT_EQ(dropped, static_cast<std::size_t>(tally.dropped));
}

TEST_F(RacingJobs, beside_active_job_lock_it_is_the_same) {
  Tally tally;
  work_off(server_.url() + "?layout=active_job_lock", OnConflict::wait, tally);
  EXPECT_EQ(tally.overlaps, 0);
  EXPECT_EQ(tally.done, 600);
}

}  // namespace
}  // namespace holdfast::test
