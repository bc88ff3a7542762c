// SPDX-License-Identifier: Apache-2.0
// due_ticks.h - which ticks of a schedule are to be enqueued now: the part of a schedule that only decides.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "holdfast/jobs.h"
#include "jobs/timetable.h"

namespace holdfast::jobs {

// A tick that is no older has not been missed: whoever enqueues it may be slow.
inline constexpr Second on_time = std::chrono::seconds(60);

// The first tick behind a moment.
using NextTick = std::function<std::optional<Second>(Second)>;

// Those behind `last` that are due at `now`, none of them too old, as `options.misfire` wants those that were
// missed.  The oldest first.
std::vector<Second> due_ticks(const NextTick& next, const CronOptions& options, Second last, Second now);

// Its next tick is its next chance.
inline constexpr int attempts_of_a_tick = 5;

// The options of a job that a schedule enqueues, with `attempts` if it declares none.
JobOptions of_schedule(JobOptions job, CronOptions::Overlap overlap, int attempts = attempts_of_a_tick);

}  // namespace holdfast::jobs
