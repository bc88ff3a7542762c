// SPDX-License-Identifier: Apache-2.0
// sqlite.h - leases in a file, for the processes of one machine.  Needs no server.
#pragma once
#include <memory>
#include <string>

#include "holdfast/export.h"
#include "holdfast/store.h"

namespace holdfast::sqlite {

struct Options {
  std::string path;             // of the database file; its folder is made if missing, readable by us only
  std::string table = "locks";  // letters, digits and _; what we keep beside it is named after it
  // Also where locks may not reach every process (NFS, SMB, FUSE and the like), or in a folder that everybody
  // may write.  `unsafe=allow` in a URL.
  bool allow_unsafe = false;
};

// A new client of that file.  Processes that use it by whatever path must run under the same kernel.
// Beside PATH lies the folder PATH.d with one FIFO per live client: it rings those who wait, and shows
// who died, so that a dead process's lease is taken over at once and not only after its ttl.
//
// A file, side file or folder that somebody else could have written is refused: symbolic and hard links, what
// others may write, what belongs to another user unless it is shared by a group of ours
// (docs/stores/sqlite.md).
//
// Expiry is measured on CLOCK_BOOTTIME: no change of the wall clock touches it, and a reboot frees all.
// Commits are WAL with synchronous=NORMAL: nothing acknowledged is lost when a process dies; a power cut
// may lose the last moments, but then the machine has rebooted and every lease is void anyway.
HOLDFAST_API Result<std::shared_ptr<Origin>> origin(Options options);

// ${XDG_STATE_HOME:-~/.local/state}/holdfast/leases.db
HOLDFAST_API std::string default_path();

}  // namespace holdfast::sqlite
