// SPDX-License-Identifier: Apache-2.0
// show.cpp - `holdfast show KEY`: all that the store records about a key.
#include "base/time.h"
#include "cli/columns.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/open_store.h"
#include "cli/output.h"
#include "cli/see/describe.h"

namespace holdfast::cli {

int execute(const Show& command, const Common& common) {
  auto looked = look_at_store(common);
  if (!looked) return fail(looked.error());
  Result<Inspection> found = Inspection{};
  if (looked->unused)
    found->lease.key = command.key;
  else
    found = looked->by_hand.try_inspect(command.key);
  if (!found) return fail(found.error());
  print(common.json ? json_of(*found) : aligned(rows_of(*found, wall_now()), false, false));
  if (!looked->unused && !is_known(*found)) suggest_held_key(looked->by_hand, command.key);
  return exit_ok;
}

}  // namespace holdfast::cli
