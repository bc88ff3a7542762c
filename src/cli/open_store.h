// SPDX-License-Identifier: Apache-2.0
// open_store.h - a store that somebody has used before.
//
// For commands that show or change what is there.  They create nothing: otherwise, with a mistyped path,
// every key would seem free.  A server without tables is refused.
#pragma once
#include <memory>

#include "cli/words/spec.h"
#include "holdfast/admin.h"
#include "holdfast/client.h"
#include "holdfast/spi/job_engine.h"
#include "holdfast/spi/store.h"

namespace holdfast::cli {

struct FoundStore {
  std::shared_ptr<Store> store;
  Admin by_hand;
  bool unused = false;  // nothing is there: nobody holds or waits for anything
};

// The default time limit for finding out whether a store is used.
inline constexpr Millis find_limit = std::chrono::seconds(5);

// The command that creates the store's tables, for people to copy.  It has no password in it.
std::string init_command(const Common& common);

// True: nobody has used the store yet, its tables do not exist.  Creates nothing.
Result<bool> is_unused(const std::shared_ptr<Store>& store, Millis within = find_limit);

// If nobody has used the store yet, prints that on stderr.
Result<FoundStore> find_store(const Common& common, Millis within = find_limit);
// The same, but prints nothing.
Result<FoundStore> find_store_quietly(const Common& common, Millis within = find_limit);

// The jobs of the store, to show or to change them; null if nobody has used the store yet.  Errc::refused if
// the store has no jobs, unprepared if their tables do not exist.
Result<std::unique_ptr<JobEngine>> jobs_of(const FoundStore& found_store);

// The time limit of one call of such an engine.
Instant soon();

// A client of the store; Errc::lost if nobody has used the store yet.
Result<Client> open_used_store(const Common& common);

}  // namespace holdfast::cli
