// SPDX-License-Identifier: Apache-2.0
// running.h - one job, from its claim to what the store is told of its end.
#pragma once
#include <exception>
#include <memory>
#include <string>

#include "holdfast/job_worker.h"
#include "jobs/context.h"
#include "jobs/jobs_state.h"

namespace holdfast::jobs {

// Of a lock that is not renewed; zero: it is.
Millis timeout_of(const JobOptions& options, const Args& args);
// After attempt N has failed.  `jitter` in [0, 1).
Millis backoff_of(const JobOptions& options, int attempt, double jitter);
// What an exception says.  REQUIRES: called while it is handled.
std::string current_exception_text();

// A job that a worker has claimed.
class Running {
 public:
  // `sent`: read before the claim was asked for.
  Running(JobsState& jobs, Claimed claimed, Millis claim_ttl, Instant sent);

  const std::shared_ptr<JobContext::State>& state() const noexcept { return state_; }
  // Does it, tells the store, calls back.  Does not throw.  In a child that was forked meanwhile it tells
  // nobody anything, and what it returns means nothing.
  JobEvent run(double jitter);
  // It has not been started: the worker is ending.
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
  // Until the claim ends: then nobody can know.
  Result<Finished> tell(Finish how);
  bool is_as_told(const Finish& how);
  // Why not; none: it has it, or needs none.
  std::optional<Error> take_lock_elsewhere();
  JobEvent not_ours();
  // An exception of a callback's is told, and changes nothing.
  template <class Call>
  void call_back(JobEvent& event, Call call);

  JobsState& jobs_;
  const Claimed claimed_;
  const std::shared_ptr<const Definition> definition_;
  std::shared_ptr<JobContext::State> state_;
  std::string unfit_args_;  // why they cannot be read; empty: they can
  double jitter_ = 0;
};

}  // namespace holdfast::jobs
