// SPDX-License-Identifier: Apache-2.0
// store_connection.h - leases in a SQLite file.
//
// Each verb is tried as one conditional statement, which settles every uncontended request: in a
// transaction of its own for a batch of one.  What that statement does not settle is decided inside a
// transaction (leases.h).
#pragma once
#include <memory>

#include "holdfast/spi/store.h"
#include "stores/sqlite/admin.h"
#include "stores/sqlite/config.h"
#include "stores/sqlite/connection.h"
#include "stores/sqlite/leases.h"

namespace holdfast::sqlite {

class SqliteStoreConnection final : public StoreConnection {
 public:
  // Throws Failure.
  SqliteStoreConnection(std::shared_ptr<StoreConfig> config, Instant until);

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override;
  Result<Page> list(const Query& query, Instant until) override;
  Result<Traits> examine(Instant until) override;
  Result<std::unique_ptr<StoreListener>> listener(Instant until) override;

 private:
  void apply_one(const Request& request, Reply& reply);
  void apply_many(std::span<const Request> requests, std::span<Reply> replies);
  Reply decide_apart(const Request& request);

  void list_leases(const Query& query, Page& page);
  void list_places(const Query& query, Page& page);
  void list_log(const Query& query, Page& page);

  const std::shared_ptr<StoreConfig> config_;
  Connection connection_;
  Leases leases_;
  Upkeep upkeep_;
};

}  // namespace holdfast::sqlite
