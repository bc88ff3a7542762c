// SPDX-License-Identifier: Apache-2.0
// job_worker.h - threads that do jobs.
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

// What became of a job, for people and for counting.
struct JobEvent {
  enum class What : std::uint8_t {
    started,
    done,
    failed,       // it threw, and will be tried again
    died,         // it threw once too often, or took too many workers with it
    dropped,      // its lock was held by `detail`
    lost,         // its claim was lost while it ran: what it did does not count, it is somebody else's
    expired,      // done, but its lock had ended before
    handed_back,  // the worker ended before the job did
    unknown,      // it ended, and the store could not be told
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
  Millis claim{std::chrono::seconds(30)};     // a worker that is not heard of for so long has lost its jobs
  Millis poll{200};                           // how often to look for jobs when there are none
  Millis grace{std::chrono::seconds(10)};     // draining: how long running jobs are let alone
  int max_crashes = 3;                        // a job that takes so many workers with it is dead
  Millis purge_every{std::chrono::hours(1)};  // takes away what is long over; `never`: it does not
  JobPurge purge = {};
  std::function<void(const JobEvent&)> on_event = {};  // on any of the threads; must not throw
};

// Starts with the constructor.  One thread more renews the claims of all jobs in one go.
//
// While the store cannot be reached, or refuses to let jobs be claimed, it tries again: a second later, and
// of a refusal, which seldom passes by itself, ever less often, up to a minute.  ClientOptions::log is told
// once.
//
// In a child after fork() it is nothing: no call waits, the destructor does nothing, and the parent's goes
// on.
class HOLDFAST_API JobWorker {
 public:
  // Throws Failure if an option makes no sense.
  JobWorker(Jobs jobs, WorkerOptions options = {});
  JobWorker(const JobWorker&) = delete;
  JobWorker& operator=(const JobWorker&) = delete;
  // Drains, and waits for the jobs that run.
  ~JobWorker();

  // Claims nothing more.  After `grace` the jobs that still run are asked to stop (JobContext::stop_token);
  // one that then throws is handed back, uncounted.
  void drain();
  // Drains, and asks the jobs that run to stop now.
  void stop();
  // REQUIRES: draining.
  void wait();

  // Nothing runs, and nothing was due when it looked last, which was after the last job had ended.
  bool idle() const;
  // Waits until idle(), draining, or `stop`.  Fails if the store refuses to let jobs be claimed, and those
  // that ran have ended.
  void wait_until_idle(std::stop_token stop = {}) { try_wait_until_idle(std::move(stop)).value(); }
  Status try_wait_until_idle(std::stop_token stop = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holdfast
