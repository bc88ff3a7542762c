// SPDX-License-Identifier: Apache-2.0
// text.h - text from elsewhere: is it well formed, and how to show it safely.
#pragma once
#include <string>
#include <string_view>

namespace holdfast {

// Well-formed UTF-8: no overlong forms, no surrogates, nothing past U+10FFFF.
bool is_utf8(std::string_view text) noexcept;

// Fit for a terminal, a log or a quoted message: control characters and bytes that are not UTF-8 become
// \xNN, and so do the characters that reorder text and those that cannot be seen.  The rest stays as it is.
std::string printable(std::string_view text);

// "holdfast --store URL init", to be copied into a shell.
std::string store_command(std::string_view store, std::string_view command);

}  // namespace holdfast
