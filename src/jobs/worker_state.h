// SPDX-License-Identifier: Apache-2.0
// worker_state.h - what the threads of a worker share: worker.cpp is those that work, worker_heart.cpp the
// one that keeps their claims.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/random.h"
#include "base/worker.h"
#include "core/timing.h"
#include "holdfast/job_worker.h"
#include "jobs/jobs_state.h"

namespace holdfast {

namespace jobs {

inline constexpr Millis one_claim = std::chrono::seconds(2);

}  // namespace jobs

//   threads    claim, run, finish, again.  Of those that find nothing one stays on the lookout; it calls the
//              next when it has found something, and so on
//   heartbeat  renews the claims of all that run, in one go
struct JobWorker::State {
  State(Jobs j, WorkerOptions o)
      : jobs(std::move(j)), shared(*jobs.state_), options(std::move(o)), jitter(random_bits()) {
    next_purge = options.purge_every == never
                     ? Instant::max()
                     : clamped_add(BootClock::now(), core::scaled(options.purge_every, fraction()));
    asleep.reserve(static_cast<std::size_t>(options.threads));
  }

  void work(Wakeup& wakeup);
  void beat();
  void drain(Millis grace);
  // The threads are the parent's; and what they were in the midst of, nobody here will ever end.
  bool forked() const noexcept { return ClientAccess::forked(jobs.client()); }

  const Jobs jobs;
  JobsState& shared;
  const WorkerOptions options;

  std::mutex mutex;  // guards what follows
  std::condition_variable_any changed;
  bool draining = false, over = false;
  std::uint64_t looks = 0;  // claims that were asked for
  std::uint64_t finds = 0;  // those that found something
  // The last that found nothing, if no job has run since it began and nobody else looked when it ended: a job
  // may add another just after it was looked for.  Zero: since then one has found something.
  std::uint64_t empty_look = 0;
  std::optional<Error> refusal;  // of the last look; none: it was answered
  std::uint64_t refused = 0;     // looks that were
  int refused_in_a_row = 0;
  int looking = 0, busy = 0;  // threads that ask for a claim, and that have one
  Wakeup* lookout = nullptr;  // of who is on it
  std::vector<Wakeup*> asleep;
  std::vector<std::shared_ptr<JobContext::State>> running;
  Jitter jitter;
  Instant stop_at = Instant::max();
  Instant next_purge = Instant::max();
  std::string trouble;  // why the last claim failed; empty: it did not

  Wakeup heart;
  std::vector<Worker> threads;
  Worker heartbeat;

 private:
  double fraction() {
    const std::lock_guard lock(mutex);
    return jitter.fraction();
  }
  // Begins a look, and ends it in any case.
  class Look;
  // So long nothing will be found; zero: it has found something and done it.
  Millis look_and_run();
  // Until the next look.
  Millis cannot_claim(Look& look, const Error& why, const std::string& owner);
  Result<Claimed> claim(const std::string& owner);
  void hand_back_unheard(const std::string& owner);
  void rest(Wakeup& wakeup, Millis length);
  void call_next();
  void run(Claimed claimed, Instant sent);
  void tell(const JobEvent& event);
  void claims_work();
  void claims_fail(const std::string& why, bool may_pass);
  Telemetry& telemetry() const { return ClientAccess::telemetry(jobs.client()); }
  void purge_if_due();
  bool renew();
  bool stop_those_that_are_late();
};

class JobWorker::State::Look {
 public:
  explicit Look(State& state) : state_(state) {
    const std::lock_guard lock(state_.mutex);
    ++state_.looking;
    number_ = ++state_.looks;
    if (state_.busy == 0) finds_before_ = state_.finds;
  }
  ~Look() {
    if (state_.forked()) return;
    const std::lock_guard lock(state_.mutex);
    if (looking_) --state_.looking;
    if (found_) --state_.busy;
    state_.changed.notify_all();
  }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

  void found_something() {
    const std::lock_guard lock(state_.mutex);
    end();
    state_.refusal.reset();
    found_ = true;
    ++state_.busy;
    ++state_.finds;
    state_.empty_look = 0;
    state_.call_next();
  }
  // One that others look beside does not know what they find.
  void found_nothing() {
    const std::lock_guard lock(state_.mutex);
    end();
    state_.refusal.reset();
    const bool alone = state_.looking == 0 && state_.busy == 0 && finds_before_ == state_.finds;
    if (alone) state_.empty_look = number_;
  }
  // How often in a row.
  int was_refused(const Error& why) {
    const std::lock_guard lock(state_.mutex);
    state_.refused_in_a_row = state_.refusal ? state_.refused_in_a_row + 1 : 1;
    state_.refusal = why;
    ++state_.refused;
    state_.empty_look = 0;
    return state_.refused_in_a_row;
  }

 private:
  void end() {
    --state_.looking;
    looking_ = false;
  }

  State& state_;
  std::uint64_t number_ = 0;
  std::optional<std::uint64_t> finds_before_;  // none: a job ran when it began
  bool looking_ = true, found_ = false;
};

}  // namespace holdfast
