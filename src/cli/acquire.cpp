// SPDX-License-Identifier: Apache-2.0
// acquire.cpp - `holdfast acquire KEY`: take a lease that outlives this process.
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/run/wait_for_lease.h"

namespace holdfast::cli {

int execute(const Acquire& command, const Common& common) {
  Signals signals;
  Waited waited = wait_for_lease({common.store, command.key, command.options, {}, common.quiet}, signals);
  if (const auto* interrupted = std::get_if<Interrupted>(&waited)) return exit_signalled(interrupted->signal);
  if (const auto* error = std::get_if<Error>(&waited)) return fail(*error);
  Lease& lease = std::get<Granted>(waited).lease;
  if (common.json)
    say(json_of(lease));
  else
    say(aligned({{"owner", std::string(lease.owner())}, {"token", std::to_string(number(lease.token()))}},
                false, false));
  // Nobody could give back what nobody was told of; main says that it could not be told.
  if (!answered()) (void)lease.try_release();
  return exit_ok;
}

}  // namespace holdfast::cli
