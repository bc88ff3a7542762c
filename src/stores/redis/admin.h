// SPDX-License-Identifier: Apache-2.0
// admin.h - what people do to the store: init, purge and diagnose.
#pragma once
#include <memory>

#include "holdfast/spi/store.h"
#include "stores/redis/session.h"

namespace holdfast::redis {

// There are no tables to create.  `init` completes the index of held keys, where a Holdfast that did not know
// it has granted leases (docs/internals/adr/0028).
class RedisStoreAdmin final : public StoreAdmin {
 public:
  explicit RedisStoreAdmin(std::shared_ptr<const StoreConfig> config) : session_(std::move(config)) {}

  Result<std::vector<std::string>> plan(Instant until) override;
  Result<std::vector<std::string>> init(Instant until) override;
  std::string statements() const override;
  Result<Purged> purge(const Purge& what, Instant until) override;
  Result<Diagnosis> diagnose(Instant until) override;

 private:
  // The commands that add what is missing; `make` also does it.
  Result<std::vector<std::string>> complete_index(bool make, Instant until);
  void purge_keys(Millis free_for, Purged& purged, Instant until);
  void purge_log(Millis older_than, Purged& purged, Instant until);

  Session session_;
};

// Examines a server thoroughly, whatever it is like: on a connection of its own, without choosing a database,
// which a Cluster refuses.  Writes nothing.  What the user may not read is a finding.  Throws Failure if
// nobody answers or lets us in.
Diagnosis diagnose(const std::shared_ptr<const StoreConfig>& config, Instant until);

}  // namespace holdfast::redis
