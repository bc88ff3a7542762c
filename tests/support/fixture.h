// SPDX-License-Identifier: Apache-2.0
// fixture.h - what an earlier version wrote, from tests/fixtures.
#pragma once
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {

// The text of that file, with each of these words replaced.
inline std::string fixture(const std::string& path,
                           const std::vector<std::pair<std::string_view, std::string>>& words) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const auto& [word, by] : words)
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
      text.replace(at, word.size(), by);
  return text;
}

}  // namespace holdfast::test
