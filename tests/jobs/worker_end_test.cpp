// SPDX-License-Identifier: Apache-2.0
// How a worker ends, and what its jobs see of that.
#include <gtest/gtest.h>

#include <atomic>

#include "holdfast/job_worker.h"
#include "holdfast/spi/job_engine.h"
#include "tests/support/await.h"
#include "tests/support/databases.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class WorkEnds : public ::testing::TestWithParam<Kind> {
 protected:
  const std::unique_ptr<TestDatabase> database_ = GetParam().make();
  Jobs jobs_{Client(database_->new_client())};
};

TEST_P(WorkEnds, stop_does_not_wait_for_the_grace_and_the_job_is_handed_back) {
  std::atomic<bool> running = false, was_in_time = false;
  std::string queue;
  jobs_.define("Long", {.queue = "slow"}, [&](JobContext& context, const Args&) {
    queue = context.queue();
    was_in_time = context.deadline() > BootClock::now();
    running = true;
    await([&] { return context.deadline() <= BootClock::now(); });
    context.check();
  });
  jobs_.enqueue("Long");
  JobWorker worker(jobs_, {.queues = {"slow"}, .poll = 10ms, .grace = 1h});
  ASSERT_TRUE(await([&] { return running.load(); }));
  worker.drain();
  worker.stop();
  worker.wait();
  EXPECT_TRUE(was_in_time);
  EXPECT_EQ(queue, "slow");
  const JobRow row = jobs_.list().at(0);
  EXPECT_EQ(row.state, JobState::queued);
  EXPECT_EQ(row.attempt, 0);
}

TEST_P(WorkEnds, the_end_of_a_lock_with_a_timeout_is_not_the_end_of_the_job) {
  std::atomic<bool> lock_ended = false, was_told = false, may_go_on = false;
  jobs_.define("Slow", {.lock = JobLock{.timeout = 50ms}}, [&](JobContext& context, const Args&) {
    const std::stop_token stop = context.stop_token();
    lock_ended = await([&] { return !context.held(); });
    was_told = await([&] { return stop.stop_requested() && context.stop_requested(); });
    may_go_on = context.deadline() > BootClock::now();
  });
  const auto told = jobs_.enqueue("Slow");
  JobWorker worker(jobs_, {.poll = 10ms});
  worker.wait_until_idle();
  EXPECT_TRUE(lock_ended);
  EXPECT_TRUE(was_told);
  EXPECT_TRUE(may_go_on);
  const JobRow row = jobs_.list({.id = std::get<Enqueued>(told).id}).at(0);
  EXPECT_EQ(row.state, JobState::done);
  EXPECT_EQ(row.attempt, 1);
  EXPECT_EQ(row.error, "");
}

TEST_P(WorkEnds, a_lock_without_a_timeout_is_renewed_as_long_as_the_job_runs) {
  std::atomic<bool> renewed = false, ours = false;
  jobs_.define("Long", {}, [&](JobContext& context, const Args&) {
    const Instant would_have_ended = context.deadline();
    renewed = await([&] { return BootClock::now() > would_have_ended + 500ms; }) && context.held();
    const auto lock = jobs_.locked("lock:Long:");
    ours = lock && lock->token == context.token();
  });
  // As every such job, but of a lease that does not take thirty seconds.
  const auto store = database_->new_client();
  const Instant soon = BootClock::now() + 20s;
  const NewJob job{.name = "Long", .args = "[]", .key = "lock:Long:", .lock_ttl = 6s};
  store->jobs(soon).value()->enqueue(job, soon).value();
  JobWorker worker(jobs_, {.poll = 10ms});
  worker.wait_until_idle();
  EXPECT_TRUE(renewed);
  EXPECT_TRUE(ours);
  EXPECT_FALSE(jobs_.locked("lock:Long:"));
}

TEST_P(WorkEnds, a_worker_is_not_idle_before_it_has_done_what_its_jobs_have_added) {
  std::atomic<int> done = 0;
  jobs_.define("Chain", {}, [&](JobContext&, const Args& args) {
    const int left = args.get<int>(0);
    if (left > 0) jobs_.enqueue("Chain", Args::of(left - 1));
    ++done;
  });
  jobs_.enqueue("Chain", Args::of(20));
  JobWorker worker(jobs_, {.threads = 4, .poll = 1ms});
  worker.wait_until_idle();
  EXPECT_EQ(done, 21);
}

HOLDFAST_ON_STORES(WorkEnds, job_kinds());

}  // namespace
}  // namespace holdfast::test
