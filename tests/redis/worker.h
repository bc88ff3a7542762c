// SPDX-License-Identifier: Apache-2.0
// worker.h - short words for the tests of jobs in Redis: a worker asks an engine one thing.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/spi/job_engine.h"
#include "tests/redis/suite.h"

namespace holdfast::test {

using EnqueueOutcome = EnqueueReply::What;
using Got = Claimed::What;

// One client with one connection for jobs.
class Worker {
 public:
  explicit Worker(std::shared_ptr<Store> store)
      : store_(std::move(store)), engine_(store_->jobs(soon()).value()) {}
  explicit Worker(const std::string& url) : Worker(try_store(url).value()) {}

  Result<EnqueueReply> try_enqueue(std::string_view key, NewJob job = {}) {
    if (job.name.empty()) job.name = "Job";
    job.key = key;
    return engine_->enqueue(job, soon());
  }
  EnqueueReply enqueue(std::string_view key, NewJob job = {}) { return try_enqueue(key, job).value(); }
  EnqueueReply loner(std::string_view key, NewJob job = {}) {
    job.unique = Unique::loner;
    return enqueue(key, job);
  }
  Result<Claimed> try_claim(std::string_view owner, Millis ttl = 1h,
                            std::vector<std::string> queues = {"default"}) {
    return engine_->claim({.queues = queues, .owner = {owner}, .ttl = ttl}, soon());
  }
  Claimed claim(std::string_view owner, Millis ttl = 1h, std::vector<std::string> queues = {"default"}) {
    return try_claim(owner, ttl, std::move(queues)).value();
  }
  Result<bool> try_renew(const Claimed& claimed) {
    const ClaimRef ref{claimed.job.id, {claimed.job.owner}};
    bool held = false;
    if (Status s = engine_->renew({&ref, 1}, {&held, 1}, 2h, soon()); !s) return std::move(s).error();
    return held;
  }
  Result<Finished> try_finish(const Claimed& claimed, JobState to = JobState::done, Finish how = {}) {
    how.id = claimed.job.id;
    how.owner = {claimed.job.owner};
    how.to = to;
    how.lock = {claimed.job.lock};
    how.token = claimed.job.token;
    return engine_->finish(how, soon());
  }
  Finished finish(const Claimed& claimed, JobState to = JobState::done, Finish how = {}) {
    return try_finish(claimed, to, how).value();
  }
  std::vector<JobRow> list(const JobQuery& query) { return engine_->list(query, soon()).value(); }
  JobRow row(JobId id) { return list({.id = id}).at(0); }
  Result<JobRow> change(JobId id, JobChange what) { return engine_->change(id, what, "olga", soon()); }

  JobEngine& engine() { return *engine_; }

 private:
  const std::shared_ptr<Store> store_;
  const std::unique_ptr<JobEngine> engine_;
};

}  // namespace holdfast::test
