// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/database.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "stores/sqlite/sql/reboot.sql.h"
#include "stores/sqlite/sql/schema.sql.h"

namespace holdfast::sqlite {
namespace {

// The first bytes of a database file (sqlite.org/fileformat.html), read without any lock and without
// SQLite's repairs: a file that is not ours stays as it is, down to its journal.
struct Header {
  bool empty = false;
  bool sqlite = false;
  bool wal = false;
  std::uint32_t user_version = 0;
  std::uint32_t application_id = 0;
};

Header read_header(const Connection& connection) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection.raw(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  sqlite3_int64 size = 0;
  std::array<unsigned char, 100> bytes{};
  if (file->pMethods->xFileSize(file, &size) != SQLITE_OK || size == 0) return {.empty = true};
  file->pMethods->xRead(file, bytes.data(), static_cast<int>(bytes.size()), 0);
  const auto number = [&](std::size_t at) {
    return static_cast<std::uint32_t>(bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 |
                                      bytes[at + 3]);
  };
  return {.sqlite = std::memcmp(bytes.data(), "SQLite format 3", 16) == 0,
          .wal = bytes[18] == 2 && bytes[19] == 2,
          .user_version = number(60),
          .application_id = number(68)};
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  raise({Errc::refused, path + why});
}

void require_ours(const std::string& path, std::uint32_t id, std::uint32_t version) {
  if (id != static_cast<std::uint32_t>(application_id)) {
    std::array<char, 16> hex;
    std::snprintf(hex.data(), hex.size(), "0x%08x", static_cast<unsigned>(id));
    refuse(path, std::string(" is not a Holdfast database: it belongs to another program (application_id ") +
                     hex.data() + "); nothing was changed, give another path");
  }
  if (version > schema_version) {
    refuse(path, " was written by a newer Holdfast (version " + std::to_string(version) +
                     " of its tables, we know " + std::to_string(schema_version) +
                     "); nothing was changed, install the newer one");
  }
  if (version < schema_version) {
    refuse(path, " was written by a Holdfast before its first release (version " + std::to_string(version) +
                     " of its tables, we know " + std::to_string(schema_version) +
                     "); nothing was changed, move it away while nobody uses it");
  }
}

// SQLite does not ask the busy handler everywhere while a file is being made; then we ask ourselves.
template <class Step>
void until_not_busy(Connection& connection, Step step) {
  for (int times = 0;; ++times) {
    try {
      return step();
    } catch (const Busy&) {
      if (!connection.stand_back(times)) throw;
    }
  }
}

std::uint32_t pragma(Connection& connection, const char* name) {
  return static_cast<std::uint32_t>(std::stoll(connection.ask(std::string("PRAGMA ") + name).value_or("0")));
}

bool has_tables(Connection& connection) {
  // Ours has neither; whoever planted one wants our statements to run it.
  if (connection.ask("SELECT name FROM sqlite_schema WHERE type IN ('trigger', 'view')")) {
    refuse(connection.path(), " has triggers or views, and ours has none; give another path");
  }
  const std::string state = connection.tables().beside("state");
  return connection.ask("SELECT 1 FROM sqlite_schema WHERE name = '" + state + "'").has_value();
}

void make_tables(Connection& connection) {
  Transaction transaction(connection);
  const bool made = connection.ask("SELECT 1 FROM sqlite_schema").has_value();
  if (made) {  // somebody was faster, and perhaps not one of us
    require_ours(connection.path(), pragma(connection, "application_id"), pragma(connection, "user_version"));
  }
  connection.run_script("PRAGMA application_id = " + std::to_string(application_id));
  connection.run_script("PRAGMA user_version = " + std::to_string(schema_version));
  connection.run_script(schema_sql);
  transaction.commit();
}

void use_wal(Connection& connection) {
  if (connection.ask("PRAGMA journal_mode = WAL") == "wal") return;
  refuse(connection.path(), " cannot have a write-ahead log there; keep it on a local disk");
}

bool of_this_boot(Connection& connection) {
  const Machine& machine = connection.machine();
  Cursor cursor = connection.run(Sql::boot);
  if (!cursor.next()) {
    refuse(connection.path(), " does not say of which boot it is; move it away while nobody uses it");
  }
  const bool same_boot = cursor.text(0) == machine.boot_id;
  const bool same_clock = static_cast<std::uint64_t>(cursor.number(1)) == machine.time_namespace;
  if (same_boot && !same_clock) {
    refuse(connection.path(),
           " is used by processes in another time namespace, whose clock is not ours; "
           "use it from one namespace, or give another path");
  }
  return same_boot;
}

void reboot(Connection& connection, const Presence& presence) {
  Transaction transaction(connection);
  if (of_this_boot(connection)) return;  // somebody was faster
  connection.run_script(reboot_sql);
  presence.forget_all();
  transaction.commit();
}

void configure(Connection& connection) {
  if (sqlite3_db_readonly(connection.raw(), "main") == 1) {
    refuse(connection.path(), " may not be written by this user: it takes permission on file and folder");
  }
  // A power cut may lose the last commits, but not the file; and then no lease is left to lose.
  connection.run_script("PRAGMA synchronous = NORMAL; PRAGMA cell_size_check = ON");
}

Header open_ours(Connection& connection) {
  connection.open();
  const Header header = read_header(connection);
  if (header.empty) return header;
  if (!header.sqlite)
    refuse(connection.path(), " is not a Holdfast database; nothing was changed, give another path");
  require_ours(connection.path(), header.application_id, header.user_version);
  return header;
}

}  // namespace

bool is_prepared(Connection& connection) { return !open_ours(connection).empty && has_tables(connection); }

void open_database(Connection& connection, const Presence& presence) {
  const Header header = open_ours(connection);
  configure(connection);
  // Made with a rollback journal: the header is ours in the same moment in which it exists at all.
  until_not_busy(connection, [&] {
    if (!has_tables(connection)) make_tables(connection);
  });
  if (!header.wal) until_not_busy(connection, [&] { use_wal(connection); });
  until_not_busy(connection, [&] {
    if (!of_this_boot(connection)) reboot(connection, presence);
  });
}

void open_again(Connection& connection) {
  connection.open();
  configure(connection);
}

}  // namespace holdfast::sqlite
