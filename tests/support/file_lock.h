// SPDX-License-Identifier: Apache-2.0
// file_lock.h - finds out whether a process waits in the kernel for the lock on a file.
#pragma once
#include <sys/stat.h>

#include <fstream>
#include <string>

namespace holdfast::test {

inline bool is_waited_for(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return false;
  const std::string inode = ":" + std::to_string(file.st_ino) + " ";
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find("-> OFDLCK") != std::string::npos && line.find(inode) != std::string::npos) return true;
  }
  return false;
}

}  // namespace holdfast::test
