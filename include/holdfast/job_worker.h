// SPDX-License-Identifier: Apache-2.0
// job_worker.h - threads that run jobs.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/jobs.h"

namespace holdfast {

// The start or the end of a job, for logs and metrics.
struct JobEvent {
  enum class What : std::uint8_t {
    started,
    done,
    failed,       // it threw, and will be retried
    died,         // it failed too often, or too many workers died while they ran it
    dropped,      // its lock was held by `detail`
    lost,         // its claim was lost while it ran: another worker may run it
    expired,      // done, but its lock had ended before
    handed_back,  // the worker ended before the job did
    unknown,      // it ended, but the store could not be reached to record that
    cancelled,    // while it ran
  };
  What what{};
  JobRow job = {};
  std::string detail = {};
};
HOLDFAST_API const char* to_string(JobEvent::What) noexcept;

struct WorkerOptions {
  std::vector<std::string> queues = {"default"};
  int threads = 4;
  Millis claim{std::chrono::seconds(30)};  // a worker that cannot renew its claims for so long loses its jobs
  Millis poll{200};                        // the longest pause between two attempts to claim a job
  // Draining: how long running jobs may continue before they are stopped.
  Millis grace{std::chrono::seconds(10)};
  int max_crashes = 3;  // after so many workers died while they ran it, a job is dead
  // How often to delete jobs that ended long ago.  `never`: not at all.
  DurationOr<Never> purge_every{std::chrono::hours(1)};
  JobPurge purge = {};
  std::function<void(const JobEvent&)> on_event = {};  // on any of the threads; must not throw
};

// The constructor starts the threads.  The client's renewal thread renews the claims of all running jobs
// together.  It also calls functions of the user: `finished` of leases, the log, the observer.  One that
// blocks there delays claims too, and they may be lost.
//
// If the store cannot be reached or refuses a claim, the worker tries again after a second.  After refusals
// the pause grows up to a minute.  It logs each cause once (ClientOptions::log).
//
// In a child after fork() no call waits and the destructor does nothing; the worker of the parent continues.
class HOLDFAST_API JobWorker {
 public:
  // Throws Failure if an option is invalid.
  JobWorker(Jobs jobs, WorkerOptions options = {});
  JobWorker(const JobWorker&) = delete;
  JobWorker& operator=(const JobWorker&) = delete;
  // Drains, and waits until the running jobs have ended.
  ~JobWorker();

  // Claims no more jobs.  After `grace` it requests the stop of the jobs that still run
  // (JobContext::stop_token).  A job that then throws is handed back, and the attempt does not count.
  void drain();
  // Drains, and requests the stop of the running jobs now.
  void stop();
  // Waits until all jobs have ended.  REQUIRES: drain() or stop() was called.
  void wait();

  // No job runs, and since the last job ended the worker has found no due job.
  bool idle() const;
  // Waits until idle(), draining, or `stop`.  Fails if the store refuses claims and no job runs any more.
  void wait_until_idle(std::stop_token stop = {}) { try_wait_until_idle(std::move(stop)).value(); }
  Status try_wait_until_idle(std::stop_token stop = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holdfast
