// SPDX-License-Identifier: Apache-2.0
// columns.h - text in columns of a screen.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// These functions take any text and escape it as printable() does.  A character that the locale of the
// process does not have becomes a question mark.

std::size_t columns_of(std::string_view text);
// Exactly `columns` wide: cut, with a ~ at the end if something is missing, or filled with spaces.
std::string fitted(std::string_view text, std::size_t columns);
// The same, aligned to the right.
std::string fitted_right(std::string_view text, std::size_t columns);
// At most `columns` wide; not filled.
std::string cut(std::string_view text, std::size_t columns);
// The end of the text that fits.
std::string tail(std::string_view text, std::size_t columns);
// Lines of at most `columns`, broken between words where possible.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

using Row = std::vector<std::string>;
using Rows = std::vector<Row>;

// Lines of cells, two columns apart, each column as wide as its widest cell.  The first row is the heading if
// `headed`.
std::string aligned(const Rows& rows, bool headed, bool colour);
// Cuts the cells of the `yielding` columns, the widest first, until aligned() is at most `columns` wide, or
// none of them is wider than `shortest`.
void fit(Rows& rows, std::initializer_list<std::size_t> yielding, std::size_t columns, std::size_t shortest);

}  // namespace holdfast::cli
