// SPDX-License-Identifier: Apache-2.0
// show.cpp - `holdfast show KEY`: all that the store records about a key.
#include "base/time.h"
#include "cli/columns.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/open_store.h"
#include "cli/output.h"
#include "cli/see/describe.h"
#include "cli/words/values.h"

namespace holdfast::cli {
namespace {

struct Show {
  std::string key;
};

Show show_of(const Given& given) { return {key_of(given)}; }

int execute(const Show& command, const Common& common) {
  auto found_store = find_store(common);
  if (!found_store) return fail(found_store.error());
  Result<Inspection> found = Inspection{};
  if (found_store->unused)
    found->lease.key = command.key;
  else
    found = found_store->by_hand.try_inspect(command.key);
  if (!found) return fail(found.error());
  print(common.json ? json_of(*found) : aligned(rows_of(*found, wall_now()), false, false));
  if (!found_store->unused && !is_known(*found)) suggest_held_key(found_store->by_hand, command.key);
  return exit_ok;
}

}  // namespace

constinit const CommandSpec commands::show{
    .name = "show",
    .usage = "[OPTION]... KEY",
    .purpose = "Show who holds KEY, who waits for it and who lost it",
    .more = R"(  holdfast show nightly
  holdfast show nightly --json)",
    .read = reads<show_of>,
    .other_names = "status inspect",
};

}  // namespace holdfast::cli
