// SPDX-License-Identifier: Apache-2.0
// tables.h - our tables in the database: their names, and what they have to be like so that our statements
// run.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/clock.h"
#include "holdfast/postgres.h"
#include "holdfast/result.h"

namespace holdfast::postgres {

// One lock table and what we keep beside it, in the same schema.  Names are always quoted, so `Jobs` and
// `jobs` are two tables.
class Tables {
 public:
  // `locks`, or `app.locks` in a schema.  Errc::invalid where a part is not ^[A-Za-z_][A-Za-z0-9_]{0,45}$, or
  // is a name of ours.
  static Result<Tables> named(std::string_view table, Layout layout = Layout::own);
  // Where no name is given.
  static std::string_view usual_name(Layout layout) { return layout == Layout::own ? "locks" : "shedlock"; }

  Layout layout() const noexcept { return layout_; }
  // The table that was named is ShedLock's, and all of ours lie beside it.
  bool beside_shedlock() const noexcept { return layout_ == Layout::shedlock; }

  // As given: with its schema, if it had one.
  const std::string& name() const noexcept { return name_; }
  // For to_regclass(): our lock table, quoted.
  std::string quoted() const;
  // Empty: wherever the search path finds it.
  const std::string& schema() const noexcept { return schema_; }
  // The same table, where it was found.
  Tables in_schema(std::string_view schema) const;

  // The same tables, with the columns ttl_ms and ttl_until in the lock table, or without them: there are none
  // before `init` has migrated it, and never in one that it did not make.
  Tables with_ttl(bool there) const;

  // The same tables, where it is always that moment since 1970 (core/fixed_now.h).
  Tables at(Micros now) const;
  // The same, where it is the moment that a statement of shedlock.sql has chosen for the transaction.
  Tables at_one_moment() const;

  // Of one of ours that lies beside it: "state".
  std::string beside(std::string_view word) const;

  // The SQL for these columns, with the names of tables and indexes ({locks}, {waiters}, {jobs}, {log_index}
  // …) and the words for the clock, for {us MOMENT} in microseconds since 1970, and for a {durable} commit
  // put in.
  std::string expand(std::string_view sql) const;

 private:
  Tables() = default;
  std::string put_in(std::string_view word) const;
  std::string clock_us() const;

  std::string name_, schema_, table_;
  Layout layout_ = Layout::own;
  bool ttl_ = true;
  std::optional<Micros> fixed_now_ = {};
  bool one_moment_ = false;
};

struct Column {
  std::string type = {};
  bool filled = false;    // NOT NULL
  bool demanded = false;  // and without a default: every INSERT has to give it
};
using Columns = std::map<std::string, Column, std::less<>>;

// By table, as `probe` lists them; the lock table is "".
using ColumnsByTable = std::map<std::string, Columns, std::less<>>;
ColumnsByTable columns_in(std::string_view list);

// Whether the lock table with these columns records how long leases are granted for.
bool has_ttl(const Columns& columns);

// What keeps the table `word` ("locks", "waiters"), which SQL calls `called`, from being used, and what to
// do, in a sentence that goes on behind the table's name; empty: nothing.  `sequence` of the lock table may
// be missing: init adds it.
std::string what_is_wrong(std::string_view word, const std::string& called, const Columns& columns);

// character varying(255); 0: as long as you like
std::size_t limit_in(std::string_view type);

}  // namespace holdfast::postgres
