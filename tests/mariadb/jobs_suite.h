// SPDX-License-Identifier: Apache-2.0
// jobs_suite.h - engines of ours on one database of a real MariaDB, and of a MySQL.
#pragma once
#include "holdfast/spi/job_engine.h"
#include "tests/mariadb/suite.h"

namespace holdfast::test {

// One client with one connection for jobs.
class Worker {
 public:
  explicit Worker(const std::string& url)
      : store_(try_store(url).value()), engine_(store_->jobs(soon()).value()) {}

  EnqueueReply enqueue(std::string_view key, NewJob job = {}) {
    job.name = "Job";
    job.key = key;
    return engine_->enqueue(job, late()).value();
  }
  EnqueueReply loner(std::string_view key) { return enqueue(key, {.unique = Unique::loner}); }
  Result<Claimed> try_claim(std::string_view owner, Instant until = late()) {
    static const std::vector<std::string> queues = {"default"};
    return engine_->claim({.queues = queues, .owner = {owner}, .ttl = 1h}, until);
  }
  Claimed claim(std::string_view owner) { return try_claim(owner).value(); }
  Result<Finished> try_finish(const Claimed& claimed) {
    return engine_->finish({.id = claimed.job.id,
                            .owner = {claimed.job.owner},
                            .to = JobState::done,
                            .lock = {claimed.job.lock},
                            .token = claimed.job.token},
                           late());
  }
  Finished finish(const Claimed& claimed) { return try_finish(claimed).value(); }
  JobRow row(JobId id) { return engine_->list({.id = id}, soon()).value().at(0); }
  JobEngine& engine() { return *engine_; }

 private:
  // Forty at once on a loaded machine.
  static Instant late() { return BootClock::now() + 60s; }

  const std::shared_ptr<Store> store_;
  const std::unique_ptr<JobEngine> engine_;
};

}  // namespace holdfast::test
