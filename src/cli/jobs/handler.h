// SPDX-License-Identifier: Apache-2.0
// handler.h - one job, done by a program: the worker's thread and the guard of that program.
//
//   event                           | what we do
//   --------------------------------+-------------------------------------------------------------
//   the claim was renewed           | Renewed to the guard, within a tenth of the claim
//   it is lost, cancelled, drained  | Stop to the guard: TERM, then KILL after --kill-after
//   it runs longer than --at-most   | the same
//   the guard is dead               | KILL the group; it is over only when nothing of it runs
//   Ended, CannotRun                | it is over
//
// A worker that hangs or is stopped sends no more renewals: then the guard ends the program in time.
#pragma once
#include <string>

#include "cli/jobs/fork_server.h"
#include "holdfast/client.h"
#include "holdfast/job.h"

namespace holdfast::cli {

struct HandlerOptions {
  std::string exec;  // with {name} and {queue}
  Millis claim{};
  Millis kill_after{};
  Millis at_most = forever;  // then it is stopped, and has failed
};

// The path of the program.  Throws Failure if the job's name, or its queue, would lead out of the folder.
std::string program_of(const std::string& exec, std::string_view name, std::string_view queue);

// Returns if the program ended with 0; else throws what the job's error shall say.
void run_handler(const HandlerOptions& options, ForkServer& fork_server, const Client& client,
                 const JobContext& context);

}  // namespace holdfast::cli
