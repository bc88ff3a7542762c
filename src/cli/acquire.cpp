// SPDX-License-Identifier: Apache-2.0
// acquire.cpp - `holdfast acquire KEY`: take a lease that outlives this process.
#include "base/text.h"
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
    say(aligned({{"owner", std::string(lease.owner())}, {"token", std::to_string(to_number(lease.token()))}},
                false, false));
  if (answered()) return exit_ok;
  // Main says that it could not be told.  Nobody could give back what nobody was told of; but by a name that
  // was given somebody may have held it before, and can give it back.
  if (command.options.owner)
    complain(printable(lease.key()) + " is held by " + printable(lease.owner()) +
             ", although the answer could not be written; release it with `holdfast release`");
  else
    (void)lease.try_release();
  return exit_ok;
}

}  // namespace holdfast::cli
