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
  std::string path;             // of the database file; its folder is made if missing, readable by us only
  std::string table = "locks";  // letters, digits and _; what we keep beside it is named after it
  // Also where locks may not reach every process (NFS, SMB, FUSE and the like), or in a folder that everybody
  // may write.  `unsafe=allow` in a URL.
  bool allow_unsafe = false;
  // Findings of examine() and `holdfast doctor` that we know and accept, by topic: "sqlite.open-folder" uses
  // a folder that everybody may write.  Others count as before.  `accept=TOPIC[,TOPIC]` in a URL.
  std::vector<std::string> accept{};
};

// A new client of that file.  Processes that use it by whatever path must run under the same kernel.
// Beside PATH lies the folder PATH.d with one FIFO per live client: it notifies waiters, and shows
// who died, so that a dead process's lease is taken over at once and not only after its ttl.
//
// A file, side file or folder that somebody else could have written is refused: symbolic and hard links, what
// others may write, what belongs to another user unless it is shared by a group of ours
// (docs/stores/sqlite.md).
//
// Expiry is measured on CLOCK_BOOTTIME: no change of the wall clock touches it, and a reboot frees all.
// Commits are WAL with synchronous=NORMAL: nothing acknowledged is lost when a process dies; a power cut
// may lose the last moments, but then the machine has rebooted and every lease is void anyway.  Jobs are
// written with synchronous=FULL: what was acknowledged survives a power cut too.
HOLDFAST_API Result<std::shared_ptr<Store>> store(Options options);

// Enqueues in a transaction of the caller's own: the job is there when they commit, together with what else
// they write, and is not when they roll back.  `connection` is a connection of theirs (sqlite3_open) to our
// file, or one to which it is attached under the name `schema`; jobs of this table have been opened there
// before (Store::jobs), else Errc::refused.
//
// It neither begins nor commits: Errc::invalid where no transaction is open.  Begin it with BEGIN IMMEDIATE;
// one that has read first may have to be rolled back (Errc::unavailable).  How long it waits for others is
// the connection's busy timeout, and how durable the commit is its `synchronous`; give it PRAGMA
// wal_autocheckpoint = 0, as ours have (docs/stores/sqlite.md, Speed).  After an error the
// transaction is as before the call and can go on, unless SQLite has rolled it back (sqlite3_get_autocommit).
//
// REQUIRES: the connection outlives it; both are used by one thread at a time.
HOLDFAST_API Result<std::unique_ptr<Enqueuer>> enqueuer(::sqlite3* connection,
                                                        std::string_view table = "locks",
                                                        std::string_view schema = "main");

// ${XDG_STATE_HOME:-~/.local/state}/holdfast/leases.db
HOLDFAST_API std::string default_path();

}  // namespace holdfast::sqlite
