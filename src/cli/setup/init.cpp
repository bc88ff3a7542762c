// SPDX-License-Identifier: Apache-2.0
// init.cpp - `holdfast init [--dry-run]`: make the tables, or say how.
#include "base/text.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/output.h"
#include "holdfast/operate.h"

namespace holdfast::cli {

int execute(const Init& command, const Common& common) {
  auto origin = try_origin(common.store);
  if (!origin) return fail(origin.error());
  const std::string store = printable(without_secrets((*origin)->name()));
  Operator by_hand(*std::move(origin));
  const auto statements = command.dry_run ? by_hand.try_plan() : by_hand.try_init();
  if (!statements) return fail(statements.error());
  if (common.json) {
    for (const std::string& sql : *statements) say(json_of_texts({{"statement", sql}}));
    return exit_ok;
  }
  if (command.dry_run) {
    for (const std::string& sql : *statements) say(sql + "\n");
    if (statements->empty()) complain("nothing is missing in " + store);
    return exit_ok;
  }
  say(statements->empty() ? "nothing is missing in " + store : store + " is ready");
  return exit_ok;
}

}  // namespace holdfast::cli
