// SPDX-License-Identifier: Apache-2.0
// option_table.h - every command with its options, for CLI11.
#pragma once
#include <string>
#include <string_view>

#include "cli/words/given.h"

namespace CLI {
class App;
}

namespace holdfast::cli {

// Parsing writes into `given`.  The words of `jobs …` and `explain` are not in the table: command_line.cpp
// removes them before.
//
// `first` is the first word after the program's name.  If it is a command, only that command is in the table;
// but `help` and `completions` need all.
void build_options(CLI::App& app, Given& given, std::string_view first = {});

// "jobs ls"; empty for the program itself.
std::string full_name(const CLI::App& command);

}  // namespace holdfast::cli
