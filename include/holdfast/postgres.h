// SPDX-License-Identifier: Apache-2.0
// postgres.h - leases and jobs in PostgreSQL, for processes on any number of machines.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/spi/job_engine.h"
#include "holdfast/spi/store.h"

struct pg_conn;  // libpq's PGconn

namespace holdfast::postgres {

enum class Layout : std::uint8_t {
  own,      // a table as Ruby's locker has it
  shedlock  // the table of Java's ShedLock, beside it; docs/migrate/shedlock.md has its limits
};

struct Options {
  // A connection string of libpq: a URL, or "host=db.example dbname=app user=app".  Missing settings come
  // from PGHOST and the like, .pgpass and the service file, as usual with libpq.
  std::string conninfo;
  // Empty: "locks", or "shedlock" in that layout; or "app.locks".  The names of further tables are derived
  // from it.
  std::string table{};
  Layout layout = Layout::own;
  // Findings are not reported when the store is opened.  `unsafe=allow` in a URL.
  bool allow_unsafe = false;
  // The topics of findings that you accept: with "postgres.pooler" that one is not reported when the store is
  // opened. Other findings are not affected.  `accept=TOPIC[,TOPIC]` in a URL.
  std::vector<std::string> accept{};
};

// A new client of that database.  The table has the format of Ruby's `locker`: processes of both exclude each
// other. Connecting does not create it; StoreAdmin::init() or `holdfast init` does.  If it is missing, the
// error is Errc::unprepared.
//
// If no sslmode is given and the host is not local, the default is verify-full, with the system's
// certificates.
//
// Expiry is measured on the server's clock.  Commits are durable whatever the role's synchronous_commit.  The
// client opens its own connections.  Behind a pooler (PgBouncer) waiters poll.
HOLDFAST_API Result<std::shared_ptr<Store>> store(Options options);

// Enqueues jobs on a connection of the caller, beside that lock table.  If a transaction is open on it, the
// job is enqueued when that is committed, and not if it is rolled back.  The enqueuer never begins or ends a
// transaction; it undoes a failed enqueue with a savepoint, so the transaction can continue.  Without an open
// transaction each job is committed by itself.
//
// While an open transaction has taken a slot, other processes that enqueue a job of that slot wait for it, up
// to `until`, and then fail with Errc::unavailable: so keep such transactions short.  A duplicate in an open
// transaction does not block the other job, and is not counted.
//
// Errc::invalid for a connection that is nonblocking, in pipeline mode, in the middle of a statement, or in
// a transaction that has failed; Errc::unprepared before `init`.
//
// REQUIRES: `connection` outlives the result, and no other thread uses it during a call.
HOLDFAST_API Result<std::unique_ptr<Enqueuer>> enqueuer(::pg_conn* connection, std::string table = "locks");

}  // namespace holdfast::postgres
