// SPDX-License-Identifier: Apache-2.0
// parse.h - a command line from its words.
#pragma once
#include <string>
#include <vector>

#include "cli/words/command_line.h"

namespace holdfast::cli {

inline Result<CommandLine> parse(std::vector<std::string> words) {
  words.insert(words.begin(), "holdfast");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return parse_command_line(argv);
}

}  // namespace holdfast::cli
