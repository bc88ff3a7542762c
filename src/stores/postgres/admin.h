// SPDX-License-Identifier: Apache-2.0
// admin.h - the tables, made and tidied by hand.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/spi/store.h"
#include "stores/postgres/config.h"
#include "stores/postgres/connection.h"
#include "stores/postgres/probe.h"

namespace holdfast::postgres {

class PostgresStoreAdmin final : public StoreAdmin {
 public:
  explicit PostgresStoreAdmin(std::shared_ptr<const StoreConfig> config) : config_(std::move(config)) {}

  Result<std::vector<std::string>> plan(Instant until) override;
  Result<std::vector<std::string>> init(Instant until) override;
  std::string statements() const override;
  Result<Purged> purge(const Purge& what, Instant until) override;
  Result<Diagnosis> diagnose(Instant until) override;

 private:
  // What init has to do: what is missing is created, and what is old is migrated.
  std::vector<std::string> due(Connection& connection, const ServerProbe& probe, Instant until) const;
  std::vector<std::string> missing(const ServerProbe& probe) const;
  void migrate(Connection& connection, const ServerProbe& probe, std::vector<std::string>& statements,
               Instant until) const;
  // One transaction; none: somebody has a table in use.
  std::optional<std::vector<std::string>> try_init(Connection& connection, Instant until) const;
  Answer ask(Connection& connection, const std::string& sql, Parameters& parameters, Instant until) const;
  // One statement of the plan; says what would have helped where it fails.  False: somebody has the table in
  // use.
  bool make(Connection& connection, const Tables& tables, const std::string& statement, Instant until) const;
  void tell(Connection& connection, const std::string& sql, Instant until) const;

  const std::shared_ptr<const StoreConfig> config_;
};

}  // namespace holdfast::postgres
