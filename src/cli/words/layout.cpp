// SPDX-License-Identifier: Apache-2.0
#include "cli/words/layout.h"

#include <algorithm>

namespace holdfast::cli {
namespace {

constexpr std::size_t margin = 2;        // before LEFT, and between the columns
constexpr std::size_t widest_left = 22;  // what is wider reaches into the right column

}  // namespace

std::vector<Paragraph> paragraphs_of(std::string_view text) {
  std::vector<Paragraph> paragraphs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\n\n"), text.size());
    Paragraph paragraph{text.front() == ' ', std::string(text.substr(0, end))};
    if (!paragraph.is_example) std::replace(paragraph.text.begin(), paragraph.text.end(), '\n', ' ');
    paragraphs.push_back(std::move(paragraph));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return paragraphs;
}

std::string wrapped(std::string_view text, std::size_t at, std::size_t indent) {
  std::string out;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const bool first = out.empty();
    if (!first && at + 1 + word.size() > screen_width) {
      out += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (!first) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
  }
  return out;
}

std::string two_columns(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::size_t left = 0;
  for (const auto& row : rows) {
    if (row.first.size() <= widest_left) left = std::max(left, row.first.size());
  }
  const std::size_t column = margin + left + margin;
  std::string out;
  for (const auto& [name, does] : rows) {
    std::string line = std::string(margin, ' ') + name + std::string(margin, ' ');
    line.resize(std::max(line.size(), column), ' ');
    const std::size_t at = line.size();
    out += line + wrapped(does, at, column) + "\n";
  }
  return out;
}

}  // namespace holdfast::cli
