// SPDX-License-Identifier: Apache-2.0
// check.h - checks the arguments of callers before anything is sent.
#pragma once
#include <string_view>

#include "core/terms.h"
#include "holdfast/result.h"

namespace holdfast::core {

// Each error is Errc::invalid and names the input, what is wrong, and what would be right.

// 1 to 512 bytes of UTF-8 without NUL.
Status check_key(std::string_view key);
// The same for the name of an owner.
Status check_owner(std::string_view owner);
// A lease lasts between 20 ms and 100 years, or forever.
Status check_ttl(Millis ttl);
// The time to add to a lease is above zero, and at most 100 years.
Status check_extension(Millis more);
// Text for people: at most 4096 bytes of UTF-8.  `what` names it in the error: "the note".
Status check_words(std::string_view words, const char* what);
Status check_terms(const Terms& terms, std::optional<Millis> margin);

}  // namespace holdfast::core
