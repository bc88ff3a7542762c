// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/database.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "stores/sqlite/leases.h"
#include "stores/sqlite/path.h"

namespace holdfast::sqlite {
namespace {

constexpr int longest_job_row = 2 << 20;  // in bytes: longer than those of leases

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
  std::array<unsigned char, 100> bytes{};
  // Not by SQLite's word: it takes a file of one byte for empty, and would write over it.
  struct stat found {};
  if (::lstat(connection.path().c_str(), &found) != 0)
    throw_failure(system_error("cannot access " + connection.path(), errno));
  if (found.st_size == 0) return {.empty = true};
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

[[noreturn]] void refuse_file(const std::string& path, const std::string& why) {
  throw_failure({Errc::refused, path + why});
}

void require_ours(const std::string& path, std::uint32_t id, std::uint32_t user_version) {
  if (id != static_cast<std::uint32_t>(application_id)) {
    std::array<char, 16> hex;
    std::snprintf(hex.data(), hex.size(), "0x%08x", static_cast<unsigned>(id));
    refuse_file(path,
                std::string(" is not a Holdfast database: it belongs to another program (application_id ") +
                    hex.data() + "), so nothing was changed; give another path");
  }
  const core::TableVersion version = version_in(user_version);
  if (version.too_new()) refuse_file(path, core::newer_tables(version.needs));
  if (version.needs < core::first_table_version) {
    refuse_file(path, " was written by a Holdfast from before the first release (version " +
                          std::to_string(version.needs) + " of the tables; this Holdfast knows " +
                          std::to_string(core::first_table_version) + " and later" +
                          "), so nothing was changed; move it away while no process uses it");
  }
}

// -- a rollback journal beside a file that should have none

// sqlite.org/fileformat.html, "The Rollback Journal".
constexpr std::array<unsigned char, 8> magic = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
constexpr std::size_t header_size = 28, most_sector = 65536, most_page = 65536;
constexpr std::size_t id_in_page = 68;

class JournalBytes {
 public:
  explicit JournalBytes(const std::string& path) {
    // No further than one page and what stands around it; one byte more shows that there is more.
    std::ifstream file(path, std::ios::binary);
    bytes_.resize(most_sector + most_page + 9);
    file.read(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
    bytes_.resize(static_cast<std::size_t>(file.gcount()));
  }
  std::size_t size() const { return bytes_.size(); }
  bool starts_with_magic() const {
    for (std::size_t i = 0; i < magic.size(); ++i) {
      if (at(i) != magic[i]) return false;
    }
    return true;
  }
  std::uint32_t number(std::size_t from) const {
    return at(from) << 24 | at(from + 1) << 16 | at(from + 2) << 8 | at(from + 3);
  }

 private:
  std::uint32_t at(std::size_t i) const {
    return i < bytes_.size() ? static_cast<unsigned char>(bytes_[i]) : 0u;
  }
  std::string bytes_;
};

// One record: its page number, the page, a checksum.
bool has_our_page_1_only(const JournalBytes& journal, std::uint32_t our_id) {
  const std::size_t sector = journal.number(20), page = journal.number(24);
  const bool sound = journal.number(16) != 0 && sector >= header_size && sector <= most_sector &&
                     page >= 512 && page <= most_page;
  return sound && journal.size() <= sector + page + 8 && journal.number(sector) == 1 &&
         journal.number(sector + 4 + id_in_page) == our_id;
}

// Of a database in WAL mode SQLite still plays back a journal that lies beside it, before anybody can look at
// the tables.  Ours can have one only if a process died in the middle of switching to WAL, and then it has
// page 1 in it and nothing else.  Throws Errc::refused for every other: played back it would overwrite what
// we keep.
//
// REQUIRES: the file is of ours and in WAL mode.
void check_journal(const std::string& path, std::uint32_t our_id) {
  const std::string name = path + "-journal";
  std::error_code unknown;
  if (!std::filesystem::exists(name, unknown)) return;
  const JournalBytes journal(name);
  // SQLite plays back nothing that does not start so.
  if (!journal.starts_with_magic() || has_our_page_1_only(journal, our_id)) return;
  throw_failure(
      {Errc::refused,
       "the journal " + name +
           " is not of this database and would overwrite it; nothing was changed; remove the journal"});
}

// -- opening

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
  return static_cast<std::uint32_t>(
      std::stoll(connection.ask(connection.tables().pragma(name)).value_or("0")));
}

void make_tables(Connection& connection) {
  Transaction transaction(connection);
  require_ours(connection);  // somebody was faster, and perhaps not one of us
  if (has_our_tables(connection)) return;
  // In a file with another lock table an older Holdfast may still use that one.
  if (!connection.run(Sql::first_object).next()) {
    connection.run_script("PRAGMA application_id = " + std::to_string(application_id));
    connection.run_script(set_version());
  }
  connection.run_script(text(Sql::schema));
  transaction.commit();
}

void use_wal(Connection& connection) {
  if (connection.ask("PRAGMA journal_mode = WAL") == "wal") return;
  refuse_file(connection.path(),
              ": SQLite cannot keep a write-ahead log there; keep the file on a local disk");
}

bool of_this_boot(Connection& connection) {
  switch (era_of(connection)) {
    case Era::this_boot: return true;
    case Era::another_boot: return false;
    case Era::another_clock:
      refuse_file(connection.path(),
                  " is used by processes in another time namespace, whose clock differs from ours; "
                  "use it from one namespace, or give another path");
  }
  return false;
}

// Leases do without jobs: whether their tables are there or damaged, which is refused to whoever wants jobs,
// is not asked here.  Claims in a damaged table end as well if they can be written: else its jobs would stay
// claimed once it is mended, for as long as the machine had been up.
void reboot_jobs(Connection& connection) {
  struct Limit {
    ~Limit() { sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, before); }
    sqlite3* raw;
    int before;
  };
  const Limit limit{connection.raw(), sqlite3_limit(connection.raw(), SQLITE_LIMIT_LENGTH, longest_job_row)};
  try {
    connection.run_script(text(Sql::reboot_jobs));
  } catch (const Failure& failure) {
    if (failure.error().code != Errc::refused) throw;
  }
}

void reboot(Connection& connection, const Presence& presence) {
  Transaction transaction(connection);
  if (of_this_boot(connection)) return;  // somebody was faster
  connection.run_script(text(Sql::reboot));
  reboot_jobs(connection);
  presence.forget_all();
  transaction.commit();
}

void configure(Connection& connection) {
  if (sqlite3_db_readonly(connection.raw(), "main") == 1) {
    refuse_file(connection.path(),
                " is not writable for this user; run as a user who may write the file and its folder");
  }
  // A power cut may lose the last commits, but not the file; and then no lease is left to lose.
  // What SQLite wants to put aside stays in memory: no file of ours in a folder of the environment's choice.
  connection.run_script(
      "PRAGMA synchronous = NORMAL; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY");
}

Header open_ours(Connection& connection) {
  connection.open();
  const Header header = read_header(connection);
  if (header.empty) return header;
  if (!header.sqlite)
    refuse_file(connection.path(), " is not a Holdfast database, so nothing was changed; give another path");
  require_ours(connection.path(), header.application_id, header.user_version);
  if (header.wal) check_journal(connection.path(), header.application_id);
  return header;
}

}  // namespace

