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

// A statement failed.  `where` is the store's name.
Error statement_error(const Trouble& trouble, const std::string& where);

// No connection came about: nothing was asked.
Error connect_error(const Trouble& trouble, const std::string& where);

}  // namespace holdfast::postgres
