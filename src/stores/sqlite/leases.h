// SPDX-License-Identifier: Apache-2.0
// leases.h - the rule of holdfast/spi/store.h on one connection: by one conditional statement where that
// settles it, else by Decision.  For whoever keeps leases in the file: the store, and jobs that run under
// one.
#pragma once
#include <string>
#include <vector>

#include "holdfast/spi/store.h"
#include "stores/sqlite/config.h"
#include "stores/sqlite/connection.h"
#include "stores/sqlite/decision.h"
#include "stores/sqlite/rows.h"

namespace holdfast::sqlite {

class Leases {
 public:
  Leases(StoreConfig& config, Connection& connection)
      : config_(config), connection_(connection), rows_(connection), decision_(config, connection, freed_) {}
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
  bool is_held(const Row& row) const { return row.live(connection_.boottime()) && !decision_.is_dead(row); }

  // Of what was freed since start(), once it is committed.
  void ring_waiters() noexcept;

 private:
  bool settle_acquire(const Request& request, Reply& reply);
  bool settle_renew(const Request& request, Reply& reply);
  bool settle_release(const Request& request, Reply& reply);

  StoreConfig& config_;
  Connection& connection_;
  Rows rows_;
  std::vector<std::string> freed_;  // keys whose first waiter is to be notified
  Decision decision_;
};

}  // namespace holdfast::sqlite
