// SPDX-License-Identifier: Apache-2.0
// sqlite.h - leases and jobs in a file, for the processes of one machine.  Needs no server.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/spi/job_engine.h"
#include "holdfast/spi/store.h"

struct sqlite3;

namespace holdfast::sqlite {

struct Options {
  std::string path;  // of the database file; a missing folder is created, readable by this user only
  std::string table = "locks";  // letters, digits and _; the names of further tables are derived from it
  // Allows file systems on which a lock may not reach every process (NFS, SMB, FUSE and the like), and a
  // folder that everybody may write.  `unsafe=allow` in a URL.
  bool allow_unsafe = false;
  // The topics of findings that you accept: "sqlite.open-folder" allows a folder that everybody may write.
  // Other findings are not affected.  `accept=TOPIC[,TOPIC]` in a URL.
  std::vector<std::string> accept{};
};

// A new client of that file.  All processes that use it, by any path, must run under the same kernel.  The
// folder PATH.d beside it has one FIFO per live client: it notifies waiters, and shows which client died, so
// that the lease of a dead process is taken over at once and not only after its ttl.
//
// A file, side file or folder that another user could have written is refused: symbolic and hard links, files
// that others may write, files of another user unless they are shared by a group of this user
// (docs/stores/sqlite.md).
//
// Expiry is measured on CLOCK_BOOTTIME: no change of the wall clock affects it, and a reboot frees all
// leases.  Commits are WAL with synchronous=NORMAL: nothing acknowledged is lost when a process dies; a power
// cut may lose the last moments, but then the machine has rebooted and every lease is void anyway.  Jobs are
// written with synchronous=FULL: what was acknowledged survives a power cut too.
HOLDFAST_API Result<std::shared_ptr<Store>> store(Options options);

// Enqueues jobs in a transaction of the caller: the job is enqueued when that is committed, together with the
// caller's own changes, and not if it is rolled back.  `connection` is the caller's (sqlite3_open) to the
// database file, or one to which the file is attached under the name `schema`.  The tables of jobs must exist
// (Store::jobs creates them); otherwise Errc::refused.
//
// It neither begins nor commits a transaction: Errc::invalid if none is open.  Begin it with BEGIN IMMEDIATE;
// a transaction that has read first may have to be rolled back (Errc::unavailable).  The connection's busy
// timeout limits the wait for others, and its `synchronous` decides how durable the commit is.  Set PRAGMA
// wal_autocheckpoint = 0, as Holdfast does (docs/stores/sqlite.md, Speed).  After an error the transaction is
// as before the call and can continue, unless SQLite has rolled it back (sqlite3_get_autocommit).
//
// REQUIRES: the connection outlives the result; one thread at a time uses them.
HOLDFAST_API Result<std::unique_ptr<Enqueuer>> enqueuer(::sqlite3* connection,
                                                        std::string_view table = "locks",
                                                        std::string_view schema = "main");

// ${XDG_STATE_HOME:-~/.local/state}/holdfast/leases.db
HOLDFAST_API std::string default_path();

}  // namespace holdfast::sqlite
