// SPDX-License-Identifier: Apache-2.0
// postgres.h - leases and jobs in PostgreSQL, for processes on any number of machines.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/spi/job_engine.h"
#include "holdfast/spi/store.h"

struct pg_conn;  // libpq's PGconn

namespace holdfast::postgres {

struct Options {
  // A connection string of libpq: a URL, or "host=db.example dbname=app user=app".  Parts that it does not
  // have come from the usual sources of libpq: PGHOST and so on, .pgpass, a service file.
  std::string conninfo;
  std::string table = "locks";  // or "app.locks"; the tables beside it have names derived from it
  // Accepts everything that examine() can find: no warning when the store is opened.  `unsafe=allow` in a
  // URL.
  bool allow_unsafe = false;
  // Accepts findings of examine() and `holdfast doctor` by topic: with "postgres.pooler" there is no warning
  // about a pooler when the store is opened.  Other findings are not affected.  `accept=TOPIC[,TOPIC]` in a
  // URL.
  std::vector<std::string> accept{};
};

// A new client of that database.  The table has the format of Ruby's `locker`: Ruby and Holdfast processes on
// one table exclude each other.  Connecting does not create the tables: StoreAdmin::init() and
// `holdfast init` do.  If one is missing, the error is Errc::unprepared.
//
// If no sslmode is given and the host is not local, the server has to prove its name: verify-full, with the
// system's certificates.
//
// Expiry is measured on the server's clock.  Commits are durable whatever the role's synchronous_commit.  The
// client opens its own connections.  Behind a pooler (PgBouncer) waiters poll.
HOLDFAST_API Result<std::shared_ptr<Store>> store(Options options);

// Enqueues jobs on the caller's connection, in the tables beside that lock table.  If a transaction is open
// there, the job is part of it: workers see the job after the commit, and it is gone after a rollback.  The
// enqueuer never begins or ends a transaction.  If an enqueue fails, a savepoint undoes only that enqueue,
// and the transaction goes on.  Outside of a transaction each job is committed by itself.
//
// If an open transaction has taken a slot, other enqueues for that slot wait until the transaction ends.
// After `until` they fail with Errc::unavailable, so keep such transactions short.  If an enqueue in an open
// transaction is a duplicate, it does not block the existing job, and that job does not count it.
//
// Errc::invalid for a connection that is nonblocking, in pipeline mode, in the middle of a statement, or in a
// transaction that has failed; Errc::unprepared if `init` was not run.
//
// REQUIRES: `connection` outlives the result, and nobody else uses it during a call.
HOLDFAST_API Result<std::unique_ptr<Enqueuer>> enqueuer(::pg_conn* connection, std::string table = "locks");

}  // namespace holdfast::postgres
