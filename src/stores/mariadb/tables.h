// SPDX-License-Identifier: Apache-2.0
// tables.h - the statements of *.sql for the tables of one store, and values as SQL text.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/clock.h"
#include "holdfast/mariadb.h"
#include "holdfast/result.h"

namespace holdfast::mariadb {

enum class Sql : std::uint8_t;  // the names of the statements: stores/mariadb/sql.h
struct ForeignLayout;           // stores/mariadb/layouts.h

// -- values: text that needs no quoting

// x'6162': nothing in it can end the literal, and no character set can change it.
std::string hex(std::string_view text);
// Digits, or NULL.
std::string digits(std::optional<std::int64_t> number);
// A DATETIME, from microseconds since 1970; none: NULL.
std::string datetime(std::optional<Micros> moment);

// What is filled in between the braces of a statement: {{"key", hex(key)}}.
using Values = std::vector<std::pair<std::string_view, std::string>>;

// The statement of schema.sql that creates {table}, or "state_row".
Sql statement_that_creates(std::string_view table);

class Tables {
 public:
  // Errc::invalid where the name is not ^[A-Za-z_][A-Za-z0-9_]{0,40}$, or is one of ours.
  static Result<Tables> named(std::string_view table, Layout layout);

  const std::string& name() const noexcept { return name_; }
  // The other program's table that leases are kept beside; null: they are in our own.
  const ForeignLayout* foreign() const noexcept { return foreign_; }
  // As a URL calls it; empty: own.
  std::string_view layout() const noexcept;
  bool usual() const { return name_ == usual_name(layout_); }
  // Of the lock table, where no name is given.
  static std::string_view usual_name(Layout layout);

  // The tables, by their names in braces: "locks", "waiters".
  std::vector<std::string_view> lease_tables() const;
  // None beside the table of another program.
  std::vector<std::string_view> job_tables() const;
  // The name of such a table in the database.
  std::string name_of(std::string_view table) const;

  // The lock table has the columns ttl_ms and ttl_until: not before `init` has migrated it.
  bool ttl() const noexcept { return ttl_; }
  Tables with_ttl(bool there) const;

  // The same tables, where it is always that moment since 1970 (core/fixed_now.h).
  Tables at(Micros now) const;

  // A key as a literal that compares as the column does.
  std::string key(std::string_view text) const;

  // A statement, without its comments.  REQUIRES: `values` has all that stands in its braces.
  std::string sql(Sql statement, const Values& values = {}) const;
  // A statement that creates a table, with its comments, for people.
  std::string schema(Sql statement, const std::string& key_type) const;

 private:
  // What stands for {word} in all statements; none: it is a value.
  std::optional<std::string> common(std::string_view word) const;
  void read_statements();

  std::string name_;
  Layout layout_ = Layout::own;
  const ForeignLayout* foreign_ = nullptr;
  bool ttl_ = true;
  std::optional<Micros> fixed_now_ = {};
  std::vector<std::string> statements_ = {};  // by Sql, for these columns: what is common() is filled in
};

}  // namespace holdfast::mariadb
