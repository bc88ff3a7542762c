// SPDX-License-Identifier: Apache-2.0
// The defaults of a job: no lock, retries, and all options resolved when it is enqueued.
#include "holdfast/memory.h"
#include "tests/jobs/callbacks.h"

namespace holdfast::test {
namespace {

class JobDefaults : public JobsAndCallbacks {};

TEST_P(JobDefaults, a_job_that_declares_no_lock_has_none_and_every_copy_runs) {
  if (is_beside_active_job_lock()) {  // there every job has one
    EXPECT_EQ(row(id_of(jobs_.enqueue("Mail", Args::of(7)))).limit, 1);
    return;
  }
  jobs_.define("Mail", {}, stays());
  std::vector<JobId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(id_of(jobs_.enqueue("Mail", Args::of(7))));
  const JobRow made = row(ids.front());
  EXPECT_EQ(made.limit, 0);
  EXPECT_EQ(made.unique, Unique::no);
  EXPECT_EQ(made.max_attempts, 25);
  EXPECT_EQ(made.key, "lock:Mail:7") << "a label";
  JobWorker worker(jobs_, quick(3));
  ASSERT_TRUE(await_inside(3));
  EXPECT_EQ(row(ids.back()).lock, "");
  EXPECT_FALSE(jobs_.locked("lock:Mail:7"));
  go_ = true;
  ASSERT_TRUE(events_.await(What::done, 3));
  EXPECT_EQ(ran_, 3);
}

TEST_P(JobDefaults, of_three_that_declare_a_lock_one_runs_at_a_time_and_the_others_wait) {
  jobs_.define("Mail", {.lock = JobLock{}}, stays());
  std::vector<JobId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(id_of(jobs_.enqueue("Mail", Args::of(7))));
  EXPECT_EQ(row(ids.front()).on_conflict, OnConflict::wait);
  JobWorker worker(jobs_, quick(3));
  ASSERT_TRUE(await_inside(1));
  ASSERT_TRUE(await([&] { return row(ids[1]).parked && row(ids[2]).parked; }));
  EXPECT_EQ(inside_, 1);
  go_ = true;
  ASSERT_TRUE(events_.await(What::done, 3));
  EXPECT_EQ(ran_, 3);
}

TEST_P(JobDefaults, arguments_that_make_no_key_are_taken_without_a_lock_and_refused_with_one) {
  const Args lists = Args::of(std::vector<int>{1, 2}), long_text = Args::of(std::string(10'000, 'x'));
  for (const Args& args : {lists, long_text}) {
    const auto without = jobs_.try_enqueue("Mail", args);
    EXPECT_EQ(without.has_value(), !is_beside_active_job_lock()) << "there every job has one";
    if (without) {
      EXPECT_EQ(row(id_of(*without)).key, "lock:Mail");
    }
    EXPECT_EQ(jobs_.try_enqueue("Mail", args, {.lock = JobLock{}}).error().code, Errc::invalid);
  }
}

TEST_P(JobDefaults, a_lock_failed_that_would_never_be_called_is_refused) {
  JobOptions options{.lock = JobLock{}};
  options.lock_failed = [](JobContext&, const Args&) {};
  const auto refused = jobs_.try_enqueue("Waits", {}, options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().detail.find("JobLock::active_job_lock()"), std::string::npos)
      << refused.error().detail;
}

// A worker of another version defines the job otherwise: the row counts.
TEST_P(JobDefaults, what_was_resolved_at_enqueue_counts_and_not_what_the_worker_defines) {
  Client locks(memory::store(memory::make_database()));
  JobOptions enqueued{.lock = JobLock::active_job_lock(), .lock_store = locks}, defined = enqueued;
  defined.lock->on_conflict = OnConflict::wait;
  const JobId id = id_of(jobs_.enqueue("Elsewhere", {}, enqueued));
  jobs_.define("Elsewhere", defined, stays());
  const Lease lease = locks.acquire(row(id).key);
  JobWorker worker(jobs_, quick());
  EXPECT_TRUE(await_state(id, JobState::dropped));
}

HOLDFAST_ON_STORES(JobDefaults, job_kinds());

}  // namespace
}  // namespace holdfast::test
