// SPDX-License-Identifier: Apache-2.0
// break.cpp - `holdfast break KEY --token T --reason TEXT`: take a lease away.
#include "base/host.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/output.h"
#include "holdfast/operate.h"

namespace holdfast::cli {

int execute(const Break& command, const Common& common) {
  auto origin = try_origin(common.store);
  if (!origin) return fail(origin.error());
  const auto broken = Operator(*std::move(origin))
                          .try_break_lease(command.key, command.token, {user_at_host(), command.reason});
  if (!broken) return fail(broken.error());
  if (common.json) {
    say(json_of_texts({{"key", command.key}, {"holder", *broken}, {"reason", command.reason}}));
    return exit_ok;
  }
  say(printable(command.key) + " is taken away from " + printable(short_holder(*broken)));
  complain("it works on until its next renewal, a third of its ttl at most; end it if you can");
  return exit_ok;
}

}  // namespace holdfast::cli
