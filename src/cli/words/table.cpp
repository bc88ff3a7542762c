// SPDX-License-Identifier: Apache-2.0
#include "cli/words/table.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/words/option_table.h"

namespace holdfast::cli {
namespace {

OptionEntry entry_of(const CLI::Option& option) {
  OptionEntry entry{{}, option.get_option_text(), option.get_description()};
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  return entry;
}

bool is_named(const OptionEntry& option, const char* name) {
  return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
}

// A global option is not listed for a command that ignores it: CMD prints the answer of `run` and `fence`,
// `wait` prints none, and commands that only read a store print no warnings about how it is set up.
bool is_for(const OptionEntry& option, const std::string& command) {
  if (is_named(option, "--json")) return command != "run" && command != "fence" && command != "wait";
  if (is_named(option, "--quiet"))
    return command.empty() || command == "run" || command == "acquire" || command == "jobs enqueue" ||
           command == "jobs work";
  if (is_named(option, "--store")) return command != "fence";
  return !is_named(option, "--version") && !is_named(option, "--verbose");
}

void append(Table& table, const CLI::App& app) {
  CommandEntry& entry = table.emplace_back(CommandEntry{full_name(app), {}, {}});
  for (const CLI::Option* option : app.get_options()) {
    const bool is_everyones = option->check_lname("help") && app.get_parent() != nullptr;
    if (!option->get_positional() && !is_everyones) entry.options.push_back(entry_of(*option));
  }
  const std::vector<const CLI::App*> below = app.get_subcommands({});
  for (const CLI::App* command : below) entry.commands.push_back(command->get_name());
  for (const CLI::App* command : below) append(table, *command);
}

}  // namespace

Table table_of(const CLI::App& app) {
  Table table;
  append(table, app);
  return table;
}

const CommandEntry& entry_of(const Table& table, const std::string& name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const CommandEntry& entry) { return entry.name == name; });
  return found != table.end() ? *found : table.front();
}

std::vector<OptionEntry> usable_options(const Table& table, const CommandEntry& command) {
  std::vector<OptionEntry> options = command.name.empty() ? std::vector<OptionEntry>{} : command.options;
  for (const OptionEntry& option : table.front().options) {
    if (is_for(option, command.name)) options.push_back(option);
  }
  return options;
}

}  // namespace holdfast::cli
