// SPDX-License-Identifier: Apache-2.0
// scoreboard.h - shared memory in which workers, which may be killed at any moment, report to their test.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "base/fd.h"
#include "holdfast/clock.h"

namespace holdfast::test {

// Which worker holds a key, and until when: in one machine word, so that it is written in one step.
class Belief {
 public:
  Belief() = default;
  Belief(int pid, Instant deadline)
      : word_(static_cast<std::uint64_t>(pid) << 40 |
              static_cast<std::uint64_t>(std::chrono::floor<Millis>(deadline.time_since_epoch()).count())) {}

  bool none() const { return word_ == 0; }
  int pid() const { return static_cast<int>(word_ >> 40); }
  Instant deadline() const { return Instant(Millis(word_ & ((std::uint64_t{1} << 40) - 1))); }
  bool operator==(const Belief&) const = default;

 private:
  std::uint64_t word_ = 0;
};

struct Slot {
  std::atomic<Belief> owner;
  std::atomic<std::uint64_t> token;  // of the last grant
};

struct Score {
  std::atomic<std::uint64_t> pairs;    // of an acquire and a release
  std::atomic<std::uint64_t> outages;  // calls that were not answered
  std::atomic<std::uint64_t> errors;   // what must not happen
};

struct Scoreboard {
  std::array<Score, 8> scores;
  std::array<Slot, 8> slots;
};

// Shared by all processes that map the same file, which is created if it is missing.
inline Scoreboard* map_scoreboard(const std::string& file) {
  const Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd || ::ftruncate(fd.get(), sizeof(Scoreboard)) != 0) throw std::runtime_error("cannot make " + file);
  void* memory = ::mmap(nullptr, sizeof(Scoreboard), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) throw std::runtime_error("cannot map " + file);
  return static_cast<Scoreboard*>(memory);
}

}  // namespace holdfast::test
