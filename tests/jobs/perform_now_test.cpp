// SPDX-License-Identifier: Apache-2.0
// A job here and now: the same lock, the same callbacks.
#include "tests/jobs/callbacks.h"

namespace holdfast::test {
namespace {

class PerformNow : public JobsAndCallbacks {};

TEST_P(PerformNow, runs_under_the_same_lock_and_says_so) {
  bool locked = false;
  const auto ran =
      jobs_.perform_now("Now", Args::of(1), {.lock = JobLock{}}, [&](JobContext& context, const Args&) {
        locked = context.held() && jobs_.locked("lock:Now:1").has_value() && context.id() == no_job;
      });
  EXPECT_TRUE(ran.ran);
  EXPECT_TRUE(locked);
  EXPECT_FALSE(jobs_.locked("lock:Now:1"));
}

TEST_P(PerformNow, that_is_refused_does_not_run_and_names_the_holder) {
  Client other(database_->new_client());
  const Lease lease = other.acquire("lock:Now:", {.owner = "olga"});
  const auto ran = jobs_.perform_now("Now", {}, told({}), stays());
  EXPECT_FALSE(ran.ran);
  EXPECT_EQ(ran.owner, "olga");
  EXPECT_EQ(failed_, 1);
  EXPECT_EQ(inside_, 0);
}

TEST_P(PerformNow, inside_of_itself_is_refused) {
  bool nested = true;
  const auto outer = jobs_.perform_now("Now", {}, told({}), [&](JobContext&, const Args&) {
    nested = jobs_.perform_now("Now", {}, told({}), stays()).ran;
  });
  EXPECT_TRUE(outer.ran);
  EXPECT_FALSE(nested);
  EXPECT_EQ(failed_, 1);
}

TEST_P(PerformNow, does_not_wait_for_the_job_that_calls_it) {
  const JobOptions waits{.lock = JobLock{}};
  const auto outer = jobs_.perform_now("Now", {}, waits, [&](JobContext&, const Args&) {
    EXPECT_THROW((void)jobs_.perform_now("Now", {}, waits, stays()), Failure);
    EXPECT_TRUE(jobs_.perform_now("Now", Args::of(2), waits, [](JobContext&, const Args&) {}).ran);
  });
  EXPECT_TRUE(outer.ran);
  EXPECT_EQ(inside_, 0);
}

TEST_P(PerformNow, excludes_a_job_of_the_queue) {
  jobs_.define("Now", told({}), stays());
  jobs_.enqueue("Now");
  (void)jobs_.perform_now("Now", {}, {.lock = JobLock{}}, [&](JobContext&, const Args&) {
    JobWorker worker(jobs_, quick());
    EXPECT_TRUE(events_.await(What::dropped));
  });
  EXPECT_EQ(inside_, 0);
  EXPECT_EQ(failed_, 1);
}

TEST_P(PerformNow, passes_on_what_is_thrown_and_releases) {
  EXPECT_THROW((void)jobs_.perform_now("Now", {}, {.lock = JobLock{}},
                                       [](JobContext&, const Args&) { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_FALSE(jobs_.locked("lock:Now:"));
}

TEST_P(PerformNow, reports_that_its_lock_expired) {
  const JobFunction outlives = [&](JobContext&, const Args&) {
    EXPECT_TRUE(await([&] { return !jobs_.locked("lock:Now:"); }));
  };
  EXPECT_TRUE(await([&] {  // the lock of one so short is asked for until it comes in time
    try {
      return jobs_.perform_now("Now", {}, told({.timeout = 1s}), outlives).ran;
    } catch (const Failure&) {
      return false;
    }
  }));
  EXPECT_EQ(expired_, 1);
}

TEST_P(PerformNow, a_timeout_below_zero_is_none) {
  JobOptions options;
  options.lock_timeout = [](const Args&) { return -1s; };
  const auto ran = jobs_.perform_now(
      "Now", {}, options, [](JobContext& context, const Args&) { EXPECT_TRUE(context.refresh_lock()); });
  EXPECT_TRUE(ran.ran);
  EXPECT_FALSE(row(id_of(jobs_.try_enqueue("Now", {}, options).value())).lock_fixed);
}

TEST_P(PerformNow, with_options_that_make_no_sense_does_not_run) {
  EXPECT_THROW((void)jobs_.perform_now("Now", {}, {.lock = JobLock{.limit = -1}}, stays()), Failure);
  EXPECT_THROW((void)jobs_.perform_now("", {}, {}, stays()), Failure);
  EXPECT_EQ(inside_, 0);
}

HOLDFAST_ON_STORES(PerformNow, job_kinds());

}  // namespace
}  // namespace holdfast::test
