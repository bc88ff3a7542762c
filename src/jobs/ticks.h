// SPDX-License-Identifier: Apache-2.0
// ticks.h - what runs by the clock: which moments of a name have had their turn, and when it last succeeded.
// The schedules and the command use it; users have Jobs::cron and JobLock::window.
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

  // As Jobs::try_enqueue; a duplicate if that tick was taken.  One without a name is none.
  static Result<EnqueueResult> enqueue(const Jobs& of, std::string_view name, const Args& args,
                                       const JobOptions& options, const Tick& tick);
};

namespace jobs {

// Errc::invalid if a tick cannot be called so.
Status check_tick(std::string_view name);

}  // namespace jobs

}  // namespace holdfast
