// SPDX-License-Identifier: Apache-2.0
// handler.h - runs the program of one job: the worker's thread, which talks to the guard of that program.
//
//   event                           | action
//   --------------------------------+-------------------------------------------------------------
//   the claim was renewed           | Renewed to the guard, within a tenth of the claim
//   it is lost, cancelled, drained  | Stop to the guard: TERM, then KILL after --kill-after
//   it runs longer than --at-most   | the same
//   the guard is dead               | KILL the group; over when no process of it runs
//   Ended, CannotRun                | over
//
// If the worker hangs or is stopped, it sends no renewals, and the guard ends the program in time.
#pragma once
#include <string>

#include "cli/jobs/fork_server.h"
#include "holdfast/job.h"
#include "holdfast/spi/store.h"

namespace holdfast::cli {

struct HandlerOptions {
  std::string exec;  // with {name} and {queue}
  Millis claim{};
  Millis kill_after{};
  holdfast::Wait at_most = forever;  // then the program is stopped, and the job has failed
};

// The path of the program.  Throws Failure if the job's name or queue would lead out of the folder.
std::string program_of(const std::string& exec, std::string_view name, std::string_view queue);

// `store` proves to others that the program lives.  Returns if the program exits with 0, otherwise throws
// Failure with the error for the job.
void run_handler(const HandlerOptions& options, ForkServer& fork_server, const Store& store,
                 const JobContext& context);

}  // namespace holdfast::cli
