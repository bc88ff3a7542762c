// SPDX-License-Identifier: Apache-2.0
// exec.h - what a process of ours takes along when it becomes CMD.
#pragma once
#include <fcntl.h>

#include <string>
#include <vector>

namespace holdfast::cli {

// Scripts use the small numbers (`exec 3>file`), and shells a few above ten: up here a descriptor is in
// nobody's way.  Where so many are not allowed, anywhere will do.  False: errno says why.
inline bool outlives_exec(int fd) noexcept {
  for (const int lowest : {64, 16, 3}) {
    if (::fcntl(fd, F_DUPFD, lowest) >= 0) return true;
  }
  return false;
}

// For exec, as long as `command` lives.
inline std::vector<char*> arguments(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  return argv;
}

}  // namespace holdfast::cli
