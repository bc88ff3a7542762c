// SPDX-License-Identifier: Apache-2.0
// break.cpp - `holdfast break KEY --token T --reason TEXT`: take a lease away.
#include "base/process.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/open_store.h"
#include "cli/output.h"

namespace holdfast::cli {

int execute(const Break& command, const Common& common) {
  auto found_store = find_store(common);
  if (!found_store) return fail(found_store.error());
  if (found_store->unused) return exit_lost;
  const auto before = found_store->by_hand.try_inspect(command.key);
  if (!before) return fail(before.error());
  const auto broken =
      found_store->by_hand.try_break_lease(command.key, command.token, {user_at_host(), command.reason});
  if (!broken) return fail(broken.error());
  if (common.json) {
    print(json_of_texts({{"key", command.key}, {"owner", *broken}, {"reason", command.reason}}));
    return exit_ok;
  }
  print("broke the lease on " + printable(command.key) + ", which " + printable(short_owner(*broken)) +
        " held");
  complain(before->lease.detached
               ? "the lease was detached: its holder learns of this when it next renews or releases"
               : "the old holder may run until its next renewal (at most ttl/3); stop it if you can");
  return exit_ok;
}

}  // namespace holdfast::cli
