// SPDX-License-Identifier: Apache-2.0
// admin.h - administration by people and programs: list, inspect, break, purge, init.
//
//   holdfast::Admin by_hand(client);
//   auto found = by_hand.inspect("nightly-report");
//   by_hand.break_lease("nightly-report", found.lease.token, {.by = "olga", .reason = "its host is gone"});
#pragma once
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/client.h"
#include "holdfast/export.h"
#include "holdfast/rows.h"

namespace holdfast {

// Everything that a store knows about one key.
struct Inspection {
  LeaseRow lease;                // without a token: never granted, or purged since
  std::vector<PlaceRow> places;  // first in the queue first
  std::vector<LogRow> log;       // newest first
};

// Both are stored in the log and reported to the old holder.
struct Break {
  std::string by;
  std::string reason;
};

struct WaitOptions {
  Wait wait = forever;
  std::stop_token stop = {};
};

// Programs that use leases do not need it, and it is not fast.  It has a connection of its own, made by the
// first call. Use it in one thread at a time.  In a child after fork() every call fails with Errc::forked.
class HOLDFAST_API Admin {
 public:
  explicit Admin(const Client& client);
  // Does not connect yet, so it works with a database that has no tables.  See try_store() in client.h.
  explicit Admin(std::shared_ptr<Store> store);
  Admin(Admin&&) noexcept;
  Admin& operator=(Admin&&) noexcept;
  ~Admin();

  // Lists leases, places or the log, page by page.
  Page list(const Query& query = {}) { return try_list(query).value(); }
  Result<Page> try_list(const Query& query = {});

  Inspection inspect(std::string_view key) { return try_inspect(key).value(); }
  Result<Inspection> try_inspect(std::string_view key);

  // Takes the lease away from the holder of `key` with `token`, and returns that owner.  Errc::lost: the key
  // is not held with this token; nothing was changed.
  //
  // **This breaks what a lease promises**: the old holder may work until its next renewal, usually within a
  // third of its ttl, and the key may be granted to another owner meanwhile.  A holder that does not renew
  // works until the lease would have ended; one whose lease has no end, until it releases.
  std::string break_lease(std::string_view key, Token token, Break why) {
    return try_break_lease(key, token, std::move(why)).value();
  }
  Result<std::string> try_break_lease(std::string_view key, Token token, Break why);

  // Returns when nobody holds `key`.  Takes nothing, and keeps no place in the queue.  Reads the key at least
  // twice a second.  Fails with Errc::timeout, which names the owner, with Errc::stopped, or with the store's
  // error.
  void wait_until_free(std::string_view key, WaitOptions options = {}) {
    try_wait_until_free(key, std::move(options)).value();
  }
  Status try_wait_until_free(std::string_view key, WaitOptions options = {});

  // purge(): deletes keys that have been free for long, and old entries of the log; tokens still rise.
  // plan(): the statements that init() would run; changes nothing.  init(): creates what is missing, and
  // returns the statements it ran.  statements(): those that decide about leases and jobs, as text.
  Purged purge(const Purge& what = {}) { return try_purge(what).value(); }
  Result<Purged> try_purge(const Purge& what = {});
  std::vector<std::string> plan() { return try_plan().value(); }
  Result<std::vector<std::string>> try_plan();
  std::vector<std::string> init() { return try_init().value(); }
  Result<std::vector<std::string>> try_init();
  std::string statements();

  // examine(): cheap facts about the store.  diagnose(): a thorough check, also where leases are refused.
  Traits examine() { return try_examine().value(); }
  Result<Traits> try_examine();
  Diagnosis diagnose() { return try_diagnose().value(); }
  Result<Diagnosis> try_diagnose();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace holdfast
