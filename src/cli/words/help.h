// SPDX-License-Identifier: Apache-2.0
// help.h - the words of `holdfast help`.
#pragma once
#include <string>
#include <string_view>

#include "cli/words/table.h"

namespace holdfast::cli {

// What a command is for, in a line.
std::string_view purpose_of(std::string_view command);

// How it is called: "holdfast show [OPTION]... KEY".
std::string usage_of(std::string_view command);

// What else there is to say, and two examples, as paragraphs_of() takes them.
std::string_view more_of(std::string_view command);

// The names of an option and of its value: "-w,--wait DURATION".
std::string written(const OptionEntry& option);

// The page of a command.
std::string help_text(const Table& table, const CommandEntry& command);

}  // namespace holdfast::cli
