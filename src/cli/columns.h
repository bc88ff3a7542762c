// SPDX-License-Identifier: Apache-2.0
// columns.h - how much room a text takes on a screen.
#pragma once
#include <cstddef>
#include <initializer_list>
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
// Cells of a table whose columns stand two apart: those of `yielding` columns are cut, the widest first,
// until its rows have no more than so many columns, or none of those has more than `shortest`.
void fit(std::vector<std::vector<std::string>>& rows, std::initializer_list<std::size_t> yielding,
         std::size_t columns, std::size_t shortest);
// In lines of so many columns, broken between words where there are some.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

}  // namespace holdfast::cli
