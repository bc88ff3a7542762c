// SPDX-License-Identifier: Apache-2.0
// Jobs and their workers, on every store that keeps jobs.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "holdfast/job_worker.h"
#include "holdfast/spi/job_engine.h"
#include "tests/support/await.h"
#include "tests/support/databases.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using What = JobEvent::What;

class Work : public ::testing::TestWithParam<Kind> {
 protected:
  WorkerOptions quick(int threads = 2) {
    return {.threads = threads, .poll = 10ms, .on_event = [this](const JobEvent& event) {
              const std::lock_guard lock(mutex_);
              events_.push_back(event);
            }};
  }
  std::vector<JobEvent> events(What what) {
    const std::lock_guard lock(mutex_);
    std::vector<JobEvent> found;
    for (const JobEvent& event : events_) {
      if (event.what == what) found.push_back(event);
    }
    return found;
  }
  bool await_events(What what, std::size_t count = 1) {
    return await([&] { return events(what).size() >= count; });
  }

  const std::unique_ptr<TestDatabase> database_ = GetParam().make();
  Jobs jobs_{Client(database_->new_client())};
  std::mutex mutex_;
  std::vector<JobEvent> events_;
};

JobId id_of(const EnqueueResult& result) { return std::get<Enqueued>(result).id; }

TEST_P(Work, a_job_runs_with_its_arguments_under_its_lock) {
  std::atomic<int> sum = 0;
  std::atomic<std::uint64_t> token = 0;
  std::atomic<bool> held = false;
  jobs_.define("Add", {.lock = JobLock{}}, [&](JobContext& context, const Args& args) {
    held = context.held() && context.lock_key() == "lock:Add:2-3" && context.attempt() == 1;
    token = to_number(context.token());
    sum = args.get<int>(0) + args.get<int>(1);
  });
  const JobId id = id_of(jobs_.enqueue("Add", Args::of(2, 3)));
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(await_events(What::done));
  EXPECT_EQ(sum, 5);
  EXPECT_TRUE(held);
  EXPECT_GT(token, 0u);
  EXPECT_EQ(jobs_.list({.id = id}).at(0).state, JobState::done);
  EXPECT_FALSE(jobs_.locked("lock:Add:2-3"));
}

TEST_P(Work, a_job_that_throws_is_tried_again_and_then_dead) {
  std::atomic<int> tries = 0;
  jobs_.define("Fail", {.max_attempts = 3, .backoff = 5ms}, [&](JobContext&, const Args&) {
    ++tries;
    throw std::runtime_error("no paper");
  });
  const JobId id = id_of(jobs_.enqueue("Fail"));
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(await_events(What::died));
  EXPECT_EQ(tries, 3);
  EXPECT_TRUE(await_events(What::failed, 2));  // another thread's word may come later
  EXPECT_EQ(events(What::failed).size(), 2u);
  const JobRow row = jobs_.list({.id = id}).at(0);
  EXPECT_EQ(row.state, JobState::dead);
  EXPECT_EQ(row.error, "no paper");
  EXPECT_EQ(row.attempt, 3);
}

TEST_P(Work, the_death_of_a_worker_is_no_attempt_of_its_job) {
  std::atomic<int> runs = 0;
  jobs_.define("Fail once", {.max_attempts = 2, .backoff = [](int) { return 0ms; }},
               [&](JobContext&, const Args&) {
                 if (++runs == 1) throw std::runtime_error("no");
               });
  const JobId id = id_of(jobs_.enqueue("Fail once"));
  const std::vector<std::string> queues{"default"};
  const Instant soon = BootClock::now() + 20s;
  const auto dead = database_->new_client()->jobs(soon).value();
  ASSERT_EQ(dead->claim({.queues = queues, .owner = {"dead"}, .ttl = 2ms}, soon).value().what,
            Claimed::What::running);
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(await([&] { return jobs_.list({.id = id}).at(0).finished_at.has_value(); }));
  const JobRow row = jobs_.list({.id = id}).at(0);
  EXPECT_EQ(row.state, JobState::done) << row.error;
  EXPECT_EQ(row.crashes, 1);
  EXPECT_EQ(row.attempt, 3);
  EXPECT_EQ(runs, 2);
}

TEST_P(Work, a_worker_that_had_nothing_to_do_runs_as_many_jobs_at_once_as_it_has_threads) {
  std::atomic<int> inside = 0, met = 0;
  jobs_.define("Meet", {.lock = JobLock{.limit = 0}}, [&](JobContext&, const Args&) {
    ++inside;
    if (await([&] { return inside == 3; })) ++met;
  });
  JobWorker worker(jobs_, quick(3));
  worker.wait_until_idle();
  for (int i = 0; i < 3; ++i) jobs_.enqueue("Meet", Args::of(i));
  ASSERT_TRUE(await_events(What::done, 3));
  EXPECT_EQ(met, 3);
}

