// SPDX-License-Identifier: Apache-2.0
// layout.h - text on a screen: broken into lines, in two columns.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::cli {

inline constexpr std::size_t screen_width = 80;

// Of a text whose paragraphs stand between empty lines.  One that begins with a space is an example: its
// lines stay as they are.
struct Paragraph {
  bool is_example = false;
  std::string text;  // no example: in one line
};
std::vector<Paragraph> paragraphs_of(std::string_view text);

// Broken at its spaces; the first line begins in column `at`, the others in column `indent`.
std::string wrapped(std::string_view text, std::size_t at, std::size_t indent);

// A line for each, "  LEFT  RIGHT", RIGHT broken within its column.
std::string two_columns(const std::vector<std::pair<std::string, std::string>>& rows);

}  // namespace holdfast::cli
