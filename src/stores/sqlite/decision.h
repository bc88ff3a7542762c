// SPDX-License-Identifier: Apache-2.0
// decision.h - what becomes of a request that one statement does not settle: what core/rule.h decides, with
// the dead found out.
#pragma once
#include <string>
#include <vector>

#include "core/rule.h"
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
  // What would be answered by this row and the queue, without any change.  The dead count as if they lived.
  Reply look(const Request& request, const Row& row);

  // The statements renew.sql and release.sql; false: the holder does not have it.
  bool try_renew(const Request& request, Reply& reply);
  bool try_release(const Request& request, Reply& reply);

 private:
  // `purged`: where the token of a key that is not there starts.
  core::Outcome judge(const Request& request, core::Record& record, Token purged = no_token);
  void grant(const Request& request, const core::Record& record);
  void leave(const Request& request, const std::vector<core::Place>& before,
             const std::vector<core::Place>& after);
  void keep_place(const Request& request, const Row& row, const core::Record& record,
                  const std::vector<core::Place>& queue);
  void share(const Request& request, const Row& row);
  void drop_dead(const Request& request, std::vector<core::Place>& queue);
  bool is_us(const core::Place& place) const noexcept { return place.client == config_.presence.client(); }

  StoreConfig& config_;
  Connection& connection_;
  Rows rows_;
  std::vector<std::string>& freed_;
};

}  // namespace holdfast::sqlite
