// SPDX-License-Identifier: Apache-2.0
// columns.h - how much room a text takes on a screen.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// All of these take any text and show it as printable() does.  What the locale of the process has no
// character for is a question mark.

// Exactly so many columns: cut, with a ~ at the end if something is missing, or filled with spaces.
std::string fitted(std::string_view text, std::size_t columns);
// The same from the right.
std::string fitted_right(std::string_view text, std::size_t columns);
// No more than so many, and not filled.
std::string cut(std::string_view text, std::size_t columns);
// The last part of it that fits.
std::string tail(std::string_view text, std::size_t columns);
std::size_t columns_of(std::string_view text);
// In lines of so many columns, broken between words where there are some.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

}  // namespace holdfast::cli
