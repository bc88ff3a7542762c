// SPDX-License-Identifier: Apache-2.0
#include "jobs/due_ticks.h"

#include <algorithm>

namespace holdfast::jobs {
namespace {}  // namespace

std::vector<Second> due_ticks(const NextTick& next, const CronOptions& options, Second last, Second now) {
  const Second oldest = now - std::max(std::chrono::floor<Second>(options.deadline), on_time);
  std::vector<Second> ticks;
  for (auto tick = next(std::max(last, oldest - Second(1))); tick && *tick <= now; tick = next(*tick)) {
    const bool missed = now - *tick > on_time;
    switch (options.misfire) {
      case CronOptions::Misfire::skip:
        if (missed) continue;
        break;
      case CronOptions::Misfire::run_once: ticks.clear(); break;
      case CronOptions::Misfire::all: break;
    }
    ticks.push_back(*tick);
  }
  return ticks;
}

JobOptions of_schedule(JobOptions job, CronOptions::Overlap overlap, int attempts) {
  // Every process enqueues every tick, so that it was there already is no news to anybody.
  job.loner_enqueue_failed = {};
  if (!job.max_attempts) job.max_attempts = attempts;
  JobLock lock = job.lock.value_or(JobLock{.limit = 0});
  switch (overlap) {
    case CronOptions::Overlap::skip:
      if (lock.unique != Unique::until_success) lock.unique = Unique::loner;
      break;
    case CronOptions::Overlap::wait:
      lock.on_conflict = OnConflict::wait;
      job.lock_failed = {};  // it would never be called
      lock.loner = false;
      lock.unique = Unique::no;
      if (lock.limit == 0) lock.limit = 1;
      break;
    case CronOptions::Overlap::allow:
      lock.loner = false;
      lock.unique = Unique::no;
      lock.limit = 0;
      break;
  }
  job.lock = lock;
  return job;
}

}  // namespace holdfast::jobs
