// SPDX-License-Identifier: Apache-2.0
// duration.h - lengths of time as people write them.
#pragma once
#include <string>
#include <string_view>

#include "holdfast/clock.h"
#include "holdfast/result.h"

namespace holdfast {

// "250ms", "30s", "5m", "1.5h", "2d".  The error names the text and what would be right.  Zero is a
// duration; whether it makes sense is the caller's business.  At most 100 years.
Result<Millis> parse_duration(std::string_view text);

// Short, for people: "250ms", "29.8s", "5m", "1h 5m", "3d 2h"; "never".
std::string format_duration(Millis duration);

}  // namespace holdfast
