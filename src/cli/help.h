// SPDX-License-Identifier: Apache-2.0
// help.h - the words of `holdfast help`.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

struct OptionLine {
  std::string names;  // "-w,--wait DURATION"
  std::string does;
};

// What a command is for, in a line.
std::string_view purpose_of(std::string_view command);

// How it is called: "holdfast show [OPTION]... KEY".
std::string usage_of(std::string_view command);

// The page of a command; of the program, if `command` is empty.
std::string help_text(std::string_view command, const std::vector<OptionLine>& options);

}  // namespace holdfast::cli
