// SPDX-License-Identifier: Apache-2.0
// check.h - checks of what a person typed, or of what a file says, before a store is asked.  Every call of
// the library makes the same checks of its arguments.
#pragma once
#include <string_view>

#include "holdfast/clock.h"
#include "holdfast/export.h"
#include "holdfast/options.h"
#include "holdfast/result.h"

namespace holdfast {

// Each error is Errc::invalid and names the input, what is wrong, and what would be right.

// 1 to 512 bytes of UTF-8 without NUL.
HOLDFAST_API Status check_key(std::string_view key);
// The same for the name of an owner.
HOLDFAST_API Status check_owner(std::string_view owner);
// A lease lasts between 20 ms and 100 years, or forever.
HOLDFAST_API Status check_ttl(Millis ttl);
// Text for people: at most 4096 bytes of UTF-8.  `what` names it in the error: "the note".
HOLDFAST_API Status check_text(std::string_view text, const char* what);
// The options of one acquisition, for a client with default options.
HOLDFAST_API Status check_options(const AcquireOptions& options);

}  // namespace holdfast
