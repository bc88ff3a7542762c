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
  // As libpq takes it: a URL, or "host=db.example dbname=app user=app".  What it does not say comes from
  // where libpq users expect it: PGHOST and the like, .pgpass, a service file.
  std::string conninfo;
  std::string table = "locks";  // or "app.locks"; what we keep beside it is named after it
  // We know what examine() finds, and need not be told when the store is opened.  `unsafe=allow` in a URL.
  bool allow_unsafe = false;
  // Findings of examine() and `holdfast doctor` that we know and accept, by topic: "postgres.pooler" is not
  // told of when the store is opened.  Others count as before.  `accept=TOPIC[,TOPIC]` in a URL.
  std::vector<std::string> accept{};
};

// A new client of that database.  The table is that of Ruby's `locker`: a Ruby process and ours on one table
// exclude each other.  It is not made by connecting but by StoreAdmin::init(), or `holdfast init`: one that
// is missing is Errc::unprepared.
//
// Where no sslmode is given and the host is not local, the server has to prove its name: verify-full, with
// the system's certificates.
//
// Expiry is measured on the server's clock.  Commits are durable whatever the role's synchronous_commit.
// Connections are the client's own; behind a pooler (PgBouncer) waiters poll.
HOLDFAST_API Result<std::shared_ptr<Store>> store(Options options);

// Enqueues on a connection of the caller's own, beside that lock table.  In a transaction that is open there
// the job is part of it: to be seen when that is committed, gone when it is rolled back.  Never begins one,
// and never ends it; what fails is undone alone (by a savepoint), and their transaction goes on.  Outside of
// one each job is committed by itself.
//
// Whoever enqueues a job of a slot that an open transaction has taken waits for the end of that, up to
// `until`, and is then told unavailable: so keep such transactions short.  A job that was met as a duplicate
// in an open transaction is not held up by it, and not counted.
//
// Errc::invalid for a connection that is nonblocking, in pipeline mode, in the middle of a statement, or in
// a transaction that has failed; Errc::unprepared where `init` has not been.
//
// REQUIRES: `connection` outlives the result, and nobody else uses it during a call.
HOLDFAST_API Result<std::unique_ptr<Enqueuer>> enqueuer(::pg_conn* connection, std::string table = "locks");

}  // namespace holdfast::postgres
