// SPDX-License-Identifier: Apache-2.0
// moment.h - a moment as people and programs write it.
#pragma once
#include <string_view>

#include "holdfast/clock.h"
#include "holdfast/result.h"

namespace holdfast::cli {

// RFC 3339: "2026-11-15T02:00:00Z", "2026-11-15T03:00:00.5+01:00".  From 1970 on.  The error names the text
// and what would be right.
Result<Moment> parse_moment(std::string_view text);

}  // namespace holdfast::cli
