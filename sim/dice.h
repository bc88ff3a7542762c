// SPDX-License-Identifier: Apache-2.0
// dice.h - all chance in a simulated world comes from here, and so from one seed.
#pragma once
#include <cmath>
#include <cstdint>

#include "holdfast/clock.h"

namespace holdfast::sim {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {  // splitmix64: neighbouring seeds have nothing in common
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  // In [0, 1).
  double fraction() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool chance(double probability) noexcept { return fraction() < probability; }
  // From lo to hi, both possible.
  int between(int lo, int hi) noexcept {
    return lo + static_cast<int>(next() % static_cast<std::uint64_t>(hi - lo + 1));
  }
  Micros between(Micros lo, Micros hi) noexcept {
    return lo + Micros(static_cast<Micros::rep>(fraction() * static_cast<double>((hi - lo).count() + 1)));
  }
  // From lo to hi, each order of magnitude as likely as the others.  REQUIRES: lo > 0.
  Micros spread(Micros lo, Micros hi) noexcept {
    const double low = std::log(static_cast<double>(lo.count()));
    const double high = std::log(static_cast<double>(hi.count()));
    return Micros(static_cast<Micros::rep>(std::exp(low + fraction() * (high - low))));
  }

 private:
  std::uint64_t state_;
};

}  // namespace holdfast::sim
