// SPDX-License-Identifier: Apache-2.0
// pages.h - the page of a command, for the terminal and for man(1).
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/words/spec.h"

namespace holdfast::cli {

// For a terminal.
std::string help_text(const CommandSpec& command);

// In the markup of man(7): holdfast(1), holdfast-run(1), holdfast-jobs-ls(1).
std::string man_page(const CommandSpec& command);

inline constexpr std::size_t screen_width = 80;

// Paragraphs of a text are separated by empty lines.  A paragraph that begins with a space is an example: its
// lines stay as they are.
struct Paragraph {
  bool is_example = false;
  std::string text;  // in one line, unless it is an example
};
std::vector<Paragraph> paragraphs_of(std::string_view text);

// The text, broken at its spaces; the first line begins in column `at`, the others in column `indent`.
std::string wrapped(std::string_view text, std::size_t at, std::size_t indent);

// A line for each row, "  LEFT  RIGHT"; RIGHT is broken within its column.
std::string two_columns(const std::vector<std::pair<std::string, std::string>>& rows);

}  // namespace holdfast::cli
