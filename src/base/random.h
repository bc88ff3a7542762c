// SPDX-License-Identifier: Apache-2.0
// random.h - unique names, and jitter.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

namespace holdfast {

// From the kernel: for names that must be unique on all machines.
std::uint64_t random_bits();
std::string random_hex(std::size_t digits);

// Texts of 16 hex digits that differ from each other; the first is random.  It reads random bits from the
// kernel only once.  Any thread may call next().
class Serial {
 public:
  Serial() : count_(random_bits()) {}
  std::string next();

 private:
  std::atomic<std::uint64_t> count_;
};

// Cheap pseudo-random numbers, so that sleepers do not wake all at once.  Not for secrets or names.  The
// owner of the object chooses the seed.
class Jitter {
 public:
  explicit Jitter(std::uint64_t seed) noexcept : state_(seed | 1) {}

  std::uint64_t next() noexcept {  // xorshift64*
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1DULL;
  }
  std::uint64_t below(std::uint64_t n) noexcept { return n == 0 ? 0 : (next() >> 11) % n; }
  // In [0, 1).
  double fraction() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace holdfast
