// SPDX-License-Identifier: Apache-2.0
// output.h - what people read, and what they do not need to.
//
// stdout is for answers, stderr for everything else; text from a store goes through printable() first.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast::cli {

// One line on stdout.
void say(std::string_view line);

// "holdfast: SENTENCE" on stderr, as one write: lines of several threads and processes stay whole.
void complain(std::string_view sentence) noexcept;

// Complains, and returns the exit code for it.
int fail(const Error& error);

// That text is never written by say() or complain(), whoever put it into a message: *** is.
void never_say(const std::string& secret);

// A terminal is there and NO_COLOR is not.
bool wants_colour(std::FILE* stream) noexcept;

using Row = std::vector<std::string>;
using Rows = std::vector<Row>;

// Lines of cells, each column as wide as its widest cell.  The first row is the heading if `headed`.
// Cells are escaped here.
std::string aligned(const Rows& rows, bool headed, bool colour);

// The default name of a holder, "host:H pid:P guid:G", as "H pid P"; any other as it is.
std::string short_holder(std::string_view holder);

}  // namespace holdfast::cli
