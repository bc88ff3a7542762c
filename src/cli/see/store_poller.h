// SPDX-License-Identifier: Apache-2.0
// store_poller.h - a store that is looked at again and again.
#pragma once
#include <string>

#include "cli/open_store.h"
#include "cli/see/changes.h"
#include "cli/see/log_cursor.h"

namespace holdfast::cli {

// Every key below `prefix` that is held, that ran out without having been released, or that is waited for; in
// the order of keys.  Free::too: also the others that the store remembers.
enum class Free : bool { not_listed, too };
Result<std::vector<LeaseRow>> all_leases(Admin& store, const std::string& prefix,
                                         Free free = Free::not_listed);

// One thread at a time.  A store that nobody has used yet has nothing in it, until somebody does.
class StorePoller {
 public:
  StorePoller(Looked looked, Common common, std::string prefix);

  Result<Look> look();

  // Which store it is, for people: without a password.
  std::string name() const;

  // Errc::lost where nobody has used the store yet.
  Result<Inspection> inspect(const std::string& key);
  Result<std::string> break_lease(const std::string& key, Token token, const std::string& reason);

 private:
  Status open();
  Result<std::vector<LogRow>> read_log();

  const Common common_;
  const std::string prefix_;
  Looked looked_;
  LogCursor log_;
  bool began_ = false;
};

}  // namespace holdfast::cli
