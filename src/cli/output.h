// SPDX-License-Identifier: Apache-2.0
// output.h - what the command writes: answers to stdout, everything else to stderr.
//
// Text that comes from a store goes through printable() first.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast::cli {

// ---- stdout

// Prints one line.
void print(std::string_view line);
// Prints text that has its own line ends, without encode_for().
void print_unchanged(std::string_view text);

// Prints one line and writes it at once.  Errc::stopped if nobody reads it any more, which is no failure;
// Errc::refused if it cannot be written.
Status print_now(std::string_view line);

// Writes what print() has buffered.  Errc::refused if any of it could not be written; the error is that of
// the first failure.
Status flush_stdout();

// Opens those of the descriptors 0, 1 and 2 that are closed.  Otherwise the next file that we open would take
// the number, and CMD would write its output into our database.  An answer still fails if stdout was closed.
void fill_standard_descriptors();

// If stdout was closed, discards what CMD writes to it: CMD need not check whether it is open.
void discard_closed_stdout();

// ---- stderr

// Writes "holdfast: SENTENCE" with one write(2): lines of several threads and processes stay whole.
void complain(std::string_view sentence) noexcept;

// Complains about the error and returns its exit code.
int fail(const Error& error);

// ---- secrets

// From now on complain() writes *** instead of this text.
void hide_secret(const std::string& secret);
// Answers are not searched for secrets: rows are for programs, and a key may be somebody's password.  So the
// text of a driver, a server or an error must pass through here before it becomes a part of an answer, and
// before it is escaped.
std::string without_secrets(std::string_view text);

// ---- text for people

// UTF-8 text for that descriptor.  If it is a terminal with another encoding, each character that is not
// ASCII becomes a question mark.  print(), print_now() and complain() call it.
std::string encode_for(int fd, std::string text);

// The stream is a terminal, and NO_COLOR is not set.
bool wants_colour(std::FILE* stream) noexcept;

// The default owner, "host:H pid:P guid:G", as "H pid P".  Any other owner is unchanged, but in quotes if it
// could be mistaken for a process.
std::string short_owner(std::string_view owner);

}  // namespace holdfast::cli
