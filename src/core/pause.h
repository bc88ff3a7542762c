// SPDX-License-Identifier: Apache-2.0
// pause.h - how long to wait before asking again.
#pragma once
#include <algorithm>

#include "holdfast/clock.h"

namespace holdfast::core {

// `first`, twice that, four times, …, at most `longest`.
constexpr Millis growing(Millis first, Millis longest, int times) {
  return std::min(longest, first * (Millis::rep{1} << std::min(times, 16)));
}

constexpr Millis scaled(Millis d, double factor) {
  return Millis(static_cast<Millis::rep>(static_cast<double>(d.count()) * factor));
}

}  // namespace holdfast::core
