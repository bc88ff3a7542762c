// SPDX-License-Identifier: Apache-2.0
// table.h - the commands and options as plain values, for help, man pages and shell completions.
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace holdfast::cli {

struct OptionEntry {
  std::vector<std::string> names;  // "-w", "--wait"
  std::string value;               // "DURATION"; empty if it takes no value
  std::string does;
};

struct CommandEntry {
  std::string name;                   // "jobs ls"; empty for the program
  std::vector<OptionEntry> options;   // its own
  std::vector<std::string> commands;  // below it: "ls"
};

// The program first, then its commands in the order in which they are listed.
using Table = std::vector<CommandEntry>;

Table table_of(const CLI::App& app);

// The entry of the program if no command has that name.
const CommandEntry& entry_of(const Table& table, const std::string& name);

// The options of a command: its own, then the global ones that it uses.  Not --version, which is a command.
std::vector<OptionEntry> usable_options(const Table& table, const CommandEntry& command);

}  // namespace holdfast::cli
