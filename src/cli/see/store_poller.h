// SPDX-License-Identifier: Apache-2.0
// store_poller.h - reads a store again and again, for `watch`, `ls --watch` and `top`.
//
//   PollLoop     reads once per interval until nobody reads our stdout
//   StorePoller  reads the store once: a Snapshot
//   LogCursor    finds the log rows that are new since the last read
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/wakeup.h"
#include "cli/epoll_set.h"
#include "cli/open_store.h"
#include "cli/see/changes.h"

namespace holdfast::cli {

// Every key below `prefix` that is held, that expired without having been released, or that has waiters; in
// the order of keys.  Free::too: also the other keys that the store remembers.
enum class Free : bool { not_listed, too };
Result<std::vector<LeaseRow>> all_leases(Admin& store, const std::string& prefix,
                                         Free free = Free::not_listed);

// Reads the newest rows of the log again and again and returns each row once.  A row has no number, and
// clocks may stand still or go back, so rows are compared by all their fields.
class LogCursor {
 public:
  // Returns the newest `limit` rows, newest first.
  using Read = std::function<Result<std::vector<LogRow>>(std::size_t limit)>;

  // The rows that were not there the last time, oldest first; none the first time.  Calls `read` with a
  // larger limit until a row is known.
  Result<std::vector<LogRow>> next(const Read& read);

 private:
  bool began_ = false;
  std::multiset<std::string> known_;
  Moment newest_{};  // of the known rows
};

// One thread at a time.  A store that nobody has used yet is empty until somebody uses it.
class StorePoller {
 public:
  StorePoller(FoundStore found_store, Common common, std::string prefix);

  Result<Snapshot> read();

  // The name of the store, for people: without a password.
  std::string name() const;

  // Errc::lost if nobody has used the store yet.
  Result<Inspection> inspect(const std::string& key);
  Result<std::string> break_lease(const std::string& key, Token token, const std::string& reason);

 private:
  Status open();
  Result<std::vector<LogRow>> read_log();

  const Common common_;
  const std::string prefix_;
  FoundStore found_store_;
  LogCursor log_;
  bool began_ = false;
};

// INT and TERM end the process in the default way: there is nothing to clean up.
class PollLoop {
 public:
  // From here on, writing into a closed pipe is an error of write(), not a signal.
  PollLoop(StorePoller& poller, Millis interval);

  // Calls `print` with a snapshot once per interval until it returns an error; returns the exit code.
  // Errc::stopped ends the loop with exit code 0.  If the store stops answering, this is reported once, and
  // once more when it answers again.  If the first read fails, the loop ends.
  int run(const std::function<Status(Snapshot)>& print);

 private:
  std::optional<Snapshot> read(bool first, int& code);
  // False when nobody reads stdout any more.
  bool pause();

  StorePoller& poller_;
  const Millis interval_;
  bool away_ = false;
  Wakeup wakeup_;
  EpollSet closed_;
};

}  // namespace holdfast::cli
