// SPDX-License-Identifier: Apache-2.0
// tables.h - the names of our tables, and whether those in a file are exactly ours.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/table_version.h"
#include "holdfast/result.h"

namespace holdfast::sqlite {

// One lock table and what we keep beside it.  SQLite does not tell `Jobs` from `jobs`, so names are kept in
// small letters: two spellings are one table, with one queue.
class Tables {
 public:
  // Errc::invalid for a name that is not ^[A-Za-z_][A-Za-z0-9_]{0,47}$, or one of SQLite's or ours.
  static Result<Tables> named(std::string_view table);

  // Those of a file that somebody has attached under this name.
  Tables in(std::string_view schema) const;
  // As it calls them itself.
  Tables in_own_file() const { return Tables(name_); }

  const std::string& name() const noexcept { return name_; }

  // The lock table has the columns ttl_ms and ttl_until: not before `init` has migrated it.
  bool ttl() const noexcept { return ttl_; }
  void set_ttl(bool there) noexcept { ttl_ = there; }

  // Of the file they are in: "user_version".
  std::string pragma(std::string_view name) const { return "PRAGMA " + in_ + std::string(name); }

  // Of one of ours that lies beside it: "state".
  std::string beside(std::string_view word) const;

  // The SQL for these columns, with {locks}, {waiters}, {facts}, {log} and {state} put in; {jobs}, {ticks}
  // and the names of their indexes; and SQLite's own {sqlite_schema}.
  std::string expand(std::string_view sql) const;

 private:
  explicit Tables(std::string name) : name_(std::move(name)) {}
  std::string name_;
  std::string in_;  // "schema". in front of each name; empty: the connection's own file
  bool ttl_ = true;
};

// PRAGMA user_version: the oldest version that a Holdfast has to know to open the file, and above its 16 bits
// the version, if that is another.
core::TableVersion version_in(std::uint32_t user_version) noexcept;
std::uint32_t user_version_of(const core::TableVersion& version) noexcept;

class Connection;

// Whether the connection's tables are in the file, and, in connection.tables(), with which columns.  Throws
// Errc::refused when one of them is not as `schema` (schema.sql) makes it, when some are missing, when
// anything else is built on them, and when there is a trigger or a view anywhere: whoever planted it wants
// our statements to run it.  Columns that a migration adds may be missing; where the file is of a newer
// version that we can use, plain columns of its migrations may be there too.  Other plain tables, another
// lock table or a program's own, are not looked into.
bool has_our_tables(Connection& connection);

// The same of those that `jobs_schema` makes, with their indexes.
bool has_job_tables(Connection& connection);

}  // namespace holdfast::sqlite
