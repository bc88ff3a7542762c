// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/admin.h"

#include <filesystem>

#include "core/row.h"
#include "core/statement_list.h"
#include "stores/sqlite/database.h"
#include "stores/sqlite/diagnosis.h"
#include "stores/sqlite/path.h"

namespace holdfast::sqlite {
namespace {

// No key begins so: it is no UTF-8.
constexpr const char* behind_all_keys = "\xff";

std::uint64_t count(Cursor cursor) { return static_cast<std::uint64_t>(cursor.finish()); }

using namespace std::chrono_literals;

constexpr Millis least_time = 20ms;  // do not begin with less: writing back takes a few milliseconds
constexpr Micros patience = 500us;   // for the write lock, as long as there is no hurry

// Whoever opens the file alone reads the whole log, so a connection that may be gone in a moment, a
// command's, keeps it short.  One that goes on writes back less often, because all others wait while it does.
constexpr int short_log = 100, long_log = 1000;
constexpr int goes_on = 100;  // after so many commits
constexpr int hurry = 4;      // times as long: wait for the lock as long as the caller can

constexpr std::size_t dead_per_turn = 16;

// Behind `statements`, with what is said in schema.sql about each.
void add_statements(const std::string& script, std::vector<std::string>& statements) {
  std::size_t from = 0;
  for (std::size_t end = script.find(";\n", from); end != std::string::npos; end = script.find(";\n", from)) {
    statements.push_back(script.substr(from, end + 1 - from));
    from = std::min(script.find_first_not_of('\n', end + 1), script.size());
  }
}

}  // namespace

// -- sweeping

Sweep::Part Sweep::part_behind(std::string key) {
  Cursor cursor = connection_.run(Sql::last_key_of_part, std::string_view(key));
  const bool last = !cursor.next();
  std::string up_to = last ? behind_all_keys : std::string(cursor.text(0));
  return {std::move(key), std::move(up_to), last};
}

Purged Sweep::sweep(const Part& part, Millis free_for) {
  const std::string_view behind = part.behind, up_to = part.up_to;
  Purged purged;
  purged.places = count(connection_.run(Sql::purge_places, behind, up_to));
  // Never: the difference is NULL, and so nothing is older.
  connection_.run(Sql::raise_purged_token, behind, up_to, core::length_of(free_for)).finish();
  purged.keys = count(connection_.run(Sql::purge_keys, behind, up_to, core::length_of(free_for)));
  connection_.run(Sql::purge_facts, behind, up_to).finish();
  return purged;
}

void Sweep::next_part() {
  std::string swept;
  {
    Cursor cursor = connection_.run(Sql::sweep_position);
    if (cursor.next()) swept = cursor.text(0);
  }
  const Part part = part_behind(std::move(swept));
  sweep(part, Purge{}.free_for);
  connection_.run(Sql::trim_log).finish();
  connection_.run(Sql::set_sweep_position, part.last ? std::string_view() : std::string_view(part.up_to))
      .finish();
}

Purged Sweep::all(const Purge& what, const std::function<void()>& between) {
  Purged all;
  for (Part part; !part.last; between()) {
    Transaction transaction(connection_);
    part = part_behind(std::move(part.up_to));
    const Purged some = sweep(part, what.free_for);
    transaction.commit();
    all.keys += some.keys;
    all.places += some.places;
  }
  Transaction transaction(connection_);
  all.log = count(connection_.run(Sql::purge_log, core::length_of(what.log_older_than)));
  transaction.commit();
  return all;
}

// -- in passing

bool Upkeep::grown_by(int pages) noexcept {
  if (connection_.wal_pages() < pages_done_) pages_done_ = 0;  // the log has started anew
  return connection_.wal_pages() >= pages_done_ + pages;
}

void Upkeep::tend() {
  const int enough = connection_.commits() < goes_on ? short_log : long_log;
  if (!grown_by(enough)) return;
  const Instant until = connection_.until();
  const Instant now = BootClock::now();
  if (clamped_add(now, least_time) > until) return;
  const Instant latest = until - least_time / 2;
  try {
    checkpoint(grown_by(enough * hurry) ? latest : std::min(latest, now + patience));
    pages_done_ = connection_.wal_pages();
    connection_.set_until(std::min(latest, BootClock::now() + patience));
    sweep();
    forget_the_dead();
  } catch (const Failure&) {
    // Somebody else writes: the next call finds the log as long, and tries again.
  }
  connection_.set_until(until);
}

void Upkeep::checkpoint(Instant lock_until) {
  if (!second_) {
    auto second =
        std::make_unique<Connection>(connection_.path(), connection_.tables(), connection_.machine());
    open_again(*second);
    second_ = std::move(second);
  }
  second_->set_until(lock_until);
  const Transaction nobody_writes(*second_);
  const int code =
      sqlite3_wal_checkpoint_v2(connection_.raw(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (code != SQLITE_OK) connection_.fail(During::work);
}

void Upkeep::sweep() {
  Transaction transaction(connection_);
  Sweep(connection_).next_part();
  transaction.commit();
}

// A FIFO whose client is dead says so to all who wait for that client's leases, so it stays until no row
// speaks of it.  The dead take no new ones, so looking needs no lock.
void Upkeep::forget_the_dead() {
  for (const std::string& client : presence_.some_dead(dead_per_turn, jitter_.next())) {
    Cursor cursor = connection_.run(Sql::client_is_mentioned, std::string_view(client));
    if (cursor.next() && cursor.number(0) == 0) presence_.forget(client);
  }
}

// -- by hand

std::vector<std::string> SqliteStoreAdmin::schema(bool new_file) const {
  std::vector<std::string> statements;
  if (new_file)
    statements = {"PRAGMA application_id = " + std::to_string(application_id) + ";", set_version(),
                  "PRAGMA journal_mode = WAL;"};
  add_statements(tables_.expand(text(Sql::schema)) + "\n", statements);
  return statements;
}

std::vector<std::string> SqliteStoreAdmin::migration() const {
  std::vector<std::string> statements = {set_version()};
  add_statements(tables_.expand(text(Sql::migrate_3_locks)) + "\n", statements);
  return statements;
}

Result<std::vector<std::string>> SqliteStoreAdmin::plan(Instant until) {
  try {
    std::error_code ignored;
    if (std::filesystem::symlink_status(path_, ignored).type() == std::filesystem::file_type::not_found)
      return schema(true);
    Connection connection(make_file(path_, machine_, accepted_), tables_,
                          machine_);  // it is there: only looked at
    connection.set_end(until);
    if (!is_prepared(connection)) return schema(!connection.run(Sql::first_object).next());
    return connection.tables().ttl() ? std::vector<std::string>{} : migration();
  } catch (const Failure& failure) {
    return failure.error();
  }
}

Result<std::vector<std::string>> SqliteStoreAdmin::init(Instant until) {
  auto missing = plan(until);
  if (!missing || missing->empty()) return missing;
  if (auto made = store_->connect(until); !made) return std::move(made).error();
  try {
    Connection connection(make_file(path_, machine_, accepted_), tables_, machine_);
    connection.set_end(until);
    open_again(connection);
    migrate_database(connection);
  } catch (const Failure& failure) {
    return failure.error();
  }
  return missing;
}

std::string SqliteStoreAdmin::statements() const {
  return core::statement_list(all_sql, [&](std::size_t i) { return tables_.expand(all_sql[i].text); });
}

Result<Purged> SqliteStoreAdmin::purge(const Purge& what, Instant until) {
  const auto looked_at = store_->connect(until);
  if (!looked_at) return looked_at.error();
  try {
    const std::string file = make_file(path_, machine_, accepted_);
    const Presence nobody(file, tables_.name(), "");  // never appears
    Connection connection(file, tables_, machine_);
    connection.set_end(until);
    open_again(connection);
    Upkeep upkeep(connection, nobody);
    return Sweep(connection).all(what, [&] {
      upkeep.tend();
      connection.stand_back(0);  // others ask for the lock again and again, but they sleep in between
    });
  } catch (const Failure& failure) {
    return failure.error();
  }
}

Result<Diagnosis> SqliteStoreAdmin::diagnose(Instant until) {
  try {
    Diagnosis diagnosis = diagnose_file(path_, tables_, machine_, until);
    core::mark_accepted(diagnosis.findings, accepted_);
    return diagnosis;
  } catch (const Failure& failure) {
    return failure.error();
  }
}

}  // namespace holdfast::sqlite
