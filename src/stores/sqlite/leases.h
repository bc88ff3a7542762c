// SPDX-License-Identifier: Apache-2.0
// leases.h - the rule of holdfast/spi/store.h on one connection: by one conditional statement where that
// settles it, else by core/rule.h inside a transaction, with the dead found out.  For whoever keeps leases in
// the file: the store, and jobs that run under one.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/rule.h"
#include "holdfast/spi/store.h"
#include "stores/sqlite/config.h"
#include "stores/sqlite/connection.h"

namespace holdfast::sqlite {

// A moment on the store's clock; none is the end of time, as in the table.
using End = std::optional<Micros>;

// We never come further, and none is negative: the next one could not rise.
bool is_token(std::int64_t number) noexcept;

// One row of the lock table.  No row is a key that is free and has given out no token.
struct Row {
  std::string owner = {};  // empty: free
  End end = {};            // of the holder's lease
  Token token = {};
  std::string client = {};  // whose death ends the lease; empty: nobody's

  bool live(Micros now) const noexcept { return !owner.empty() && core::lease_is_live(end, now); }
  // For core/rule.h.
  core::Record record(std::vector<core::Place> queue = {}) const {
    return {.owner = owner, .token = token, .end = end, .queue = std::move(queue)};
  }
};
// Reads the columns locked_by, locked_until, sequence, facts.client that begin there.
Row read_row(const Cursor& cursor, int column);

// What the tables say about one key, and writing it down.  Decides nothing.
// REQUIRES for all that write: inside a Transaction.
class Rows {
 public:
  explicit Rows(Connection& connection) : connection_(connection) {}

  Row read(Key key);
  // Where the token of a key that is not there starts: it may have been, and was purged.
  Token purged_token();
  // Places that have not run out, first come first; who would hold the key is left out.
  std::vector<core::Place> queue(Key key);

  void grant(Key key, OwnerView owner, const core::Record& record);
  void set_end(Key key, const core::Record& record);
  void free(Key key);

  struct Facts {
    std::string_view client = {};
    bool detached = false;
    std::string_view note = {};
  };
  void set_facts(Key key, Token token, const Facts& facts);
  void set_client(Key key, Token token, std::string_view client);

  void log(Key key, const LogRow& entry);

  void drop_expired_places(Key key);
  // Takes the last place, or refreshes ours where it is.
  void keep_place(Key key, std::string_view client, OwnerView waiter, Micros until);
  void leave_queue(Key key, std::string_view client);

 private:
  Connection& connection_;
};

class Leases {
 public:
  Leases(StoreConfig& config, Connection& connection)
      : config_(config), connection_(connection), rows_(connection) {}
  Leases(const Leases&) = delete;
  Leases& operator=(const Leases&) = delete;

  // Begins a call: throws Errc::unavailable if its time is over, or if the path leads to another file now.
  void start(Instant until);

  // REQUIRES: inside a Transaction.
  Reply decide(const Request& request);

  // Outside of one: settles the request with one statement, if it can.
  bool settle(const Request& request, Reply& reply);
  // A live holder and no place to keep: answered from a snapshot, without the write lock.
  bool settle_busy(const Request& request, Reply& reply);

  // Who has it, as far as anybody knows: not one who is dead.  Empty: nobody.
  std::string owner_of(Key key);
  bool is_held(const Row& row) const { return row.live(connection_.boottime()) && !is_dead(row); }

  // Of what was freed since start(), once it is committed.
  void notify_waiters() noexcept;

 private:
  // -- one statement; false: the holder does not have it
  bool settle_acquire(const Request& request, Reply& reply);
  bool settle_renew(const Request& request, Reply& reply);
  bool settle_release(const Request& request, Reply& reply);
  bool try_renew(const Request& request, Reply& reply);
  bool try_release(const Request& request, Reply& reply);

  // -- by core/rule.h
  Reply acquire(const Request& request);
  Reply renew(const Request& request);
  Reply release(const Request& request);
  Reply evict(const Request& request);
  // `purged`: where the token of a key that is not there starts.
  core::Outcome judge(const Request& request, core::Record& record, Token purged = no_token);

  void drop_dead(const Request& request, std::vector<core::Place>& queue);
  void grant(const Request& request, const core::Record& record);
  void leave_queue(const Request& request, const std::vector<core::Place>& before,
                   const std::vector<core::Place>& after);
  void keep_place(const Request& request, const Row& row, const core::Record& record,
                  const std::vector<core::Place>& queue);
  void share(const Request& request, const Row& row);

  Reply answer(Verdict verdict, const Row& row);

  // Our own names say which client holds: such a grant needs no row of facts.
  bool is_plain(const Request& request) const noexcept {
    return is_ours(request.owner) && !request.detached && request.note.empty();
  }
  bool is_ours(OwnerView owner) const noexcept {
    return client_named_in(owner.text) == config_.presence.client();
  }
  bool is_us(const core::Place& place) const noexcept { return place.client == config_.presence.client(); }
  bool is_dead(const Row& row) const { return config_.presence.probe(row.client) == Life::dead; }

  StoreConfig& config_;
  Connection& connection_;
  Rows rows_;
  std::vector<std::string> freed_;  // keys whose first waiter is to be notified after the commit
};

}  // namespace holdfast::sqlite
