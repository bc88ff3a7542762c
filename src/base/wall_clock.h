// SPDX-License-Identifier: Apache-2.0
// wall_clock.h - the time on the wall: for people, and for the clock part of tokens.  It decides nothing.
#pragma once
#include <string>

#include "holdfast/clock.h"

namespace holdfast {

// Since 1970.
Micros wall_now() noexcept;

// The same, in words: "2026-11-15 04:12:09Z".
std::string format_wall(Micros since_1970);

}  // namespace holdfast
