// SPDX-License-Identifier: Apache-2.0
// worker_state.h - what the threads of a JobWorker share.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/sync.h"
#include "base/wakeup.h"
#include "base/worker.h"
#include "core/timing.h"
#include "holdfast/job_worker.h"
#include "jobs/jobs_state.h"

namespace holdfast {

namespace jobs {

inline constexpr Millis one_claim = std::chrono::seconds(2);

}  // namespace jobs

//   threads  claim a job, run it, finish it, and again.  Of the threads that find no job, one polls the store
//            and the others sleep.  When the poller gets a job, it wakes the next thread, which polls
//   stopper  from drain() on: when its grace is over, requests the stop of the jobs that still run
//
// The client's keeper renews the claims of the running jobs.
struct JobWorker::State : std::enable_shared_from_this<State> {
  State(Jobs j, WorkerOptions o)
      : jobs(std::move(j)), shared(*jobs.state_), options(std::move(o)), jitter(random_bits()) {
    next_purge = options.purge_every == never
                     ? Instant::max()
                     : clamped_add(BootClock::now(), core::scaled(options.purge_every, fraction()));
    asleep.reserve(static_cast<std::size_t>(options.threads));
  }

  void work(Wakeup& wakeup);
  void drain(Millis grace);
  // In a forked child: the threads exist only in the parent, so nothing that they began is ever finished
  // here.
  bool forked() const noexcept { return ClientAccess::forked(jobs.client()); }

  const Jobs jobs;
  JobsState& shared;
  const WorkerOptions options;

  Mutex mutex;  // guards what follows
  StoppableCondition changed;
  bool draining = false, over = false;
  std::uint64_t attempts = 0;   // to claim a job
  std::uint64_t successes = 0;  // attempts that got a job
  // The number of the last attempt that found no job, if no job ran since it began and no other attempt was
  // in flight when it ended: a running job may enqueue another one just after the attempt.  Zero: an attempt
  // got a job since then.
  std::uint64_t empty_attempt = 0;
  std::optional<Error> refusal;  // of the last attempt; none: it was answered
  std::uint64_t refused = 0;     // attempts that were refused
  int refused_in_a_row = 0;
  int claiming = 0, busy = 0;  // threads that are claiming, and that have a job
  Wakeup* poller = nullptr;    // of the thread that polls
  std::vector<Wakeup*> asleep;
  std::vector<std::shared_ptr<JobContext::State>> running;
  Jitter jitter;
  Instant stop_at = Instant::max();
  Instant next_purge = Instant::max();
  std::string trouble;  // why the last claim failed; empty: it did not

  Wakeup stopper_wakeup;
  std::vector<Worker> threads;
  Worker stopper;

 private:
  double fraction() {
    const std::lock_guard lock(mutex);
    return jitter.fraction();
  }
  class ClaimAttempt;
  // Returns the pause before the next attempt; zero: it got a job and ran it.
  Millis claim_and_run();
  Millis cannot_claim(ClaimAttempt& attempt, const Error& why, const std::string& owner);
  Result<Claimed> claim(const std::string& owner);
  void hand_back_unanswered(const std::string& owner);
  void rest(Wakeup& wakeup, Millis length);
  void wake_next();
  void run(Claimed claimed, Instant sent);
  void report(const JobEvent& event);
  void log_claims_work();
  void log_claims_fail(const std::string& why, bool may_pass);
  Telemetry& telemetry() const { return *ClientAccess::telemetry(jobs.client()); }
  void purge_if_due();
  void stop_late_jobs();
  void stop_running_jobs();
};

// One attempt to claim a job, and the run of that job.  The destructor ends both in the shared counters.
class JobWorker::State::ClaimAttempt {
 public:
  explicit ClaimAttempt(State& state) : state_(state) {
    const std::lock_guard lock(state_.mutex);
    ++state_.claiming;
    number_ = ++state_.attempts;
    if (state_.busy == 0) successes_before_ = state_.successes;
  }
  ~ClaimAttempt() {
    if (state_.forked()) return;
    const std::lock_guard lock(state_.mutex);
    if (claiming_) --state_.claiming;
    if (got_job_) --state_.busy;
    state_.changed.notify_all();
  }
  ClaimAttempt(const ClaimAttempt&) = delete;
  ClaimAttempt& operator=(const ClaimAttempt&) = delete;

  void got_job() {
    const std::lock_guard lock(state_.mutex);
    end();
    state_.refusal.reset();
    got_job_ = true;
    ++state_.busy;
    ++state_.successes;
    state_.empty_attempt = 0;
    state_.wake_next();
  }
  // If other attempts are in flight, they may get a job, so this one does not count as empty.
  void found_nothing() {
    const std::lock_guard lock(state_.mutex);
    end();
    state_.refusal.reset();
    const bool alone = state_.claiming == 0 && state_.busy == 0 && successes_before_ == state_.successes;
    if (alone) state_.empty_attempt = number_;
  }
  // Returns how many attempts were refused in a row.
  int was_refused(const Error& why) {
    const std::lock_guard lock(state_.mutex);
    state_.refused_in_a_row = state_.refusal ? state_.refused_in_a_row + 1 : 1;
    state_.refusal = why;
    ++state_.refused;
    state_.empty_attempt = 0;
    return state_.refused_in_a_row;
  }

 private:
  void end() {
    --state_.claiming;
    claiming_ = false;
  }

  State& state_;
  std::uint64_t number_ = 0;
  std::optional<std::uint64_t> successes_before_;  // none: a job ran when it began
  bool claiming_ = true, got_job_ = false;
};

}  // namespace holdfast
