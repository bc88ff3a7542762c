// SPDX-License-Identifier: Apache-2.0
// open_store.h - a store that somebody has used before.
//
// For commands that look, or change what is there.  They make nothing: a mistyped path would look as if
// everything were free.  A server without tables is refused.
#pragma once
#include <memory>

#include "cli/words/command_line.h"
#include "holdfast/admin.h"
#include "holdfast/client.h"
#include "holdfast/spi/job_engine.h"
#include "holdfast/spi/store.h"

namespace holdfast::cli {

struct Looked {
  std::shared_ptr<Store> store;
  Admin by_hand;
  bool unused = false;  // nothing is there: nobody holds or waits for anything
};

// How long a store may take to say whether it is used, unless told otherwise.
inline constexpr Millis one_look = std::chrono::seconds(5);

// The command that creates the store's tables, for people to copy.  It has no password in it.
std::string init_command(const Common& common);

// Nobody has used it yet: its tables are not there.  Makes nothing.
Result<bool> is_unused(const std::shared_ptr<Store>& store, Millis within = one_look);

// Says so on stderr of a store that nobody has used yet.
Result<Looked> look_at_store(const Common& common, Millis within = one_look);
// The same without a word.
Result<Looked> look_quietly(const Common& common, Millis within = one_look);

// Its jobs, for one who looks or changes what is there; null where nobody has used it yet.  Errc::refused if
// it keeps none, unprepared if it lacks tables for them.
Result<std::unique_ptr<JobEngine>> jobs_of(const Looked& looked);

// For one question of such an engine.
Instant soon();

// A client of it; Errc::lost where nobody has used it yet.
Result<Client> open_used_store(const Common& common);

}  // namespace holdfast::cli
