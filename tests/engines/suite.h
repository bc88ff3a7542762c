// SPDX-License-Identifier: Apache-2.0
// suite.h - short words for the tests of job engines: a worker asks a store one thing.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "holdfast/spi/job_engine.h"
#include "tests/conformance/suite.h"
#include "tests/support/databases.h"
#include "tests/support/trail.h"

namespace holdfast::test {

using EnqueueOutcome = EnqueueReply::What;
using Got = Claimed::What;

// One client of the database under test, with one connection for jobs.
class Hand {
 public:
  explicit Hand(TestDatabase& database)
      : store_(database.new_client()), engine_(store_->jobs(Caller::soon()).value()) {}

  EnqueueReply enqueue(const NewJob& job) { return engine_->enqueue(job, Caller::soon()).value(); }
  // A job that excludes others of its key, by default dropped if it cannot.
  EnqueueReply enqueue(std::string_view key, NewJob job = {}) {
    if (job.name.empty()) job.name = "Job";
    job.key = key;
    return enqueue(job);
  }
  EnqueueReply loner(std::string_view key, NewJob job = {}) {
    job.unique = Unique::loner;
    return enqueue(key, job);
  }
  Claimed claim(std::string_view owner, Millis ttl = 1h, std::vector<std::string> queues = {"default"},
                Millis longest_place = 0ms) {
    return engine_
        ->claim({.queues = queues, .owner = {owner}, .ttl = ttl, .longest_place = longest_place},
                Caller::soon())
        .value();
  }
  // A claim that has run out by the time this returns.
  Claimed claim_and_let_expire(std::string_view owner) {
    Claimed claimed = claim(owner, 2ms);
    let_pass(4ms);
    return claimed;
  }
  bool renew(JobId id, std::string_view owner, Millis ttl = 1h) {
    const ClaimRef ref{id, {owner}};
    bool held = false;
    engine_->renew({&ref, 1}, {&held, 1}, ttl, Caller::soon()).value();
    return held;
  }
  Finished finish(const Claimed& claimed, JobState to = JobState::done, Finish how = {}) {
    how.id = claimed.job.id;
    how.owner = {claimed.job.owner};
    how.to = to;
    how.lock = {claimed.job.lock};
    how.token = claimed.job.token;
    return engine_->finish(how, Caller::soon()).value();
  }
  JobRow row(JobId id) {
    auto rows = list({.id = id});
    EXPECT_EQ(rows.size(), 1u);
    return rows.empty() ? JobRow{} : rows.front();
  }
  std::vector<JobRow> list(const JobQuery& query) { return engine_->list(query, Caller::soon()).value(); }
  Result<JobRow> change(JobId id, JobChange what) {
    return engine_->change(id, what, "olga", Caller::soon());
  }
  TickRow take_tick(std::string_view name, std::int64_t tick) {
    return engine_->take_tick({.name = name, .tick = tick, .by = "me"}, Caller::soon()).value();
  }

  JobEngine& engine() { return *engine_; }

 private:
  const std::shared_ptr<Store> store_;
  const std::unique_ptr<JobEngine> engine_;
};

class Engine : public ::testing::TestWithParam<Kind> {
 protected:
  const std::unique_ptr<TestDatabase> database_ = GetParam().make();
  Hand a_{*database_}, b_{*database_};
  Caller lease_{*database_};  // a client that uses only leases
};

}  // namespace holdfast::test
