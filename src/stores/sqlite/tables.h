// SPDX-License-Identifier: Apache-2.0
// tables.h - the names of our tables in the file.
#pragma once
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast::sqlite {

// One lock table and what we keep beside it.  SQLite does not tell `Jobs` from `jobs`, so names are kept in
// small letters: two spellings are one table, with one queue.
class Tables {
 public:
  // Errc::invalid for a name that is not ^[A-Za-z_][A-Za-z0-9_]{0,47}$, or one of SQLite's or ours.
  static Result<Tables> named(std::string_view table);

  const std::string& name() const noexcept { return name_; }

  // Of one of ours that lies beside it: "state".
  std::string beside(std::string_view word) const;

  // The SQL with {locks}, {waiters}, {facts}, {log} and {state} put in.
  std::string expand(std::string_view sql) const;

 private:
  explicit Tables(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

}  // namespace holdfast::sqlite
