// SPDX-License-Identifier: Apache-2.0
// schedule.h - Jobs::cron: which ticks of a schedule are due, and the options of the jobs that it enqueues.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "holdfast/jobs.h"
#include "jobs/timetable.h"

namespace holdfast {

// What Jobs has for schedules only.
struct JobSchedules {
  static Jobs jobs(std::shared_ptr<JobsState> state) { return Jobs(std::move(state), {}); }
  // Jobs::try_enqueue; the result is a duplicate if the tick was taken.
  static Result<EnqueueResult> enqueue(const Jobs& jobs, std::string_view name, const Args& args,
                                       const JobOptions& options, const Tick& tick) {
    return jobs.enqueue_with_tick(name, args, options, tick);
  }
};

namespace jobs {

// A tick that is no older than this was not missed: a process that enqueues it may be slow.
inline constexpr Second on_time = std::chrono::seconds(60);

// The first tick after a moment.
using NextTick = std::function<std::optional<Second>(Second)>;

// The ticks after `last` that are due at `now`, without those that are too old.  `options.misfire` decides
// about missed ticks.  The oldest comes first.
std::vector<Second> due_ticks(const NextTick& next, const CronOptions& options, Second last, Second now);

// Few, because the next tick is the next chance.
inline constexpr int attempts_of_a_tick = 5;

// The options of a job that a schedule enqueues.  `attempts` counts if the job declares none.
JobOptions of_schedule(JobOptions job, CronOptions::Overlap overlap, int attempts = attempts_of_a_tick);

}  // namespace jobs

}  // namespace holdfast
