// SPDX-License-Identifier: Apache-2.0
// running.h - one job, from its claim to its end in the store.
#pragma once
#include <exception>
#include <memory>
#include <string>

#include "holdfast/job_worker.h"
#include "jobs/context.h"
#include "jobs/jobs_state.h"

namespace holdfast::jobs {

// The timeout of a lock that is not renewed; zero: the lock is renewed.
Millis timeout_of(const JobOptions& options, const Args& args);
// The pause after attempt N has failed.  `jitter` in [0, 1).
Millis backoff_of(const JobOptions& options, int attempt, double jitter);
// The text of the current exception.  REQUIRES: called in a catch block.
std::string current_exception_text();

// A job that a worker has claimed.
class Running {
 public:
  // `sent` was read before the claim was sent.
  Running(JobsState& jobs, Claimed claimed, Millis claim_ttl, Instant sent);

  const std::shared_ptr<JobContext::State>& state() const noexcept { return state_; }
  // Runs the job, finishes it in the store, and calls its callbacks.  Does not throw.  In a child that was
  // forked meanwhile it sends and calls nothing, and the returned event is meaningless.
  JobEvent run(double jitter);
  // Puts a job that was not started back into the queue, because the worker is shutting down.
  JobEvent hand_back();

 private:
  bool forked() const noexcept { return ClientAccess::forked(jobs_.client); }
  JobEvent perform();
  JobEvent unknown();
  JobEvent refused();
  OnConflict conflict() const;
  JobEvent put_off(const std::string& why);
  JobEvent failed(const std::string& why, bool stopped);
  JobEvent conclude(Finish how, JobEvent::What what, std::string detail);
  // Finishes the job in the store, and retries that until the claim ends.
  Result<Finished> finish_in_store(Finish how, Instant claimed_until);
  bool is_finished_as(const Finish& how);
  // The error, if it cannot take the lock; none if it has the lock or needs none.
  std::optional<Error> take_lock_elsewhere();
  JobEvent not_ours();
  // Adds the text of a callback's exception to the event.
  template <class Call>
  void call_back(JobEvent& event, Call call);

  JobsState& jobs_;
  const Claimed claimed_;
  const std::shared_ptr<const Definition> definition_;
  std::shared_ptr<JobContext::State> state_;
  std::string args_error_;  // why the arguments cannot be read; empty: they can
  double jitter_ = 0;
};

}  // namespace holdfast::jobs
