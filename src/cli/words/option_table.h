// SPDX-License-Identifier: Apache-2.0
// option_table.h - every command with its options, in the words of CLI11.
#pragma once
#include <string>
#include <string_view>

#include "cli/words/given.h"

namespace CLI {
class App;
}

namespace holdfast::cli {

// What is parsed goes into `given`.  The words of `jobs …` and `explain` are not in the table: they are taken
// out before.
//
// `first` is the first word behind the program's name: if it is a command, the others are not in the table;
// those that tell about others have them all.
void build_options(CLI::App& app, Given& given, std::string_view first = {});

// "jobs ls"; of the program itself: empty.
std::string full_name(const CLI::App& command);

}  // namespace holdfast::cli
