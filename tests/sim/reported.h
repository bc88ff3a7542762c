// SPDX-License-Identifier: Apache-2.0
// reported.h - a broken promise as a test's message.
#pragma once
#include <string>

#include "sim/world.h"

namespace holdfast::sim {

inline std::string told(std::uint64_t seed, const Outcome& outcome) {
  std::string text = "seed " + std::to_string(seed) + ": " + outcome.violation->property + ": " +
                     outcome.violation->detail + "\n";
  for (const Event& event : outcome.last) text += to_string(event) + "\n";
  return text;
}

}  // namespace holdfast::sim
