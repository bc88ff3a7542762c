// SPDX-License-Identifier: Apache-2.0
// help.cpp - `holdfast help [COMMAND [SUBCOMMAND]]`: the page of a command.
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/words/command_line.h"
#include "cli/words/pages.h"
#include "cli/words/values.h"

namespace holdfast::cli {
namespace {

constexpr OptionSpec help_options[] = {
    {"--man", "", "print it as a page for man(1)"},
};

struct Help {
  std::string page;
};

Help help_of(const Given& given) {
  const CommandSpec* topic = &commands::program;
  for (const std::string& word : given.words) {
    const std::string name(topic->name);
    const CommandSpec* const below = find_below(*topic, word);
    if (below == nullptr)
      refuse("unknown command " + shown(word) + (name.empty() ? "" : " of " + name) +
             suggested_command(word, *topic) + "see `holdfast help" + (name.empty() ? "" : " " + name) + "`");
    topic = below;
  }
  return {given.flag("--man") ? man_page(*topic) : help_text(*topic)};
}

int execute(const Help& command, const Common&) {
  print_unchanged(command.page);
  return exit_ok;
}

}  // namespace

constinit const CommandSpec commands::help{
    .name = "help",
    .usage = "[COMMAND [SUBCOMMAND]]",
    .purpose = "Show this page, or the page of a command",
    .options = help_options,
    .more = R"(  holdfast help jobs work
  holdfast help --man run | man -l -)",
    .read = reads<help_of>,
    .store = StoreUse::none,
};

}  // namespace holdfast::cli
