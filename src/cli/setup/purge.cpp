// SPDX-License-Identifier: Apache-2.0
// purge.cpp - `holdfast purge [--older-than D]`: forget what nobody has used for long.
#include "base/time.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/open_store.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

std::string counted(std::uint64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

}  // namespace

int execute(const Purge& command, const Common& common) {
  auto found_store = find_store(common);
  if (!found_store) return fail(found_store.error());
  holdfast::Purge what;
  if (command.older_than) what = {*command.older_than, *command.older_than};
  const auto purged = found_store->unused ? Purged{} : found_store->by_hand.try_purge(what);
  if (!purged) return fail(purged.error());
  if (common.json)
    print(json_of(*purged));
  else
    print("purged " + counted(purged->keys, "key", "keys") + " (free for " + format_duration(what.free_for) +
          " or longer), " + counted(purged->places, "expired place in a queue", "expired places in queues") +
          ", " + counted(purged->log, "log entry", "log entries"));
  return exit_ok;
}

}  // namespace holdfast::cli
