// SPDX-License-Identifier: Apache-2.0
// Enqueues in a transaction of the caller's own.
#include "base/text.h"
#include "stores/sqlite/jobs.h"
#include "stores/sqlite/leases.h"
#include "stores/sqlite/store.h"

namespace holdfast::sqlite {
namespace {

// A part of the caller's transaction, which ends as if it had not begun unless it is kept.
class Savepoint {
 public:
  explicit Savepoint(Connection& connection) : connection_(connection) {
    connection.run(Sql::begin_enqueue).finish();
  }
  Savepoint(const Savepoint&) = delete;
  Savepoint& operator=(const Savepoint&) = delete;
  ~Savepoint() {
    // After some failures SQLite has rolled back the whole transaction.
    if (kept_ || !connection_.in_transaction()) return;
    for (const Sql step : {Sql::undo_enqueue, Sql::end_enqueue}) {
      if (sqlite3_exec(connection_.raw(), text(step).data(), nullptr, nullptr, nullptr) != SQLITE_OK) return;
    }
  }

  void keep() {
    connection_.run(Sql::end_enqueue).finish();
    kept_ = true;
  }

 private:
  Connection& connection_;
  bool kept_ = false;
};

// Of an engine, all but enqueue() needs a connection of our own: it is not to be had through an Enqueuer.
class BorrowedEnqueuer final : public JobRows {
 public:
  BorrowedEnqueuer(::sqlite3* theirs, std::string file, Tables tables, Machine machine)
      : JobRows(connection_),  // which only keeps where it will be
        machine_(machine),
        presence_(file, tables.name(), ""),
        connection_(std::move(file), std::move(tables), std::move(machine)),
        rows_(connection_) {
    connection_.use(theirs);
    require_ours(connection_);
    if (has_job_tables(connection_)) return;
    throw_failure({Errc::refused,
                   connection_.path() + " has no tables for the jobs of '" + connection_.tables().name() +
                       "'; create them by opening its jobs once: sqlite::store(...)->jobs(...)"});
  }

 private:
  void transact(Access, Instant until, const std::function<void()>& work) override {
    connection_.set_until(until);
    connection_.require_time();
    if (!connection_.in_transaction()) {
      throw_failure(
          {Errc::invalid, connection_.path() +
                              ": no transaction is open on this connection; enqueue between BEGIN IMMEDIATE "
                              "and COMMIT, or use Jobs without this transaction"});
    }
    const sqlite3_int64 last_insert = sqlite3_last_insert_rowid(connection_.raw());
    Savepoint savepoint(connection_);
    // Before anything is read: so a transaction that has only just begun sees what others have committed.
    connection_.run(Sql::take_write_lock).finish();
    moment_ = {.now = machine_.boottime(), .wall = Moment(machine_.walltime())};
    work();
    savepoint.keep();
    sqlite3_set_last_insert_rowid(connection_.raw(), last_insert);  // which is the caller's to ask for
  }

  core::JobMoment moment() override { return moment_; }

  Reply lease(const Request&) override {
    throw_failure(
        {Errc::invalid, connection_.path() + ": a lease cannot be acquired inside the caller's transaction"});
  }

  std::string lock_owner(Key lock) override {
    if (!of_this_boot()) return {};
    Row row = rows_.read(lock);
    const bool held = row.live(moment_.now) && presence_.probe(row.client) != Life::dead;
    return held ? std::move(row.owner) : std::string();
  }

  // Else all leases are void, and nobody has come yet to say so in the file.
  bool of_this_boot() {
    Cursor cursor = connection_.run(Sql::boot);
    if (!cursor.next() || cursor.text(0) != machine_.boot_id) return false;
    if (static_cast<std::uint64_t>(cursor.number(1)) == machine_.time_namespace) return true;
    throw_failure(
        {Errc::refused, connection_.path() +
                            " is used by processes in another time namespace, whose clock differs from ours; "
                            "use it from one namespace"});
  }

  const Machine machine_;
  const Presence presence_;  // never appears
  Connection connection_;
  Rows rows_;
  core::JobMoment moment_;
};

}  // namespace

Result<std::unique_ptr<Enqueuer>> enqueuer(::sqlite3* connection, std::string_view table,
                                           std::string_view schema, Machine machine) {
  auto tables = Tables::named(table);
  if (!tables) return std::move(tables).error();
  const char* const file = sqlite3_db_filename(connection, std::string(schema).c_str());
  if (file == nullptr || *file == '\0') {
    return Error{
        Errc::invalid,
        "'" + printable(schema) +
            "' is not a database file of this connection; give 'main', or the name after ATTACH ... AS"};
  }
  try {
    return std::unique_ptr<Enqueuer>(
        std::make_unique<BorrowedEnqueuer>(connection, file, tables->in(schema), std::move(machine)));
  } catch (const Failure& failure) {
    return failure.error();
  }
}

Result<std::unique_ptr<Enqueuer>> enqueuer(::sqlite3* connection, std::string_view table,
                                           std::string_view schema) {
  auto machine = this_machine();
  if (!machine) return std::move(machine).error();
  return enqueuer(connection, table, schema, *std::move(machine));
}

}  // namespace holdfast::sqlite
