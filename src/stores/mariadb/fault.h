// SPDX-License-Identifier: Apache-2.0
// fault.h - what the server's error numbers mean to a caller of ours.
#pragma once
#include <string>

#include "holdfast/result.h"

namespace holdfast::mariadb {

struct Trouble {
  unsigned code = 0;
  std::string text{};  // the server's words, or the driver's: fit for people, without secrets
};

// Somebody was faster, and nothing of ours was changed: the same again may succeed at once.
bool was_overtaken(unsigned code) noexcept;
// A row was locked for longer than we wait.
bool was_locked(unsigned code) noexcept;
// Whoever was a primary is none now, or somebody has made it read-only.
bool takes_no_writes(unsigned code) noexcept;
// This user lacks a privilege.
bool was_denied(unsigned code) noexcept;
// The statement was undone for the sake of a value, a given one or one in a row; with others it may succeed.
bool was_about_values(unsigned code) noexcept;
// The driver's own numbers: no answer came.
bool is_connection_lost(unsigned code) noexcept;

// A statement failed.  `where` is the store's name.
Error statement_error(const Trouble& trouble, const std::string& where);
// For calls that may be repeated without harm, or that failed before COMMIT: what was in doubt is only
// unavailable.
inline Error undone(Error error) {
  if (error.in_doubt()) error.code = Errc::unavailable;
  return error;
}
// No connection came about: nothing was asked.
Error connect_error(const Trouble& trouble, const std::string& where);

}  // namespace holdfast::mariadb