TEST_P(Work, arguments_that_are_nested_too_deep_are_refused_and_kill_no_worker) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  std::atomic<int> ran = 0;
  jobs_.define("Deep", {.identifier = [](const Args&) { return "it"; }},
               [&](JobContext&, const Args&) { ++ran; });
  const std::string almost = std::string(99, '[') + std::string(99, ']');
  const auto refused = jobs_.try_enqueue("Deep", Args::of(std::vector{Json{almost}}));
  EXPECT_EQ(
      refused ? "" : refused.error().detail,
      "the list of arguments of Deep is nested deeper than 100 levels; pass the inner part as a string");

  // As another program would write the row.
  const Instant soon = BootClock::now() + 20s;
  const auto engine = database_->new_client()->jobs(soon).value();
  const JobId id = engine->enqueue({.name = "Deep", .args = deep, .key = "k"}, soon).value().id;
  jobs_.enqueue("Deep");
  JobWorker worker(jobs_, quick(1));
  ASSERT_TRUE(await_events(What::done));
  EXPECT_EQ(ran, 1);
  const JobRow row = jobs_.list({.id = id}).at(0);
  EXPECT_EQ(row.state, JobState::dead);
  EXPECT_EQ(row.args, deep);
  EXPECT_EQ(row.error, "its arguments cannot be read: " + std::string(60, '[') +
                           "… is nested deeper than 100 levels; pass the inner part as a string");
}

TEST_P(Work, no_two_jobs_of_a_key_run_at_once_and_those_that_wait_all_run) {
  std::atomic<int> inside = 0, most = 0, ran = 0;
  jobs_.define("One", {.lock = JobLock{}}, [&](JobContext&, const Args&) {
    const int now = ++inside;
    if (now > most) most = now;
    let_pass(1ms);
    ++ran;
    --inside;
  });
  for (int i = 0; i < 20; ++i) jobs_.enqueue("One", Args::of("same"));
  JobWorker worker(jobs_, quick(4));
  ASSERT_TRUE(await_events(What::done, 20));
  EXPECT_EQ(ran, 20);
  EXPECT_EQ(most, 1);
}

TEST_P(Work, a_dropped_job_says_who_had_the_lock) {
  Client other(database_->new_client());
  const Lease lease = other.acquire("lock:Drop:", {.owner = "olga"});
  jobs_.define("Drop", {.lock = JobLock::active_job_lock()}, [](JobContext&, const Args&) {});
  jobs_.enqueue("Drop");
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(await_events(What::dropped));
  EXPECT_EQ(events(What::dropped).at(0).detail, "olga");
}

TEST_P(Work, a_cancelled_job_is_asked_to_stop) {
  std::atomic<bool> stopped = false, refreshed = true;
  jobs_.define("Long", {.lock = JobLock{}}, [&](JobContext& context, const Args&) {
    stopped = await([&] { return context.stop_requested(); });
    refreshed = context.refresh_lock();
  });
  const JobId id = id_of(jobs_.enqueue("Long"));
  WorkerOptions options = quick();
  options.claim = 6s;
  JobWorker worker(jobs_, options);
  ASSERT_TRUE(await_events(What::started));
  jobs_.cancel(id);
  ASSERT_TRUE(await_events(What::cancelled));
  EXPECT_TRUE(stopped);
  EXPECT_FALSE(refreshed) << "its lock was lost with its claim";
}

TEST_P(Work, draining_hands_back_what_does_not_end) {
  jobs_.define("Long", {}, [&](JobContext& context, const Args&) {
    await([&] { return context.stop_requested(); });
    context.check();
  });
  const JobId id = id_of(jobs_.enqueue("Long"));
  {
    WorkerOptions options = quick();
    options.grace = 10ms;
    JobWorker worker(jobs_, options);
    ASSERT_TRUE(await_events(What::started));
  }
  EXPECT_GE(events(What::handed_back).size(), 1u);  // the other thread may have been about to claim it
  const JobRow row = jobs_.list({.id = id}).at(0);
  EXPECT_EQ(row.state, JobState::queued);
  EXPECT_EQ(row.attempt, 0);
  EXPECT_FALSE(jobs_.locked("lock:Long:"));
}

TEST_P(Work, a_worker_that_drains_leaves_a_job_its_grace) {
  std::atomic<bool> draining = false, stopped = false;
  jobs_.define("Long", {}, [&](JobContext& context, const Args&) {
    await([&] { return draining.load(); });
    let_pass(100ms);  // the stop would come at once
    stopped = context.stop_requested();
  });
  jobs_.enqueue("Long");
  {
    WorkerOptions options = quick();
    options.grace = 1min;
    JobWorker worker(jobs_, options);
    ASSERT_TRUE(await_events(What::started));
    worker.drain();
    draining = true;
  }
  EXPECT_FALSE(stopped);
  EXPECT_EQ(events(What::done).size(), 1u);
}

TEST_P(Work, a_worker_without_work_purges_what_is_over) {
  jobs_.define("Brief", {}, [](JobContext&, const Args&) {});
  jobs_.enqueue("Brief");
  WorkerOptions options = quick();
  options.purge_every = 1ms;
  options.purge = {.older_than = 0ms};
  JobWorker worker(jobs_, options);
  ASSERT_TRUE(await_events(What::done));
  EXPECT_TRUE(await([&] { return jobs_.list({}).empty(); }));
}

HOLDFAST_ON_STORES(Work, job_kinds());

}  // namespace
}  // namespace holdfast::test
