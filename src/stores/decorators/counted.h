// SPDX-License-Identifier: Apache-2.0
// counted.h - how many round trips was that?
#pragma once
#include <atomic>
#include <cstdint>

#include "holdfast/spi/store.h"

namespace holdfast {

struct Counts {
  std::atomic<std::uint64_t> trips = 0;     // calls of apply
  std::atomic<std::uint64_t> requests = 0;  // that travelled in them
};

class Counted final : public StoreConnection {
 public:
  // `counts` must outlive this.
  Counted(std::unique_ptr<StoreConnection> connection, Counts& counts)
      : connection_(std::move(connection)), counts_(counts) {}

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    ++counts_.trips;
    counts_.requests += requests.size();
    return connection_->apply(requests, replies, until);
  }
  Result<Page> list(const Query& query, Instant until) override { return connection_->list(query, until); }
  Result<Traits> examine(Instant until) override { return connection_->examine(until); }
  Result<std::unique_ptr<StoreListener>> listener(Instant until) override {
    return connection_->listener(until);
  }

 private:
  const std::unique_ptr<StoreConnection> connection_;
  Counts& counts_;
};

}  // namespace holdfast
