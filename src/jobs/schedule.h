// SPDX-License-Identifier: Apache-2.0
// schedule.h - Jobs::cron: which ticks of a schedule are due, and the options of the jobs that it enqueues.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "holdfast/jobs.h"
#include "jobs/timetable.h"

namespace holdfast::jobs {

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

}  // namespace holdfast::jobs
