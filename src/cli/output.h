// SPDX-License-Identifier: Apache-2.0
// output.h - what people read, and what they do not need to.
//
// stdout is for answers, stderr for everything else; text from a store goes through printable() first.
#pragma once
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast::cli {

// UTF-8 for that descriptor: if it is a terminal that is set to something else, what is not ASCII is a
// question mark.  say(), say_now() and complain() do so.
std::string fit_for(int fd, std::string text);

// One line on stdout.
void say(std::string_view line);

// The same for one who waits for it: it is written when this returns.  Errc::stopped if nobody reads it any
// more, which is no failure; Errc::refused if it cannot be written.
Status say_now(std::string_view line);

// "holdfast: SENTENCE" on stderr, as one write: lines of several threads and processes stay whole.
void complain(std::string_view sentence) noexcept;

// Complains, and returns the exit code for it.
int fail(const Error& error);

// CMD could not be executed, for that errno: says so, and returns the exit code for it.
int cannot_run(const std::string& program, int error);

// That text is never written by complain(), whoever put it into a message: *** is.
void never_say(const std::string& secret);
// An answer is said as it is: rows are for programs, and a key may be somebody's password.  So what a driver,
// a server or an error says goes through here before it becomes a part of one; before it is escaped.
std::string without_secrets(std::string_view text);

// A terminal is there and NO_COLOR is not.
bool wants_colour(std::FILE* stream) noexcept;

using Row = std::vector<std::string>;
using Rows = std::vector<Row>;

// Lines of cells, each column as wide as its widest cell.  The first row is the heading if `headed`.
// Cells are escaped here.
std::string aligned(const Rows& rows, bool headed, bool colour);

// The default name of a holder, "host:H pid:P guid:G", as "H pid P"; any other as it is, in quotes if it
// could be taken for a process.
std::string short_owner(std::string_view owner);

}  // namespace holdfast::cli
