// SPDX-License-Identifier: Apache-2.0
// option_table.h - every command with its options, in the words of CLI11.
#pragma once
#include <string>

#include "cli/given.h"

namespace CLI {
class App;
}

namespace holdfast::cli {

// What is parsed goes into `given`.  The words of `jobs …` and `explain` are not in the table: they are taken
// out before.
void build_options(CLI::App& app, Given& given);

// "jobs ls"; of the program itself: empty.
std::string full_name(const CLI::App& command);

}  // namespace holdfast::cli
