// SPDX-License-Identifier: Apache-2.0
// database.h - opens a file and makes sure that it is a database of ours, of this boot.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "core/table_version.h"
#include "stores/sqlite/connection.h"
#include "stores/sqlite/listener.h"

namespace holdfast::sqlite {

// Tells our files from others'; in the file's header, so that `file` and the like could know it.
inline constexpr std::int32_t application_id = 0x486F6C64;  // "Hold"
// In the header too, as PRAGMA user_version.  0.1.0 compares the text of every table, so it does not open one
// with a new column.
inline constexpr core::TableVersion our_version = {.version = core::table_version, .needs = 3};
// The statement that writes it there.
std::string set_version();

// Any number of processes may call this at once on a file that does not exist yet.
//
//   empty file                      becomes ours
//   ours, tables missing            they are made: another lock table in the same file
//   ours, of another boot           all leases are void: freed, the tokens kept
//   ours, of another time namespace Errc::refused: its times cannot be compared with ours
//   ours, of an older version       used as it is: migrate_database() adds what is new
//   ours, of a version too new      Errc::refused, untouched
//   anything else                   Errc::refused, untouched
//
// Throws Failure.  `presence` is only asked to forget those who lived before a reboot.
// REQUIRES: the connection's `until` is set and the file exists.
void open_database(Connection& connection, const Presence& presence);

// Brings the tables to the version that we would make them in; does nothing if they have it.  Leases and jobs
// stay, and connections that are open go on.
// REQUIRES: open_again() has been called.
void migrate_database(Connection& connection);

// What jobs need beside it: their tables, made when missing, and commits that survive a power cut.
// REQUIRES: open_database() has been called.
void open_jobs(Connection& connection);

// Throws Errc::refused when the file is another program's, or of a version that we do not know.  As SQLite
// sees it, the log included, which may be another's.
void require_ours(Connection& connection);

// Whether nothing is missing: open_database() would find its tables.  Changes nothing; throws as that does.
// REQUIRES: as open_database().
bool is_prepared(Connection& connection);

// On whose clock its times were read.
enum class Era : std::uint8_t {
  this_boot,
  another_boot,   // before this machine started, or on another one: no lease of then is worth anything
  another_clock,  // of this boot, in another time namespace
};
// REQUIRES: is_prepared().  Changes nothing; throws Failure.
Era era_of(Connection& connection);

// A further connection to a file that open_database() has found right.
void open_again(Connection& connection);

}  // namespace holdfast::sqlite
