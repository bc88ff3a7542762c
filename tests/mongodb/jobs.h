// SPDX-License-Identifier: Apache-2.0
// jobs.h - short words for the tests of jobs in MongoDB.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/spi/job_engine.h"
#include "tests/mongodb/suite.h"

namespace holdfast::test {

using EnqueueOutcome = EnqueueReply::What;
using Got = Claimed::What;

// One client with one connection for jobs.
class Worker {
 public:
  explicit Worker(const std::string& url)
      : store_(try_store(url).value()), engine_(store_->jobs(soon()).value()) {}

  Result<EnqueueReply> try_enqueue(std::string_view key, NewJob job = {}, Instant until = soon()) {
    if (job.name.empty()) job.name = "Job";
    job.key = key;
    return engine_->enqueue(job, until);
  }
  EnqueueReply enqueue(std::string_view key, NewJob job = {}) { return try_enqueue(key, job).value(); }

  Result<Claimed> try_claim(std::string_view owner, Millis ttl = 1h, Instant until = soon()) {
    const std::vector<std::string> queues{"default"};
    return engine_->claim({.queues = queues, .owner = {owner}, .ttl = ttl}, until);
  }
  Claimed claim(std::string_view owner, Millis ttl = 1h) { return try_claim(owner, ttl).value(); }

  Result<Finished> try_finish(const Claimed& claimed, JobState to = JobState::done, Instant until = soon()) {
    return engine_->finish({.id = claimed.job.id,
                            .owner = {claimed.job.owner},
                            .to = to,
                            .lock = {claimed.job.lock},
                            .token = claimed.job.token},
                           until);
  }
  Finished finish(const Claimed& claimed) { return try_finish(claimed).value(); }

  bool renew(const Claimed& claimed, Millis ttl = 1h) {
    const ClaimRef ref{claimed.job.id, {claimed.job.owner}};
    bool held = false;
    engine_->renew({&ref, 1}, {&held, 1}, ttl, soon()).value();
    return held;
  }
  std::vector<JobRow> list(const JobQuery& query) { return engine_->list(query, soon()).value(); }
  JobRow row(JobId id) { return list({.id = id}).at(0); }

  JobEngine& engine() { return *engine_; }

 private:
  const std::shared_ptr<Store> store_;
  const std::unique_ptr<JobEngine> engine_;
};

inline std::string text(JobId id) { return std::to_string(to_number(id)); }

}  // namespace holdfast::test
