// SPDX-License-Identifier: Apache-2.0
// columns.h - what the tables have to be like, so that our statements run.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace holdfast::postgres {

struct Column {
  std::string type = {};
  bool filled = false;    // NOT NULL
  bool demanded = false;  // and without a default: every INSERT has to give it
};
using Columns = std::map<std::string, Column, std::less<>>;

// By table, as probe.sql lists them; the lock table is "".
using ColumnsByTable = std::map<std::string, Columns, std::less<>>;
ColumnsByTable columns_in(std::string_view list);

// What keeps the table `word` ("locks", "waiters"), which SQL calls `called`, from being used, and what to
// do, in a sentence that goes on behind the table's name; empty: nothing.  `sequence` of the lock table may
// be missing: init adds it.
std::string what_is_wrong(std::string_view word, const std::string& called, const Columns& columns);

// character varying(255); 0: as long as you like
std::size_t limit_in(std::string_view type);

}  // namespace holdfast::postgres