void require_ours(Connection& connection) {
  if (!connection.run(Sql::first_object).next()) return;
  require_ours(connection.path(), pragma(connection, "application_id"), pragma(connection, "user_version"));
}

std::string set_version() {
  return "PRAGMA user_version = " + std::to_string(user_version_of(our_version)) + ";";
}

bool is_prepared(Connection& connection) {
  if (open_ours(connection).empty) return false;
  require_ours(connection);
  return has_our_tables(connection);
}

Era era_of(Connection& connection) {
  const Machine& machine = connection.machine();
  Cursor cursor = connection.run(Sql::boot);
  if (!cursor.next()) {
    refuse_file(connection.path(),
                " has lost the row that names its boot; move it away while no process uses it");
  }
  if (!is_token(cursor.number(2))) cursor.refuse(" contains an invalid token, which Holdfast did not write");
  const bool same_boot = cursor.text(0) == machine.boot_id;
  const bool same_clock = static_cast<std::uint64_t>(cursor.number(1)) == machine.time_namespace;
  if (!same_boot) return Era::another_boot;
  return same_clock ? Era::this_boot : Era::another_clock;
}

void open_database(Connection& connection, const Presence& presence) {
  const Header header = open_ours(connection);
  configure(connection);
  // Made with a rollback journal: the header is ours in the same moment in which it exists at all.
  until_not_busy(connection, [&] {
    require_ours(connection);
    if (!has_our_tables(connection)) make_tables(connection);
  });
  if (!header.wal) until_not_busy(connection, [&] { use_wal(connection); });
  until_not_busy(connection, [&] {
    if (!of_this_boot(connection)) reboot(connection, presence);
  });
  check_files(connection.path());  // now that all of them are there
}

void migrate_database(Connection& connection) {
  until_not_busy(connection, [&] {
    Transaction transaction(connection);
    require_ours(connection);
    if (!has_our_tables(connection) || connection.tables().ttl()) return;  // somebody was faster
    // A newer Holdfast may have migrated another lock table of this file.
    if (version_in(pragma(connection, "user_version")).outdated()) connection.run_script(set_version());
    connection.run_script(text(Sql::migrate_3_locks));
    transaction.commit();
  });
}

void open_jobs(Connection& connection) {
  sqlite3_limit(connection.raw(), SQLITE_LIMIT_LENGTH, longest_job_row);
  connection.run_script("PRAGMA synchronous = FULL");
  if (has_job_tables(connection)) return;
  Transaction transaction(connection);
  if (has_job_tables(connection)) return;  // somebody was faster
  connection.run_script(text(Sql::jobs_schema));
  transaction.commit();
}

void open_again(Connection& connection) {
  connection.open();
  configure(connection);
}

}  // namespace holdfast::sqlite
