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

// What happened to a job, for logs and metrics.
struct JobEvent {
  enum class What : std::uint8_t {
    started,
    done,
    failed,       // it threw, and will be tried again
    died,         // it threw in its last attempt, or too many workers died while they ran it: it is dead
    dropped,      // its lock was held by `detail`
    lost,         // its claim was lost while it ran: its result does not count, another worker may run it
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
  Millis claim{std::chrono::seconds(30)};     // a worker that does not renew for this long loses its jobs
  Millis poll{200};                           // how often an idle worker looks for jobs
  Millis grace{std::chrono::seconds(10)};     // draining: how long running jobs may go on
  int max_crashes = 3;                        // a job during which this many workers died is dead
  Millis purge_every{std::chrono::hours(1)};  // how often old jobs are deleted; `never`: not at all
  JobPurge purge = {};
  std::function<void(const JobEvent&)> on_event = {};  // on any of the threads; must not throw
};

// The constructor starts the threads.  One more thread renews the claims of all jobs together.
//
// If the store cannot be reached, it tries again a second later.  If the store refuses claims, which seldom
// changes by itself, it tries again less and less often, up to a minute apart.  ClientOptions::log gets one
// line about that.
//
// In a child after fork() it does nothing: no call waits, and the destructor does nothing.  The parent's
// worker goes on.
class HOLDFAST_API JobWorker {
 public:
  // Throws Failure if an option makes no sense.
  JobWorker(Jobs jobs, WorkerOptions options = {});
  JobWorker(const JobWorker&) = delete;
  JobWorker& operator=(const JobWorker&) = delete;
  // Drains, and waits for the running jobs.
  ~JobWorker();

  // Claims no more jobs.  After `grace` the jobs that still run are asked to stop (JobContext::stop_token).
  // If a job then throws, it is handed back, and the attempt does not count.
  void drain();
  // Drains, and asks the running jobs to stop now.
  void stop();
  // Waits until all jobs have ended.  REQUIRES: drain() or stop() was called.
  void wait();

  // True if no job runs, and none was due at the last claim, which came after the last job had ended.
  bool idle() const;
  // Waits until idle(), draining, or `stop`.  Fails if the store refuses claims and no job runs any more.
  void wait_until_idle(std::stop_token stop = {}) { try_wait_until_idle(std::move(stop)).value(); }
  Status try_wait_until_idle(std::stop_token stop = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holdfast
