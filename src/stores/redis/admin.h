// SPDX-License-Identifier: Apache-2.0
// admin.h - what people do to the store.
#pragma once
#include <memory>

#include "holdfast/spi/store.h"
#include "stores/redis/link.h"

namespace holdfast::redis {

// There are no tables to make.
class RedisStoreAdmin final : public StoreAdmin {
 public:
  explicit RedisStoreAdmin(std::shared_ptr<const StoreConfig> config) : link_(std::move(config)) {}

  Result<std::vector<std::string>> plan(Instant until) override;
  Result<std::vector<std::string>> init(Instant until) override { return plan(until); }
  Result<Purged> purge(const Purge& what, Instant until) override;
  Result<Diagnosis> diagnose(Instant until) override;

 private:
  void purge_keys(Millis free_for, Purged& purged, Instant until);
  void purge_log(Millis older_than, Purged& purged, Instant until);

  Link link_;
};

}  // namespace holdfast::redis
