// SPDX-License-Identifier: Apache-2.0
// job_cases.h - cases of the rule of jobs (core/job_rule.h, rows/row_engine.h): enqueue, claim, renew, finish
// and what a person changes, each as a small story of one queue: what was done to its jobs before, at which
// moments, and what is asked now.
#pragma once
#include <string>
#include <vector>

#include "holdfast/spi/job_engine.h"

namespace holdfast::test {

enum class JobVerb : std::uint8_t {
  enqueue,
  claim,
  renew,
  finish,
  cancel,
  retry,
  remove,
  acquire,  // an operator takes the lock, as a lease
  release,  // and gives it back
  queue_up  // somebody waits for the lock, as a lease
};

struct JobAsk {
  JobVerb verb = JobVerb::enqueue;

  // enqueue
  Micros due{};  // from now; it may lie before the moment of the step
  Unique unique = Unique::no;
  OnConflict on_conflict = OnConflict::wait;
  int limit = 1;
  int priority = 0;
  Millis lock_ttl{std::chrono::hours(1)};
  bool lock_fixed = false;
  std::string tick_name = {};  // made different for each case
  std::int64_t tick = 0;

  // claim, renew, finish: by this worker; renew, finish and what an operator does: of the job enqueued as
  // that number
  std::string worker = "w1";
  std::size_t job = 0;
  Millis ttl{std::chrono::hours(1)};  // of the claim, or of the operator's lease
  int max_crashes = 3;
  JobState to = JobState::done;
  Millis in{};
  bool counts = true;

  // acquire, release, queue_up: of the lock with that number; zero: the job's only one
  int lock = 0;
};

struct JobStep {
  Micros at;  // from now: never later
  JobAsk ask;
};

struct JobCase {
  std::string name;
  bool lock_ends = false;  // a lease ends before now, or about now
  std::vector<JobStep> before;
  JobAsk asked;
};

// `tick` is the smallest difference of time that the store knows.
std::vector<JobCase> all_job_cases(Micros tick);

}  // namespace holdfast::test
