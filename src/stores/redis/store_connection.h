// SPDX-License-Identifier: Apache-2.0
// store_connection.h - leases in Redis: a batch is one script.
#pragma once
#include <memory>
#include <vector>

#include "holdfast/spi/store.h"
#include "stores/redis/link.h"

namespace holdfast::redis {

class RedisStoreConnection final : public StoreConnection {
 public:
  // Throws Failure.
  RedisStoreConnection(std::shared_ptr<const StoreConfig> config, Instant until) : link_(std::move(config)) {
    link_.ready(until);
  }

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override;
  Result<Page> list(const Query& query, Instant until) override;
  Result<Traits> examine(Instant until) override;
  std::unique_ptr<StoreListener> listener() override;

 private:
  using Numbers = std::vector<std::size_t>;  // of requests

  // `applied`: some of it was.
  void apply_some(std::span<const Request> requests, std::span<Reply> replies, Instant until, bool& applied);
  Numbers ask(std::span<const Request> requests, std::span<Reply> replies, const Numbers* which,
              Instant until);
  void list_leases(const Query& query, Page& page, Instant until);
  void list_places(const Query& query, Page& page, Instant until);
  void list_log(const Query& query, Page& page, Instant until);

  Link link_;
};

}  // namespace holdfast::redis
