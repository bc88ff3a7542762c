// SPDX-License-Identifier: Apache-2.0
#include "jobs/due_ticks.h"

#include <algorithm>

namespace holdfast::jobs {

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

JobOptions of_schedule(JobOptions job, CronOptions::Overlap overlap) {
  // Every process enqueues every tick, so that it was there already is no news to anybody.
  job.loner_enqueue_failed = {};
  switch (overlap) {
    case CronOptions::Overlap::skip:
      if (job.lock.unique != Unique::until_success) job.lock.unique = Unique::loner;
      break;
    case CronOptions::Overlap::wait:
      job.lock.on_conflict = OnConflict::wait;
      job.lock.loner = false;
      job.lock.unique = Unique::no;
      if (job.lock.limit == 0) job.lock.limit = 1;
      break;
    case CronOptions::Overlap::allow:
      job.lock.loner = false;
      job.lock.unique = Unique::no;
      job.lock.limit = 0;
      break;
  }
  return job;
}

}  // namespace holdfast::jobs
