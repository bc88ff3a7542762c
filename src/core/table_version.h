// SPDX-License-Identifier: Apache-2.0
// table_version.h - the version of the tables of a store: which one this Holdfast creates, and which it can
// use.  docs/internals/adr/0033 says what a change of the tables has to do.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::core {

// As 0.1.0 created them.  Tables that do not say their version have this one.
inline constexpr std::int64_t first_table_version = 2;
// As schema.sql creates them now.
//   3  the lock table records how long a lease was granted or renewed for: ttl_ms, ttl_until
inline constexpr std::int64_t table_version = 3;

struct TableVersion {
  std::int64_t version = first_table_version;  // of the last migration that was run
  std::int64_t needs = first_table_version;    // a Holdfast that knows only older ones must not use them

  bool too_new() const noexcept { return needs > table_version; }
  bool outdated() const noexcept { return version < table_version; }
};

// Goes on behind the name of a table or a file that is too new: why it is refused, and what to do.
std::string newer_tables(std::int64_t needs);
// The same where the version is no number: as it is written there.
std::string newer_tables(std::string_view needs);

// Whether a statement of schema.sql with this name, "migrate_3_locks", brings tables of that version further.
bool migrates(std::string_view name, std::int64_t version) noexcept;
// The table that it changes: "locks".
std::string_view migrated_table(std::string_view name) noexcept;

// A statement for a lock table with the columns ttl_ms and ttl_until, or without them: a line that ends in
// "-- with ttl" is for the one, a line that ends in "-- without ttl" for the other.
std::string lines_for(std::string_view sql, bool ttl);

}  // namespace holdfast::core
