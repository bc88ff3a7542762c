// SPDX-License-Identifier: Apache-2.0
// moment.h - parses a time as RFC 3339 writes it.
#pragma once
#include <string_view>

#include "holdfast/clock.h"
#include "holdfast/result.h"

namespace holdfast::cli {

// "2026-11-15T02:00:00Z", "2026-11-15T03:00:00.5+01:00"; from 1970 on.  The error names the text and shows a
// valid one.
Result<Moment> parse_moment(std::string_view text);

}  // namespace holdfast::cli
