// SPDX-License-Identifier: Apache-2.0
// check.h - what callers give us, looked at before anything happens.
#pragma once
#include <string_view>

#include "core/terms.h"
#include "holdfast/result.h"

namespace holdfast::core {

// Each error is Errc::invalid and names the input, what is wrong, and what would be right.

// 1 to 512 bytes of UTF-8 without NUL.
Status check_key(std::string_view key);
// The same for a holder's name.
Status check_owner(std::string_view owner);
// A lease lasts between 20 ms and 100 years, or for ever.
Status check_ttl(Millis ttl);
// What is added to one is above zero, and no longer than that.
Status check_extension(Millis more);
// What people are told: at most 4096 bytes of UTF-8.  `what`: "the note".
Status check_words(std::string_view words, const char* what);
Status check_terms(const Terms& terms, std::optional<Millis> margin);

}  // namespace holdfast::core
