// SPDX-License-Identifier: Apache-2.0
// postgres.h - leases in PostgreSQL, for processes on any number of machines.
#pragma once
#include <memory>
#include <string>

#include "holdfast/export.h"
#include "holdfast/store.h"

namespace holdfast::postgres {

struct Options {
  // As libpq takes it: a URL, or "host=db.example dbname=app user=app".  What it does not say comes from
  // where libpq users expect it: PGHOST and the like, .pgpass, a service file.
  std::string conninfo;
  std::string table = "locks";  // or "app.locks"; what we keep beside it is named after it
  // We know what examine() finds, and need not be told when the store is opened.  `unsafe=allow` in a URL.
  bool allow_unsafe = false;
};

// A new client of that database.  The table is that of Ruby's `locker`: a Ruby process and ours on one table
// exclude each other.  It is not made by connecting but by Steward::init(), or `holdfast init`: one that is
// missing is Errc::refused.
//
// Where no sslmode is given and the host is not local, the server has to prove its name: verify-full, with
// the system's certificates.
//
// Expiry is measured on the server's clock.  Commits are durable whatever the role's synchronous_commit.
// Connections are the client's own; behind a pooler (PgBouncer) waiters poll.
HOLDFAST_API Result<std::shared_ptr<Origin>> origin(Options options);

}  // namespace holdfast::postgres
