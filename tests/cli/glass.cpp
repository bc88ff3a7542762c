// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/glass.h"

#include <algorithm>

namespace holdfast::test {

Glass::Glass(std::size_t rows, std::size_t columns)
    : columns_(columns), cells_(rows, std::vector<std::string>(columns, " ")) {}

void Glass::put(std::string glyph) {
  if (column_ < columns_) cells_[row_][column_++] = std::move(glyph);
}

void Glass::clear(std::size_t row, std::size_t first, std::size_t end) {
  for (std::size_t i = first; i < std::min(end, columns_); ++i) cells_[row][i] = " ";
}

void Glass::control(const std::vector<std::size_t>& numbers, char what) {
  const auto number = [&](std::size_t i) { return i < numbers.size() ? numbers[i] : 0; };
  const std::size_t many = std::max<std::size_t>(number(0), 1), last = cells_.size() - 1;
  switch (what) {
    case 'H':
      row_ = std::min(many - 1, last);
      column_ = std::max<std::size_t>(number(1), 1) - 1;
      break;
    case 'A': row_ -= std::min(row_, many); break;
    case 'B': row_ = std::min(row_ + many, last); break;
    case 'C': column_ = std::min(column_ + many, columns_ - 1); break;
    case 'D': column_ -= std::min(column_, many); break;
    case 'K':
      if (number(0) == 0) clear(row_, column_, columns_);
      if (number(0) == 1) clear(row_, 0, column_ + 1);
      break;
    case 'J':
      clear(row_, column_, columns_);
      for (std::size_t row = row_ + 1; row <= last; ++row) clear(row, 0, columns_);
      break;
    default: break;  // colours and modes are ignored
  }
}

// What is behind it.  Nothing: the rest of it has not come yet.
std::string_view Glass::escape(std::string_view rest) {
  if (rest.size() < 2) return {};
  if (rest[1] == '(' || rest[1] == ')') return rest.substr(std::min<std::size_t>(3, rest.size()));
  if (rest[1] != '[') return rest.substr(2);
  std::vector<std::size_t> numbers(1);
  for (std::size_t i = 2; i < rest.size(); ++i) {
    const char c = rest[i];
    if (c >= '0' && c <= '9') numbers.back() = numbers.back() * 10 + static_cast<std::size_t>(c - '0');
    if (c == ';') numbers.push_back(0);
    if (c < '@') continue;
    control(numbers, c);
    return rest.substr(i + 1);
  }
  return {};
}

void Glass::show(std::string_view all) {
  std::string_view rest = all.substr(seen_);
  while (!rest.empty()) {
    const char c = rest[0];
    if (c == '\033') {
      const std::string_view behind = escape(rest);
      if (behind.data() == nullptr) break;
      rest = behind;
      continue;
    }
    std::size_t length = 1;
    while (length < rest.size() && (static_cast<unsigned char>(rest[length]) & 0xC0) == 0x80) ++length;
    if (c == '\r') column_ = 0;
    if (c == '\n') row_ = std::min(row_ + 1, cells_.size() - 1);
    if (c == '\b') column_ -= std::min<std::size_t>(column_, 1);
    if (static_cast<unsigned char>(c) >= ' ') put(std::string(rest.substr(0, length)));
    rest.remove_prefix(length);
  }
  seen_ = all.size() - rest.size();
}

std::string Glass::text() const {
  std::string out;
  for (const auto& row : cells_) {
    std::string line;
    for (const std::string& cell : row) line += cell;
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

}  // namespace holdfast::test
