// SPDX-License-Identifier: Apache-2.0
// decision.h - what becomes of a request that one statement does not settle: the table in
// holdfast/spi/store.h, with the dead found out.
#pragma once
#include <string>
#include <vector>

#include "holdfast/spi/store.h"
#include "stores/sqlite/config.h"
#include "stores/sqlite/connection.h"
#include "stores/sqlite/rows.h"

namespace holdfast::sqlite {

// REQUIRES for all verbs: inside a Transaction.
class Decision {
 public:
  // `freed` collects the keys whose first waiter is to be notified after the commit.
  Decision(StoreConfig& config, Connection& connection, std::vector<std::string>& freed)
      : config_(config), connection_(connection), rows_(connection), freed_(freed) {}

  Reply acquire(const Request& request);
  Reply renew(const Request& request);
  Reply release(const Request& request);
  Reply evict(const Request& request);

  // -- also of use outside a transaction

  // Our own names say which client holds: such a grant needs no row of facts.
  bool is_plain(const Request& request) const noexcept {
    return is_ours(request.owner) && !request.detached && request.note.empty();
  }
  bool is_ours(OwnerView owner) const noexcept {
    return client_named_in(owner.text) == config_.presence.client();
  }
  bool is_dead(const Row& row) const { return config_.presence.probe(row.client) == Life::dead; }

  Reply answer(Verdict verdict, const Row& row);
  // `first`: whose turn it is, if nobody has the key.
  Reply busy(const Row& row, const std::vector<Place>& queue, const Place* first = nullptr);

  // The statements renew.sql and release.sql; false: the holder does not have it.
  bool try_renew(const Request& request, Reply& reply);
  bool try_release(const Request& request, Reply& reply);

 private:
  Reply grant(const Request& request, const Row& row, bool dead);
  Reply restart(const Request& request, Row& row);
  void share(const Request& request, const Row& row);
  void drop_dead(const Request& request, std::vector<Place>& queue);
  bool is_us(const Place& place) const noexcept { return place.client == config_.presence.client(); }

  StoreConfig& config_;
  Connection& connection_;
  Rows rows_;
  std::vector<std::string>& freed_;
};

}  // namespace holdfast::sqlite
