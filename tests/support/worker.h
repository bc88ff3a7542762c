// SPDX-License-Identifier: Apache-2.0
// worker.h - short words for tests of jobs: a worker asks a job engine one thing.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/client.h"
#include "holdfast/spi/job_engine.h"
#include "tests/support/await.h"
#include "tests/support/databases.h"

namespace holdfast::test {

using namespace std::chrono_literals;

using EnqueueOutcome = EnqueueReply::What;
using Got = Claimed::What;

// A job whose lock has this key, called "Job" unless it has a name.
inline NewJob job_of(std::string_view key, NewJob job = {}) {
  if (job.name.empty()) job.name = "Job";
  job.key = key;
  return job;
}
// One that excludes others of its key, by default dropped if it cannot.
inline NewJob loner_of(std::string_view key, NewJob job = {}) {
  job.unique = Unique::loner;
  return job_of(key, job);
}

// The end of a claim, which has to outlive it.
inline Finish ended(const Claimed& claimed, JobState to, Finish how = {}) {
  how.id = claimed.job.id;
  how.owner = {claimed.job.owner};
  how.to = to;
  how.lock = {claimed.job.lock};
  how.token = claimed.job.token;
  return how;
}
inline Finish done(const Claimed& claimed) { return ended(claimed, JobState::done); }

// One client with one connection for jobs.  What a `try_` function returns as an error, the others throw.
class Worker {
 public:
  explicit Worker(std::shared_ptr<Store> store)
      : store_(std::move(store)), engine_(store_->jobs(soon()).value()) {}
  explicit Worker(const std::string& url) : Worker(try_store(url).value()) {}
  explicit Worker(TestDatabase& database) : Worker(database.new_client()) {}

  EnqueueReply enqueue(const NewJob& job) { return engine_->enqueue(job, late()).value(); }
  EnqueueReply enqueue(std::string_view key, const NewJob& job = {}) { return enqueue(job_of(key, job)); }
  EnqueueReply loner(std::string_view key, const NewJob& job = {}) { return enqueue(loner_of(key, job)); }

  Result<Claimed> try_claim(std::string_view owner, Millis ttl = 1h, Instant until = soon()) {
    const std::vector<std::string> queues = {"default"};
    return engine_->claim({.queues = queues, .owner = {owner}, .ttl = ttl}, until);
  }
  Claimed claim(std::string_view owner = "w", Millis ttl = 1h,
                const std::vector<std::string>& queues = {"default"}, Millis longest_place = 0ms) {
    return engine_
        ->claim({.queues = queues, .owner = {owner}, .ttl = ttl, .longest_place = longest_place}, late())
        .value();
  }
  // A claim that has run out by the time this returns.
  Claimed claim_and_let_expire(std::string_view owner) {
    Claimed claimed = claim(owner, 2ms);
    let_pass(4ms);
    return claimed;
  }
  bool renew(JobId id, std::string_view owner, Millis ttl = 1h) {
    const ClaimRef ref{id, {owner}, ttl};
    ClaimReply reply;
    engine_->renew({&ref, 1}, {&reply, 1}, late()).value();
    return reply.held;
  }
  Finished finish(const Claimed& claimed, JobState to = JobState::done, const Finish& how = {}) {
    return engine_->finish(ended(claimed, to, how), late()).value();
  }

  std::vector<JobRow> list(const JobQuery& query = {}) { return engine_->list(query, late()).value(); }
  JobRow row(JobId id) { return list({.id = id}).at(0); }
  Result<JobRow> change(JobId id, JobChange what) { return engine_->change(id, what, "olga", late()); }
  TickRow take_tick(std::string_view name, std::int64_t tick) {
    return engine_->take_tick({.name = name, .tick = tick, .by = "me"}, late()).value();
  }

  JobEngine& engine() { return *engine_; }
  Store& store() { return *store_; }

 private:
  // Forty at once on a loaded machine need that long.
  static Instant late() { return BootClock::now() + 60s; }

  const std::shared_ptr<Store> store_;
  const std::unique_ptr<JobEngine> engine_;
};

}  // namespace holdfast::test
