// SPDX-License-Identifier: Apache-2.0
// parse.h - a command line from its words, and what it prints if it needs no store.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/words/command_line.h"

namespace holdfast::cli {

inline Result<CommandLine> parse(Words words, const FillIn& fill_in = {}) {
  words.insert(words.begin(), "holdfast");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return parse_command_line(argv, fill_in);
}

inline std::string printed(const Result<CommandLine>& line) {
  EXPECT_TRUE(line) << line.error().detail;
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(line->action(line->common), 0);
  EXPECT_TRUE(flush_stdout());
  return ::testing::internal::GetCapturedStdout();
}

}  // namespace holdfast::cli
