// SPDX-License-Identifier: Apache-2.0
// connection.h - SQLite's C interface, with owners and with our clock.
//
// Inside this folder a failure is thrown (holdfast::Failure) and caught where the public interface begins.
#pragma once
#include <sqlite3.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "holdfast/clock.h"
#include "stores/sqlite/fault.h"
#include "stores/sqlite/probe.h"
#include "stores/sqlite/sql.h"
#include "stores/sqlite/tables.h"

namespace holdfast::sqlite {

class Connection;

// Somebody else was in the way, and the time was over.
class Busy : public Failure {
 public:
  using Failure::Failure;
};

// A statement being run; its end resets the statement.  Outside a transaction a statement that writes
// commits in finish().
class Cursor {
 public:
  Cursor(Connection& connection, sqlite3_stmt* statement) noexcept
      : connection_(connection), statement_(statement) {}
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  ~Cursor() { sqlite3_reset(statement_); }

  // True: there is a row.
  bool next(During during = During::work);
  // For a statement that writes: how many rows it has changed.
  int finish(During during = During::work);

  // Throws Errc::refused: the row is none that we have written.
  [[noreturn]] void refuse(const std::string& why) const;

  std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  int type(int column) const { return sqlite3_column_type(statement_, column); }
  bool is_null(int column) const { return type(column) == SQLITE_NULL; }
  std::string_view name(int column) const { return sqlite3_column_name(statement_, column); }
  // Good until the next row.
  std::string_view text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return {bytes != nullptr ? bytes : "",
            static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  Connection& connection_;
  sqlite3_stmt* const statement_;
};

// One connection to one file, used by one thread at a time.  Keeps the caller's `until`: waiting for the
// write lock ends then.
//
// SQL may call: boottime() and walltime(), read once per transaction, after the lock was obtained;
// in_time(), whether the caller's `until` is still ahead; this_boot(), this_time_namespace();  and
// tell(a, ...), which is a, and hands a and the others to us.  That is what RETURNING is for, but RETURNING
// makes a temporary table each time, which costs as much as the rest of the statement.
class Connection {
 public:
  Connection(std::string path, Tables tables, Machine machine);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Opens an existing file, which may be empty, without reading it.  REQUIRES: no part of the path is a
  // symbolic link.
  void open();
  // Runs its statements on a connection of somebody else's, in their transaction: with their settings, and
  // without our functions.  REQUIRES: `theirs` outlives this.
  void use(sqlite3* theirs) noexcept { db_ = {theirs, Closer{.theirs = true}}; }

  const std::string& path() const noexcept { return path_; }
  const Tables& tables() const noexcept { return tables_; }
  // Whether the lock table has them.  REQUIRES: no statement that speaks of them was run before.
  void set_ttl(bool there) noexcept { tables_.set_ttl(there); }
  const Machine& machine() const noexcept { return machine_; }
  sqlite3* raw() const noexcept { return db_.get(); }

  Instant until() const noexcept { return until_; }
  void set_until(Instant until) noexcept { until_ = until; }
  // The same for a whole call: no statement runs longer than that, also one that needs no lock.
  void set_end(Instant end) noexcept {
    end_ = end;
    set_until(end);
  }
  bool in_time() const noexcept { return BootClock::now() < until_; }
  // Throws Errc::unavailable when the caller's time is over.
  void require_time() const;

  // The store's clocks, as the current transaction sees them.
  Micros boottime();
  Micros walltime();

  // What the statement told in the last row that it changed; none: NULL.
  std::optional<std::int64_t> told(std::size_t which) const noexcept { return told_[which]; }
  std::int64_t told_number(std::size_t which) const noexcept { return told_[which].value_or(0); }

  // Runs a statement, prepared when it is first used; text arguments must outlive the Cursor.
  template <class... Args>
  Cursor run(Sql which, const Args&... args) {
    if (!in_transaction()) forget_time();
    sqlite3_stmt* const statement = prepared(which);
    int position = 0;
    (bind(statement, ++position, args), ...);
    return Cursor(*this, statement);
  }

  // Runs a script of several statements, without arguments.
  void run_script(std::string_view sql);
  // The first column of the first row, or nothing.
  std::optional<std::string> ask(const std::string& sql);

  bool in_transaction() const noexcept { return sqlite3_get_autocommit(db_.get()) == 0; }

  // How long the write-ahead log was, in pages, after our last commit; and how many commits we have made.
  int wal_pages() const noexcept { return wal_pages_; }
  std::int64_t commits() const noexcept { return commits_; }
  // Rows that this connection has written, whether they were committed or not.
  std::int64_t changes() const noexcept { return sqlite3_total_changes(db_.get()); }

  // Whether the file has been deleted or replaced since it was opened.
  bool has_moved() const noexcept;

  // Another writer stands in the way: sleeps a little; false when `until` has come.
  bool stand_back(int times) noexcept;

  // Throws what SQLite's last answer means.
  [[noreturn]] void fail(During during) const;

 private:
  struct Closer {
    bool theirs;
    void operator()(sqlite3* db) const noexcept {
      if (!theirs) sqlite3_close_v2(db);
    }
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };

  sqlite3_stmt* prepared(Sql which);
  void distrust();
  void add_functions();
  void tell(sqlite3_context* context, int count, sqlite3_value** values) noexcept;
  void forget_time() noexcept {
    boottime_.reset();
    walltime_.reset();
  }

  void bind(sqlite3_stmt* s, int at, std::string_view text) {
    // The contract keeps texts short; a longer one would be stored as none at all.
    const int code = sqlite3_bind_text(s, at, text.data() != nullptr ? text.data() : "",
                                       static_cast<int>(text.size()), SQLITE_STATIC);
    if (code != SQLITE_OK)
      throw_failure({Errc::invalid,
                     "a text of " + std::to_string(text.size()) + " bytes is too long; give a shorter one"});
  }
  void bind(sqlite3_stmt* s, int at, std::integral auto number) {
    sqlite3_bind_int64(s, at, static_cast<std::int64_t>(number));
  }
  void bind(sqlite3_stmt* s, int at, Micros time) { sqlite3_bind_int64(s, at, time.count()); }
  void bind(sqlite3_stmt* s, int at, Moment moment) { bind(s, at, moment.time_since_epoch()); }
  template <class T>
  void bind(sqlite3_stmt* s, int at, const std::optional<T>& value) {
    value ? bind(s, at, *value) : void(sqlite3_bind_null(s, at));
  }

  const std::string path_;
  Tables tables_;
  const Machine machine_;
  std::unique_ptr<sqlite3, Closer> db_;
  std::array<std::unique_ptr<sqlite3_stmt, Closer>, sql_count> statements_;
  Instant until_ = Instant::max(), end_ = Instant::max();
  std::optional<Micros> boottime_, walltime_;
  std::array<std::optional<std::int64_t>, 3> told_;
  Jitter jitter_;
  int wal_pages_ = 0;
  std::int64_t commits_ = 0;
};

// BEGIN IMMEDIATE to COMMIT; without a commit(), rolled back.
class Transaction {
 public:
  // Throws Errc::unavailable if the write lock is not ours before `until`.
  explicit Transaction(Connection& connection);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  void commit();

 private:
  Connection& connection_;
};

// What the file says at one moment, without the write lock.
class Snapshot {
 public:
  explicit Snapshot(Connection& connection);
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  ~Snapshot();

 private:
  Connection& connection_;
};

}  // namespace holdfast::sqlite
