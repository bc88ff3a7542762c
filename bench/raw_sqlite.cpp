// SPDX-License-Identifier: Apache-2.0
#include "bench/raw_sqlite.h"

#include <sqlite3.h>

#include <stdexcept>

#include "base/wall_clock.h"

namespace holdfast::bench {
namespace {

void must(bool good, sqlite3* db) {
  if (!good) throw std::runtime_error(sqlite3_errmsg(db));
}

constexpr const char* acquire_sql =
    "INSERT INTO locks VALUES(?1,?2,?3,?3+30000000,?3) ON CONFLICT(key) DO UPDATE SET "
    "locked_by=excluded.locked_by,"
    "locked_at=excluded.locked_at,locked_until=excluded.locked_until,sequence=max(sequence+1,excluded."
    "sequence) "
    "WHERE locked_by IS NULL OR locked_by=excluded.locked_by OR locked_until<?3 RETURNING sequence";
constexpr const char* release_sql =
    "UPDATE locks SET locked_by=NULL WHERE key=?1 AND locked_by=?2 AND sequence=?3 RETURNING 1";

}  // namespace

RawSqlite::RawSqlite(const std::string& path) {
  must(sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                       nullptr) == SQLITE_OK,
       db_);
  must(sqlite3_exec(db_,
                    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                    "CREATE TABLE IF NOT EXISTS locks(key TEXT PRIMARY KEY, locked_by TEXT, locked_at INT, "
                    "locked_until INT,"
                    " sequence INT) WITHOUT ROWID",
                    nullptr, nullptr, nullptr) == SQLITE_OK,
       db_);
  must(sqlite3_prepare_v3(db_, acquire_sql, -1, SQLITE_PREPARE_PERSISTENT, &acquire_, nullptr) == SQLITE_OK,
       db_);
  must(sqlite3_prepare_v3(db_, release_sql, -1, SQLITE_PREPARE_PERSISTENT, &release_, nullptr) == SQLITE_OK,
       db_);
}

RawSqlite::~RawSqlite() {
  sqlite3_finalize(acquire_);
  sqlite3_finalize(release_);
  sqlite3_close(db_);
}

void RawSqlite::acquire_and_release(const std::string& key, const std::string& holder) {
  const auto text = [](sqlite3_stmt* s, int at, const std::string& t) {
    sqlite3_bind_text(s, at, t.data(), static_cast<int>(t.size()), SQLITE_STATIC);
  };
  text(acquire_, 1, key);
  text(acquire_, 2, holder);
  sqlite3_bind_int64(acquire_, 3, wall_now().count());
  must(sqlite3_step(acquire_) == SQLITE_ROW, db_);
  const auto token = sqlite3_column_int64(acquire_, 0);
  must(sqlite3_step(acquire_) == SQLITE_DONE,
       db_);  // a RETURNING statement commits only when stepped to its end
  sqlite3_reset(acquire_);
  text(release_, 1, key);
  text(release_, 2, holder);
  sqlite3_bind_int64(release_, 3, token);
  must(sqlite3_step(release_) == SQLITE_ROW, db_);
  must(sqlite3_step(release_) == SQLITE_DONE, db_);
  sqlite3_reset(release_);
}

}  // namespace holdfast::bench
