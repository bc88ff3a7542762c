// SPDX-License-Identifier: Apache-2.0
// What an observer hears of jobs, their locks and their store.
#include <atomic>
#include <stdexcept>

#include "tests/jobs/suite.h"
#include "tests/support/recorder.h"

namespace holdfast::test {
namespace {

class ObservedJobs : public JobsOn {
 protected:
  const std::shared_ptr<Recorder> seen_ = std::make_shared<Recorder>();
  Jobs observed_{Client(database_->new_client(), {.observer = seen_})};
};

TEST_P(ObservedJobs, an_observer_gets_the_events_of_every_worker_and_the_lock_as_a_lease) {
  std::atomic<Token> token = no_token;
  const JobOptions once{.lock = JobLock{}, .max_attempts = 1};
  observed_.define("Good", once, [&](JobContext& context, const Args&) { token = context.token(); });
  observed_.define("Bad", once, [](JobContext&, const Args&) { throw std::runtime_error("no"); });
  observed_.enqueue("Good", Args::of(1));
  observed_.enqueue("Bad", Args::of(1));
  {
    JobWorker worker(observed_, quick());
    ASSERT_TRUE(events_.await(What::done));
    ASSERT_TRUE(events_.await(What::died));
  }
  EXPECT_EQ(seen_->count("job", "started"), 2u);
  EXPECT_EQ(seen_->count("job", "done"), 1u);
  EXPECT_EQ(seen_->count("job", "died"), 1u);
  EXPECT_EQ(seen_->of("job", "done")[0].key, "lock:Good:1");
  const auto acquired = seen_->of("acquired");
  ASSERT_EQ(acquired.size(), 2u) << "the locks, and not the claims";
  EXPECT_EQ(seen_->count("released"), 2u);
  for (const Recorded& lock : acquired) {
    if (lock.key == "lock:Good:1") {
      EXPECT_EQ(lock.token, token.load());
    }
  }
  EXPECT_GE(seen_->count("store call", "jobs"), 4u);
}

TEST_P(ObservedJobs, the_claim_of_a_job_is_not_a_lease) {
  observed_.define("Slow", {.lock = JobLock{.limit = 0}}, [](JobContext& context, const Args&) {
    const Instant claimed = context.deadline();
    EXPECT_TRUE(await([&] { return context.deadline() > claimed; }));
  });
  observed_.enqueue("Slow");
  {
    WorkerOptions options = quick();
    options.claim = 900ms;
    JobWorker worker(observed_, options);
    ASSERT_TRUE(await([&] { return events_.count(What::done) + events_.count(What::lost) > 0; }));
  }
  for (const char* event : {"acquired", "renewed", "released", "lost", "jeopardy"})
    EXPECT_EQ(seen_->count(event), 0u) << event;
}

HOLDFAST_ON_STORES(ObservedJobs, job_kinds());

}  // namespace
}  // namespace holdfast::test
