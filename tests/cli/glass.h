// SPDX-License-Identifier: Apache-2.0
// glass.h - what somebody in front of a terminal sees: as much of a VT100 as ncurses uses of it.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

class Glass {
 public:
  Glass(std::size_t rows, std::size_t columns);

  // All that was written from the beginning, with this at its end.
  void show(std::string_view all);

  // Each line without the spaces at its end.
  std::string text() const;
  bool has(std::string_view words) const { return text().find(words) != std::string::npos; }

 private:
  void put(std::string glyph);
  std::string_view escape(std::string_view rest);
  void control(const std::vector<std::size_t>& numbers, char what);
  void clear(std::size_t row, std::size_t first, std::size_t end);

  const std::size_t columns_;
  std::vector<std::vector<std::string>> cells_;
  std::size_t row_ = 0, column_ = 0;
  std::size_t seen_ = 0;
};

}  // namespace holdfast::test
