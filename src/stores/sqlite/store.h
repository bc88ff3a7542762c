// SPDX-License-Identifier: Apache-2.0
// store.h - leases in a SQLite file.
//
// Each verb is tried as one conditional statement, which settles every uncontended request: in a
// transaction of its own for a batch of one.  What that statement does not settle is decided inside a
// transaction, by Decision.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "holdfast/store.h"
#include "stores/sqlite/connection.h"
#include "stores/sqlite/decision.h"
#include "stores/sqlite/rows.h"
#include "stores/sqlite/site.h"
#include "stores/sqlite/upkeep.h"

namespace holdfast::sqlite {

class SqliteStore final : public Store {
 public:
  // Throws Failure.
  SqliteStore(std::shared_ptr<Site> site, Instant until);

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override;
  Result<Page> list(const Query& query, Instant until) override;
  Result<Traits> examine(Instant until) override;
  std::unique_ptr<Bell> bell() override;

 private:
  void apply_one(const Request& request, Reply& reply);
  void apply_many(std::span<const Request> requests, std::span<Reply> replies);

  // Settles the request with one statement, if it can.
  bool settle(const Request& request, Reply& reply);
  bool settle_acquire(const Request& request, Reply& reply);
  bool settle_renew(const Request& request, Reply& reply);
  bool settle_release(const Request& request, Reply& reply);
  // A live holder and no place to keep: answered from a snapshot, without the write lock.
  bool settle_busy(const Request& request, Reply& reply);

  void start(Instant until);
  void ring_waiters() noexcept;

  void list_leases(const Query& query, Page& page);
  void list_places(const Query& query, Page& page);
  void list_log(const Query& query, Page& page);

  const std::shared_ptr<Site> site_;
  Connection connection_;
  Rows rows_;
  Decision decision_;
  Upkeep upkeep_;
  std::vector<std::string> freed_;  // keys whose first waiter is to be rung, once it is committed
};

}  // namespace holdfast::sqlite
