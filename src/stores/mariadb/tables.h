// SPDX-License-Identifier: Apache-2.0
// tables.h - the names of our tables in the database, and the words that are the same in all statements.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/clock.h"
#include "holdfast/mariadb.h"
#include "holdfast/result.h"

namespace holdfast::mariadb {

class Tables {
 public:
  // Errc::invalid where the name is not ^[A-Za-z_][A-Za-z0-9_]{0,40}$, or is one of ours.
  static Result<Tables> named(std::string_view table, Layout layout);

  const std::string& name() const noexcept { return name_; }
  bool darwin() const noexcept { return layout_ == Layout::darwin; }
  bool usual() const { return name_ == (darwin() ? "DARWIN_LOCK" : "locks"); }

  // Which there are, by the names in schema.sql: "locks", "waiters".
  std::vector<std::string_view> words() const;
  // Those of jobs, which only an engine asks for; none beside Darwin's.
  std::vector<std::string_view> job_words() const;
  // What such a table is called.
  std::string called(std::string_view word) const;

  // The same tables, where it is always that moment since 1970 (core/fixed_now.h).
  Tables at(Micros now) const;

  // A key as a literal that compares as the column does.
  std::string key(std::string_view text) const;

  // The SQL without its comments, with the names of tables and the words for the clock put in.  Other {words}
  // stay.
  std::string expand(std::string_view sql) const;
  // With its comments, for people.
  std::string expand_for_people(std::string_view sql, const std::string& key_type) const;

 private:
  std::string put_in(std::string_view word) const;

  std::string name_;
  Layout layout_ = Layout::own;
  std::optional<Micros> fixed_now_ = {};
};

}  // namespace holdfast::mariadb
