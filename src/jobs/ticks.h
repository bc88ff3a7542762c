// SPDX-License-Identifier: Apache-2.0
// ticks.h - the ticks of a name that were taken, and when its job last succeeded.  Schedules and the command
// use it; users have Jobs::cron and JobLock::window.
#pragma once
#include <string_view>

#include "holdfast/jobs.h"
#include "holdfast/spi/job_engine.h"

namespace holdfast {

struct Ticks {
  // See JobEngine.
  static Result<TickRow> take(const Jobs& of, const Tick& tick);
  static Result<TickRow> last(const Jobs& of, std::string_view name);
  static Status note_success(const Jobs& of, std::string_view name, std::string_view by);

  // Jobs::try_enqueue; the result is a duplicate if the tick was taken.  A tick without a name is ignored.
  static Result<EnqueueResult> enqueue(const Jobs& of, std::string_view name, const Args& args,
                                       const JobOptions& options, const Tick& tick);
};

namespace jobs {

// Errc::invalid if `name` cannot be the name of a tick.
Status check_tick(std::string_view name);

}  // namespace jobs

}  // namespace holdfast
