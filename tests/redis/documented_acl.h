// SPDX-License-Identifier: Apache-2.0
// documented_acl.h - the rights that docs/stores/redis.md gives the user `app`, as words of a command.
#pragma once
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::test {

inline std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// The lines of the page, joined where they are broken by a backslash.
inline std::vector<std::string> documented_acl(const std::string& page_of_redis) {
  std::ifstream page(page_of_redis);
  std::string command, line;
  while (std::getline(page, line)) {
    if (command.empty() && !line.starts_with("ACL SETUSER")) continue;
    const bool goes_on = line.ends_with('\\');
    command += " " + (goes_on ? line.substr(0, line.size() - 1) : line);
    if (!goes_on) break;
  }
  return words_of(command);
}

}  // namespace holdfast::test
