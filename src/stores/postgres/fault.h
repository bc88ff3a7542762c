// SPDX-License-Identifier: Apache-2.0
// fault.h - what PostgreSQL's SQLSTATEs mean to a caller of ours.
#pragma once
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast::postgres {

struct Trouble {
  std::string state;  // SQLSTATE, five letters; empty: not the server's word
  std::string text;   // its words, or libpq's: fit for people, without secrets
};

// Others were in the way and nothing was changed: the same statement may succeed a moment later.
bool is_contention(std::string_view state) noexcept;

// The statement was undone for the sake of a value, a given one or one in a row; with others it may succeed.
bool is_about_values(std::string_view state) noexcept;

// A job's lock cannot be written, whoever tries: its key is too long for the column, or for the index.
bool is_of_one_job(std::string_view state) noexcept;

// A statement failed.  `where` is the store's name.
Error statement_error(const Trouble& trouble, const std::string& where);

// No connection came about: nothing was asked.
Error connect_error(const Trouble& trouble, const std::string& where);

// Of what libpq says when a connection did not come about.
// In "FATAL:  28P01: password …", which is how it writes the state when it is asked to be verbose; empty:
// none.
std::string state_in(std::string_view message);
// Without the line that names a file of the server's sources, and without the state: that is told once.
std::string text_of(std::string_view message, const std::string& state);
// The text of a failed handshake that is no refusal: the line was cut.
bool says_cut(std::string_view message);

}  // namespace holdfast::postgres
