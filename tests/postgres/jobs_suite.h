// SPDX-License-Identifier: Apache-2.0
// jobs_suite.h - engines of ours on one set of tables of a real server.
#pragma once
#include <string>
#include <vector>

#include "holdfast/job_engine.h"
#include "tests/postgres/suite.h"

namespace holdfast::test {

using Told = EnqueueReply::What;
using Got = Claimed::What;

inline NewJob job_of(std::string_view key, NewJob job = {}) {
  if (job.name.empty()) job.name = "Job";
  job.key = key;
  return job;
}
inline NewJob loner_of(std::string_view key) { return job_of(key, {.unique = Unique::until_end}); }

inline Finish done(const Claimed& claimed) {
  return {.id = claimed.job.id,
          .holder = {claimed.job.holder},
          .to = JobState::done,
          .lock = {claimed.job.lock},
          .token = claimed.job.token};
}

// One client of ours, with one connection for jobs.
class Worker {
 public:
  explicit Worker(const std::string& url)
      : origin_(try_origin(url).value()), engine_(origin_->jobs(soon()).value()) {}

  EnqueueReply enqueue(const NewJob& job) { return engine_->enqueue(job, soon()).value(); }
  Result<Claimed> try_claim(std::string_view holder, Millis ttl = 1h, Instant until = soon()) {
    const std::vector<std::string> queues = {"default"};
    return engine_->claim({.queues = queues, .holder = {holder}, .ttl = ttl}, until);
  }
  Claimed claim(std::string_view holder, Millis ttl = 1h) { return try_claim(holder, ttl).value(); }
  Finished finish(const Claimed& claimed) { return engine_->finish(done(claimed), soon()).value(); }
  std::vector<JobRow> list(const JobQuery& query = {}) { return engine_->list(query, soon()).value(); }
  JobRow row(JobId id) { return list({.id = id}).at(0); }
  JobEngine& operator*() { return *engine_; }
  JobEngine* operator->() { return engine_.get(); }

 private:
  const std::shared_ptr<Origin> origin_;
  const std::unique_ptr<JobEngine> engine_;
};

class JobsTest : public PostgresTest {
 protected:
  JobsTest() { make_tables(url()); }
};

}  // namespace holdfast::test
