// SPDX-License-Identifier: Apache-2.0
// jobs_suite.h - engines of ours on one set of tables of a real server.
#pragma once
#include <string>
#include <vector>

#include "holdfast/spi/job_engine.h"
#include "tests/postgres/suite.h"

namespace holdfast::test {

using EnqueueOutcome = EnqueueReply::What;
using Got = Claimed::What;

inline NewJob job_of(std::string_view key, NewJob job = {}) {
  if (job.name.empty()) job.name = "Job";
  job.key = key;
  return job;
}
inline NewJob loner_of(std::string_view key) { return job_of(key, {.unique = Unique::loner}); }

inline Finish done(const Claimed& claimed) {
  return {.id = claimed.job.id,
          .owner = {claimed.job.owner},
          .to = JobState::done,
          .lock = {claimed.job.lock},
          .token = claimed.job.token};
}

// One client of ours, with one connection for jobs.
class Worker {
 public:
  explicit Worker(const std::string& url)
      : store_(try_store(url).value()), engine_(store_->jobs(soon()).value()) {}

  EnqueueReply enqueue(const NewJob& job) { return engine_->enqueue(job, soon()).value(); }
  Result<Claimed> try_claim(std::string_view owner, Millis ttl = 1h, Instant until = soon()) {
    const std::vector<std::string> queues = {"default"};
    return engine_->claim({.queues = queues, .owner = {owner}, .ttl = ttl}, until);
  }
  Claimed claim(std::string_view owner, Millis ttl = 1h) { return try_claim(owner, ttl).value(); }
  Finished finish(const Claimed& claimed) { return engine_->finish(done(claimed), soon()).value(); }
  std::vector<JobRow> list(const JobQuery& query = {}) { return engine_->list(query, soon()).value(); }
  JobRow row(JobId id) { return list({.id = id}).at(0); }
  JobEngine& operator*() { return *engine_; }
  JobEngine* operator->() { return engine_.get(); }

 private:
  const std::shared_ptr<Store> store_;
  const std::unique_ptr<JobEngine> engine_;
};

// Enqueue, claim, park, recover, finish, change, ticks and purge, a few times over.
inline void use_all_of_jobs(const std::string& url) {
  Worker a(url), b(url);
  Ours ours(url);
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i), l = "l" + n;
    const JobId first = a.enqueue(job_of("k", {.on_conflict = OnConflict::wait})).id;
    const JobId second = a.enqueue(job_of("k", {.on_conflict = OnConflict::wait})).id;
    const Claimed one = a.claim("w1." + n, 2ms);
    ASSERT_EQ(one.job.id, first);
    let_pass(4ms);
    const Claimed again = b.claim("w2." + n);
    ASSERT_EQ(again.job.id, first);
    EXPECT_TRUE(again.recovered);
    EXPECT_EQ(a.claim("w3." + n).what, Got::nothing);
    EXPECT_TRUE(a.row(second).parked);
    const std::string owner = "w2." + n;
    const ClaimRef ref{first, {owner}};
    bool held = false;
    ASSERT_TRUE(a->renew({&ref, 1}, {&held, 1}, 1h, soon()));
    EXPECT_TRUE(held);
    EXPECT_TRUE(b.finish(again).released);
    EXPECT_EQ(a.claim("w4." + n).job.id, second);
    EXPECT_TRUE(a->change(second, JobChange::cancel, "olga", soon()));
    ours.release("k", "w4." + n);
    EXPECT_TRUE(a->change(second, JobChange::retry, "olga", soon()));
    EXPECT_TRUE(a.finish(a.claim("w5." + n)).finished);

    EXPECT_EQ(a.enqueue(loner_of(l)).what, EnqueueOutcome::enqueued);
    EXPECT_EQ(b.enqueue(loner_of(l)).what, EnqueueOutcome::duplicate);
    const NewJob replaces = job_of(l, {.on_conflict = OnConflict::replace, .unique = Unique::loner});
    EXPECT_EQ(b.enqueue(replaces).what, EnqueueOutcome::replaced);
    EXPECT_EQ(b.finish(b.claim("w6." + n)).released, true);
    EXPECT_EQ(a.enqueue(job_of("t", {.limit = 3, .tick_name = "t", .tick = i})).what,
              EnqueueOutcome::enqueued);
    EXPECT_EQ(a.enqueue(job_of("t", {.limit = 3, .tick_name = "t", .tick = i})).what,
              EnqueueOutcome::duplicate);
    EXPECT_EQ(a.enqueue(job_of("t", {.limit = 3, .tick_name = "w", .window = 24h * 36500})).what,
              i == 0 ? EnqueueOutcome::enqueued : EnqueueOutcome::duplicate);
    while (a.claim("w7").what == Got::running) {
    }
    EXPECT_TRUE(a->take_tick({.name = "r", .tick = i, .by = "me"}, soon())->taken);
    EXPECT_FALSE(a->take_tick({.name = "r", .tick = i, .by = "me"}, soon())->taken);
    EXPECT_TRUE(a->note_success("r", "me", soon()));
    EXPECT_TRUE(a->purge({.older_than = 1ms}, soon()));
    a.list();
  }
}

class JobsTest : public PostgresTest {
 protected:
  JobsTest() { make_tables(url()); }
};

}  // namespace holdfast::test
