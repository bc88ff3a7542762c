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
  std::string table = "locks";  // letters, digits and _; the tables beside it have names derived from it
  // Accepts file systems on which locks may not reach every process (NFS, SMB, FUSE and similar), and a
  // folder that everybody may write.  `unsafe=allow` in a URL.
  bool allow_unsafe = false;
  // Accepts findings of examine() and `holdfast doctor` by topic: with "sqlite.open-folder" a folder that
  // everybody may write is used.  Other findings are not affected.  `accept=TOPIC[,TOPIC]` in a URL.
  std::vector<std::string> accept{};
};

// A new client of that file.  All processes that use the file must run under the same kernel.  Beside PATH is
// the folder PATH.d, with one FIFO per live client.  The FIFO wakes the client when it waits, and shows when
// the client has died, so that the lease of a dead process is taken over at once, not after its ttl.
//
// Holdfast refuses a file, a file beside it or a folder that somebody else could have written: symbolic and
// hard links, files that others may write, and files of another user unless a group shares them
// (docs/stores/sqlite.md).
//
// Expiry is measured on CLOCK_BOOTTIME: no change of the wall clock affects it, and a reboot frees all
// leases.  Commits are WAL with synchronous=NORMAL: nothing acknowledged is lost when a process dies; a power
// cut may lose the last moments, but then the machine has rebooted and every lease is void anyway.  Jobs are
// written with synchronous=FULL: what was acknowledged survives a power cut too.
HOLDFAST_API Result<std::shared_ptr<Store>> store(Options options);

// Enqueues jobs in the caller's transaction: the job exists after the commit, together with the caller's
// other writes, and does not exist after a rollback.  `connection` is the caller's connection (sqlite3_open)
// to the file of the store, or one to which that file is attached under the name `schema`.  A client must
// have opened the jobs of this table before (Store::jobs); otherwise the error is Errc::refused.
//
// The enqueuer neither begins nor commits: without an open transaction the error is Errc::invalid.  Begin
// with BEGIN IMMEDIATE; a transaction that has read first may have to be rolled back (Errc::unavailable).
// The connection's busy timeout limits how long it waits for other writers, and its `synchronous` says how
// durable the commit is.  Set PRAGMA wal_autocheckpoint = 0, as Holdfast's own connections do
// (docs/stores/sqlite.md, Speed).  After an error the transaction is as before the call and can go on, unless
// SQLite has rolled it back (sqlite3_get_autocommit).
//
// REQUIRES: the connection outlives it; both are used by one thread at a time.
HOLDFAST_API Result<std::unique_ptr<Enqueuer>> enqueuer(::sqlite3* connection,
                                                        std::string_view table = "locks",
                                                        std::string_view schema = "main");

// ${XDG_STATE_HOME:-~/.local/state}/holdfast/leases.db
HOLDFAST_API std::string default_path();

}  // namespace holdfast::sqlite
