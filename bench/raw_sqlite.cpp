// SPDX-License-Identifier: Apache-2.0
#include "bench/raw_sqlite.h"

#include <sqlite3.h>

#include <stdexcept>

#include "base/time.h"
#include "holdfast/clock.h"
#include "stores/sqlite/sql.h"
#include "stores/sqlite/tables.h"

namespace holdfast::bench {
namespace {

constexpr int patience_ms = 30'000;
constexpr std::int64_t ttl_us = 30'000'000;

constexpr const char* make_table =
    "CREATE TABLE IF NOT EXISTS locks(key TEXT PRIMARY KEY, locked_by TEXT, locked_at INT, locked_until INT,"
    " sequence INT) WITHOUT ROWID";
constexpr const char* acquire_returning =
    "INSERT INTO locks VALUES(?1, ?2, ?4, ?4 + ?3, ?4) ON CONFLICT(key) DO UPDATE SET"
    " locked_by = excluded.locked_by, locked_at = excluded.locked_at, locked_until = excluded.locked_until,"
    " sequence = max(sequence + 1, excluded.sequence)"
    " WHERE locked_by IS NULL OR locked_by = excluded.locked_by OR locked_until < ?4 RETURNING sequence";
constexpr const char* release_returning =
    "UPDATE locks SET locked_by = NULL WHERE key = ?1 AND locked_by = ?2 AND sequence = ?3 RETURNING 1";

std::int64_t boot_us() { return std::chrono::floor<Micros>(BootClock::now().time_since_epoch()).count(); }

// The functions that our statements call, as plainly as they can be written.
void add_functions(sqlite3* db, std::int64_t& told) {
  const auto add = [&](const char* name, void (*function)(sqlite3_context*, int, sqlite3_value**)) {
    sqlite3_create_function(db, name, -1, SQLITE_UTF8, &told, function, nullptr, nullptr);
  };
  add("boottime", [](auto* c, int, auto**) { sqlite3_result_int64(c, boot_us()); });
  add("walltime",
      [](auto* c, int, auto**) { sqlite3_result_int64(c, wall_now().time_since_epoch().count()); });
  add("in_time", [](auto* c, int, auto**) { sqlite3_result_int(c, 1); });
  add("tell", [](auto* c, int, auto** values) {
    *static_cast<std::int64_t*>(sqlite3_user_data(c)) = sqlite3_value_int64(values[0]);
    sqlite3_result_value(c, values[0]);
  });
}

void bind(sqlite3_stmt* s, int at, const std::string& text) {
  sqlite3_bind_text(s, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

}  // namespace

RawSqlite::RawSqlite(const std::string& path, How how, bool durable) : how_(how) {
  constexpr int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  must(sqlite3_open_v2(path.c_str(), &db_, flags, nullptr) == SQLITE_OK);
  sqlite3_busy_timeout(db_, patience_ms);
  exec("PRAGMA journal_mode = WAL");
  exec(durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  if (how == How::returning) {
    exec(make_table);
    acquire_ = prepare(acquire_returning);
    release_ = prepare(release_returning);
    return;
  }
  ask_ = prepare("SELECT 1");
  add_functions(db_, told_);
  const auto tables = sqlite::Tables::named("locks").value();
  const auto ours = [&](sqlite::Sql which) { return prepare(tables.expand(sqlite::text(which))); };
  acquire_ = ours(sqlite::Sql::acquire);
  release_ = ours(sqlite::Sql::release);
  renew_ = ours(sqlite::Sql::renew);
  lookup_ = ours(sqlite::Sql::lookup);
}

RawSqlite::~RawSqlite() {
  for (sqlite3_stmt* s : statements_) sqlite3_finalize(s);
  sqlite3_close(db_);
}

void RawSqlite::must(bool good) const {
  if (!good) throw std::runtime_error(std::string("by hand: ") + sqlite3_errmsg(db_));
}

void RawSqlite::exec(const char* sql) {
  must(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
}

sqlite3_stmt* RawSqlite::prepare(const std::string& sql) {
  sqlite3_stmt* made = nullptr;
  must(sqlite3_prepare_v3(db_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr) == SQLITE_OK);
  statements_.push_back(made);
  return made;
}

// To its end, where it commits; what RETURNING or tell() gave.
std::int64_t RawSqlite::run(sqlite3_stmt* s) {
  int code = sqlite3_step(s);
  if (code == SQLITE_ROW) {
    told_ = sqlite3_column_int64(s, 0);
    code = sqlite3_step(s);
  }
  must(code == SQLITE_DONE && sqlite3_changes(db_) == 1);
  sqlite3_reset(s);
  return told_;
}

std::int64_t RawSqlite::acquire(const std::string& key, const std::string& owner) {
  bind(acquire_, 1, key);
  bind(acquire_, 2, owner);
  sqlite3_bind_int64(acquire_, 3, ttl_us);
  if (how_ == How::returning) sqlite3_bind_int64(acquire_, 4, wall_now().time_since_epoch().count());
  return run(acquire_);
}

void RawSqlite::release(const std::string& key, const std::string& owner, std::int64_t token) {
  bind(release_, 1, key);
  bind(release_, 2, owner);
  sqlite3_bind_int64(release_, 3, token);
  run(release_);
}

void RawSqlite::acquire_and_release(const std::string& key, const std::string& owner) {
  release(key, owner, acquire(key, owner));
}

void RawSqlite::acquire_and_release_all(const std::vector<std::string>& keys, const std::string& owner) {
  std::vector<std::int64_t> tokens;
  exec("BEGIN IMMEDIATE");
  for (const std::string& key : keys) tokens.push_back(acquire(key, owner));
  exec("COMMIT; BEGIN IMMEDIATE");
  for (std::size_t i = 0; i < keys.size(); ++i) release(keys[i], owner, tokens[i]);
  exec("COMMIT");
}

void RawSqlite::renew(const std::vector<Held>& leases, const std::string& owner) {
  exec("BEGIN IMMEDIATE");
  for (const Held& lease : leases) {
    bind(renew_, 1, lease.key);
    bind(renew_, 2, owner);
    sqlite3_bind_int64(renew_, 3, lease.token);
    sqlite3_bind_int64(renew_, 4, ttl_us);
    sqlite3_bind_int(renew_, 5, 0);
    run(renew_);
  }
  exec("COMMIT");
}

bool RawSqlite::is_held(const std::string& key) {
  bind(lookup_, 1, key);
  const bool held = sqlite3_step(lookup_) == SQLITE_ROW && sqlite3_column_type(lookup_, 0) != SQLITE_NULL;
  sqlite3_reset(lookup_);
  return held;
}

void RawSqlite::ask() {
  must(sqlite3_step(ask_) == SQLITE_ROW);
  sqlite3_reset(ask_);
}

}  // namespace holdfast::bench
