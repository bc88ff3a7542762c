// SPDX-License-Identifier: Apache-2.0
// store_connection.h - leases in Redis: a batch is one script.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/spi/store.h"
#include "stores/redis/session.h"

namespace holdfast::redis {

class RedisStoreConnection final : public StoreConnection {
 public:
  // Throws Failure.
  RedisStoreConnection(std::shared_ptr<const StoreConfig> config, Instant until)
      : session_(std::move(config)) {
    session_.ready(until);
  }

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override;
  Result<Page> list(const Query& query, Instant until) override;
  Result<Traits> examine(Instant until) override;
  Result<std::unique_ptr<StoreListener>> listener(Instant until) override;

 private:
  using Numbers = std::vector<std::size_t>;  // of requests

  // Sets `applied` when some of it was.
  void apply_some(std::span<const Request> requests, std::span<Reply> replies, Instant until, bool& applied);
  // Sends the requests (`which` of them, or all).  Returns those that were not decided: the first of them
  // came too late for the server's clock.
  Numbers send_batch(std::span<const Request> requests, std::span<Reply> replies, const Numbers* which,
                     Instant until);
  void list_leases(const Query& query, Page& page, Instant until);
  void list_places(const Query& query, Page& page, Instant until);
  void list_log(const Query& query, Page& page, Instant until);

  Session session_;
};

// The keys of an index that begin with `prefix`, in order, at most `limit`.  The server's own keys are never
// scanned.
struct IndexRange {
  std::string_view index;  // Naming::index or Naming::held
  std::string_view prefix;
  std::string_view after;  // only keys behind this one; empty: from the first
  std::size_t limit;
};
// Throws Failure.
std::vector<std::string> read_index(Session& session, const IndexRange& range, Instant until);

}  // namespace holdfast::redis
