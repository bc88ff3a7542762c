// SPDX-License-Identifier: Apache-2.0
// purge.cpp - `holdfast purge [--older-than D]`: forget what nobody has used for long.
#include "base/time.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/open_store.h"
#include "cli/output.h"
#include "cli/words/values.h"

namespace holdfast::cli {
namespace {

constexpr OptionSpec purge_options[] = {
    {"--older-than", "DURATION",
     "remove keys that were free for longer than this, and older log entries (default: 1d for keys, no "
     "log entries)"},
};

struct PurgeOlder {
  std::optional<Millis> than;  // none: as stores purge by themselves
};

PurgeOlder purge_of(const Given& given) {
  const Text than = given.text("--older-than");
  if (!than) return {};
  return {duration("--older-than", *than)};
}

std::string counted(std::uint64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

int execute(const PurgeOlder& command, const Common& common) {
  auto found_store = find_store(common);
  if (!found_store) return fail(found_store.error());
  Purge what;
  if (command.than) what = {*command.than, *command.than};
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

}  // namespace

constinit const CommandSpec commands::purge{
    .name = "purge",
    .usage = "[OPTION]...",
    .purpose = "Remove keys that nobody has used for long",
    .options = purge_options,
    .more =
        R"(Holdfast also does this by itself from time to time, for keys that have been free for a day. If a removed key is
used again, its tokens still rise.

  holdfast purge
  holdfast purge --older-than 30d)",
    .read = reads<purge_of>,
};

}  // namespace holdfast::cli
