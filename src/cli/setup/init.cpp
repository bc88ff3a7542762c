// SPDX-License-Identifier: Apache-2.0
// init.cpp - `holdfast init [--dry-run]`: make the tables, or say how.
#include "base/text.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/output.h"
#include "holdfast/admin.h"

namespace holdfast::cli {

int execute(const Init& command, const Common& common) {
  auto store = try_store(common.store);
  if (!store) return fail(store.error());
  const std::string name = printable(without_secrets((*store)->name()));
  Admin by_hand(*std::move(store));
  const auto statements = command.dry_run ? by_hand.try_plan() : by_hand.try_init();
  if (!statements) return fail(statements.error());
  if (common.json) {
    for (const std::string& sql : *statements) print(json_of_texts({{"statement", sql}}));
    return exit_ok;
  }
  if (command.dry_run) {
    for (const std::string& sql : *statements) print(sql + "\n");
    if (statements->empty()) complain("nothing is missing in " + name);
    return exit_ok;
  }
  print(statements->empty() ? "nothing is missing in " + name : name + " is ready");
  return exit_ok;
}

}  // namespace holdfast::cli
