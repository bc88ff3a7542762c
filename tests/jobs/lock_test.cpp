// SPDX-License-Identifier: Apache-2.0
// The lock of a job: when there is one, how long it lasts, and who can break it.
#include <thread>

#include "tests/jobs/callbacks.h"

namespace holdfast::test {
namespace {

class JobLocks : public JobsAndCallbacks {};

TEST_P(JobLocks, a_job_without_a_limit_has_none) {
  std::atomic<int> with_a_lock = 0;
  const JobOptions options = told({.limit = 0});
  jobs_.define("Free", options, [&](JobContext& context, const Args&) {
    with_a_lock += !context.lock_key().empty() || to_number(context.token()) != 0;
    ++inside_;
    await([&] { return go_.load(); });
  });
  Client other(database_->new_client());
  const Lease lease = other.acquire("lock:Free:", {.owner = "olga"});
  for (int i = 0; i < 3; ++i) jobs_.enqueue("Free");
  JobWorker worker(jobs_, quick(3));
  EXPECT_TRUE(await_inside(3)) << "all at once, whoever has a lease of that name";
  EXPECT_EQ(jobs_.locked("lock:Free:").value().owner, "olga");
  go_ = true;
  EXPECT_TRUE(events_.await(What::done, 3));
  EXPECT_EQ(with_a_lock, 0);
  EXPECT_EQ(failed_, 0);
}

TEST_P(JobLocks, each_that_runs_has_a_token_above_the_last) {
  std::mutex mutex;
  std::vector<Token> tokens;
  const JobFunction notes = [&](JobContext& context, const Args&) {
    const std::lock_guard lock(mutex);
    tokens.push_back(context.token());
  };
  jobs_.define("Next", {.lock = JobLock{}}, notes);
  for (int i = 0; i < 4; ++i) jobs_.enqueue("Next");
  JobWorker worker(jobs_, quick(3));
  ASSERT_TRUE(events_.await(What::done, 4));
  EXPECT_TRUE(jobs_.perform_now("Next", {}, {.lock = JobLock{}}, notes).ran);
  ASSERT_EQ(tokens.size(), 5u);
  EXPECT_GT(to_number(tokens.front()), 0u);
  for (std::size_t i = 1; i < tokens.size(); ++i) EXPECT_GT(tokens[i], tokens[i - 1]) << i;
}

TEST_P(JobLocks, what_is_left_of_one_with_a_timeout_only_falls) {
  std::atomic<int> rises = 0, falls = 0;
  jobs_.define("Timed", told({.timeout = 3s}), [&](JobContext&, const Args&) {
    Millis left = 3s;
    EXPECT_TRUE(await([&] {
      const auto lock = jobs_.locked("lock:Timed:");
      const Millis now = lock ? lock->remaining : 0ms;
      rises += now > left;
      falls += now < left;
      left = now;
      return !lock;
    })) << "nobody renews it";
  });
  jobs_.enqueue("Timed");
  JobWorker worker(jobs_, quick(1));
  ASSERT_TRUE(events_.await(What::expired));
  EXPECT_EQ(rises, 0);
  EXPECT_GT(falls, 1);
}

TEST_P(JobLocks, of_several_each_unlock_takes_one_away) {
  const JobOptions options = told({.limit = 3});
  jobs_.define("Several", options, stays());
  for (int i = 0; i < 3; ++i) jobs_.enqueue("Several", {}, options);
  JobWorker worker(jobs_, quick(3));
  ASSERT_TRUE(await_inside(3));
  std::vector<std::string> owners;
  for (const JobRow& job : jobs_.list()) owners.push_back(job.owner);
  for (int left = 3; left > 0; --left) {
    const std::string who = jobs_.unlock("lock:Several:", {.by = "me", .reason = "test"}, options);
    EXPECT_EQ(std::erase(owners, who), 1u) << who;
  }
  EXPECT_EQ(jobs_.unlock("lock:Several:", {.by = "me", .reason = "test"}, options), "");
  go_ = true;
  EXPECT_TRUE(events_.await(What::expired, 3));
}

TEST_P(JobLocks, options_that_make_no_sense_are_thrown_by_enqueue) {
  EXPECT_THROW(jobs_.enqueue("Job", {}, {.lock = JobLock{.limit = -1}}), Failure);
  EXPECT_EQ(row(id_of(jobs_.enqueue("Job", {}, {.priority = 7}))).priority, 7);
}

// What a user's function owns may do anything as it goes: nothing of ours is locked by then.
TEST_P(JobLocks, a_definition_that_is_replaced_goes_when_others_may_ask_again) {
  std::atomic<int> in_time = 0;
  std::vector<std::thread> others;
  struct Goes {
    std::function<void()> then;
    ~Goes() { then(); }
  };
  const auto one = [&] {
    auto owned = std::make_shared<Goes>([&] {
      const auto asked = std::make_shared<std::atomic<bool>>(false);
      others.emplace_back([this, asked] {
        jobs_.refresh_lock("lock:Job:");
        *asked = true;
      });
      in_time += await([&] { return asked->load(); });
    });
    return JobFunction([owned](JobContext&, const Args&) {});
  };
  jobs_.define("Job", {}, one()).define("Job", {}, {});
  jobs_.define_others(one()).define_others({});
  EXPECT_EQ(in_time, 2);
  for (std::thread& other : others) other.join();
}

HOLDFAST_ON_STORES(JobLocks, job_kinds());

}  // namespace
}  // namespace holdfast::test
