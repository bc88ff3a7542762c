// SPDX-License-Identifier: Apache-2.0
// layouts.h - leases beside the lock table of another program, so that its processes and ours exclude each
// other.
//
// The other program sees only its own table.  What that has no column for (token, exact times, queue, note)
// is in Holdfast's tables.  A lease is held while both tables have its row; a row of the other table without
// Holdfast's mark is a lock of the other program.  A layout is one .cpp and one .sql: darwin,
// shedlock.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "core/rule.h"
#include "stores/mariadb/connection.h"

namespace holdfast::mariadb {

// A lock of the other table, read under lock in the transaction that decides about it.
class ForeignRow {
 public:
  virtual ~ForeignRow() = default;

  // A lock that was not ours has its own name, and no token.
  void correct(core::Outcome& outcome) const;

  // The statement that makes the other table follow.
  virtual std::string write(std::string_view key, const core::Record& before, const core::Record& after,
                            Micros now, const Tables& tables) const = 0;

 protected:
  // For a live lock of the other program: no Holdfast client can act as its owner, nor break it by a token.
  void hide(core::Record& record, std::string shown);

  bool there_ = false, foreign_ = false;

 private:
  std::string live_ = {};  // a lock of the other program, as people are told it; empty: none
};

struct ForeignLayout {
  std::string_view name;   // as in layout=NAME, and of its table in braces
  std::string_view table;  // its usual name
  std::string_view key;    // the column with the name of a lock
  std::string_view owner;  // the column that says who has it
  // What `locked_row` of it found: makes `record` what is true of both tables.  `letters`: how many the
  // column of the owner takes.
  std::unique_ptr<ForeignRow> (*read)(const Answer& row, core::Record& record, Micros now,
                                      std::size_t letters);
  Sql lock_row, list;
  // What stands in the braces of `list` besides the usual.
  Values (*list_values)();
  // The statement that deletes our rows of those keys from the table; empty: they stay.
  std::string (*purge)(const Tables& tables, const std::string& keys);
  const char* weakness;  // of the layout, for doctor
};

extern const ForeignLayout darwin_layout, shedlock_layout;

// Null: tables of our own.
const ForeignLayout* foreign_layout(Layout layout);
// The one of that name in a URL; Layout::own for any other.
Layout layout_named(std::string_view name);

}  // namespace holdfast::mariadb
