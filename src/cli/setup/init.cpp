// SPDX-License-Identifier: Apache-2.0
// init.cpp - `holdfast init [--dry-run]`: make the tables, or say how.
#include "base/text.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/output.h"
#include "holdfast/admin.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {
namespace {

constexpr OptionSpec init_options[] = {
    {"--dry-run", "", "print what would be done, but do nothing"},
};

// "ONE, TWO and THREE": those whose tables come to exist in that way.
std::string databases_with(StoreTables tables) {
  std::vector<std::string> titles;
  for (const StoreDescriptor& store : store_descriptors()) {
    if (store.tables == tables && store.place != StorePlace::process)
      titles.insert(titles.end(), store.titles.begin(), store.titles.end());
  }
  std::string text;
  for (std::size_t i = 0; i < titles.size(); ++i)
    text += (i == 0 ? "" : i + 1 == titles.size() ? " and " : ", ") + titles[i];
  return text;
}

std::string about_tables() {
  std::string text =
      "On " + databases_with(StoreTables::at_first_use) + " the tables are created at the first use";
  if (const std::string none = databases_with(StoreTables::none); !none.empty())
    text += "; on " + none + " there are none";
  text += ". ";
  if (const std::string by_init = databases_with(StoreTables::by_init); !by_init.empty())
    text += "On " + by_init + ", somebody who may create tables runs this once. ";
  return text;
}

struct Init {
  bool dry_run = false;
};

Init init_of(const Given& given) { return {given.flag("--dry-run")}; }

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

}  // namespace

constinit const CommandSpec commands::init{
    .name = "init",
    .usage = "[OPTION]...",
    .purpose = "Create the tables, or print how",
    .options = init_options,
    .more =
        R"({}If the table is one of Ruby's locker, what is missing is added, and locker can still use it.

  holdfast --store prod init --dry-run
  holdfast --store prod init)",
    .filled_in = about_tables,
    .read = reads<init_of>,
};

}  // namespace holdfast::cli
