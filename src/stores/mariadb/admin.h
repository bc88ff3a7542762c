// SPDX-License-Identifier: Apache-2.0
// admin.h - the tables, made and tidied by hand.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "holdfast/spi/store.h"
#include "stores/mariadb/probe.h"

namespace holdfast::mariadb {

class MariaStoreAdmin final : public StoreAdmin {
 public:
  explicit MariaStoreAdmin(std::shared_ptr<const StoreConfig> config) : config_(std::move(config)) {}

  Result<std::vector<std::string>> plan(Instant until) override;
  Result<std::vector<std::string>> init(Instant until) override;
  std::string statements() const override;
  Result<Purged> purge(const Purge& what, Instant until) override;
  Result<Diagnosis> diagnose(Instant until) override;

 private:
  // What init has to do: what is missing is created, and what is old is migrated.
  std::vector<std::string> due(const ServerProbe& probe) const;
  // One of those.  Somebody may have a table in use: then it is tried again.
  void make(Connection& connection, const std::string& statement, Instant until) const;
  // All statements of one text.
  Answers ask(Connection& connection, const std::string& text, Instant until) const;
  // The end of a transaction; false: it was undone, as somebody was in the way.
  bool commit(Connection& connection, const std::string& text, Instant until) const;
  std::uint64_t purge_keys(Connection& connection, const Purge& what, Instant until) const;

  const std::shared_ptr<const StoreConfig> config_;
};

}  // namespace holdfast::mariadb
