// SPDX-License-Identifier: Apache-2.0
// clocks.h - true time, which nobody in the world can read, and the clocks that show it a little wrong.
#pragma once
#include <chrono>

#include "holdfast/clock.h"

namespace holdfast::sim {

// Since the world began.
using True = std::chrono::nanoseconds;
inline constexpr True never_comes = True::max();

// Runs at a constant rate that is nearly right, from an offset of its own.
class DriftingClock {
 public:
  DriftingClock(std::chrono::nanoseconds offset, int ppm) : offset_(offset), ppm_(ppm) {}

  Instant at(True t) const {
    const auto whole = t.count() / 1'000'000, rest = t.count() % 1'000'000;
    return Instant(offset_ + t + std::chrono::nanoseconds(whole * ppm_ + rest * ppm_ / 1'000'000));
  }
  // The first moment at which the clock shows that instant, or a later one.
  True when(Instant shown) const {
    if (shown - Instant(offset_) > std::chrono::hours(24)) return never_comes;
    const double passed = static_cast<double>((shown - Instant(offset_)).count());
    True t(static_cast<True::rep>(passed / (1.0 + ppm_ * 1e-6)));
    while (at(t) < shown) ++t;
    while (at(t - True(1)) >= shown) --t;
    return t;
  }
  int ppm() const { return ppm_; }

 private:
  std::chrono::nanoseconds offset_;
  int ppm_;
};

}  // namespace holdfast::sim
