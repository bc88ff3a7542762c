// SPDX-License-Identifier: Apache-2.0
// scoreboard.h - what workers that may be killed at any moment tell their test.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "base/fd.h"

namespace holdfast::test {

struct Score {
  std::atomic<std::uint64_t> token;  // of the last grant of the worker's own key
  std::atomic<std::uint64_t> pairs;
  std::atomic<std::uint64_t> errors;
};

struct Scoreboard {
  std::array<Score, 8> scores;
  std::array<std::atomic<int>, 16> holders;  // process that believes to have a shared key, or 0
};

// Shared by all who map the same file, which is made if missing.
inline Scoreboard* map_scoreboard(const std::string& file) {
  const Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd || ::ftruncate(fd.get(), sizeof(Scoreboard)) != 0) throw std::runtime_error("cannot make " + file);
  void* memory = ::mmap(nullptr, sizeof(Scoreboard), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) throw std::runtime_error("cannot map " + file);
  return static_cast<Scoreboard*>(memory);
}

}  // namespace holdfast::test
