// SPDX-License-Identifier: Apache-2.0
// table.h - the commands and options as plain values, for whatever is told of them: help, man pages, shells.
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace holdfast::cli {

struct OptionEntry {
  std::vector<std::string> names;  // "-w", "--wait"
  std::string value;               // "DURATION"; empty: it takes none
  std::string does;
};

struct CommandEntry {
  std::string name;                   // "jobs ls"; of the program: empty
  std::vector<OptionEntry> options;   // its own
  std::vector<std::string> commands;  // below it: "ls"
};

// The program first, then its commands in the order in which they are listed.
using Table = std::vector<CommandEntry>;

Table table_of(const CLI::App& app);

// The program itself, if there is none of that name.
const CommandEntry& entry_of(const Table& table, const std::string& name);

// What may be given to a command: its own, then those of everyone that do something there.  Not --version,
// which is a command.
std::vector<OptionEntry> options_told(const Table& table, const CommandEntry& command);

}  // namespace holdfast::cli
