// SPDX-License-Identifier: Apache-2.0
// steward.h - the tables, made and tidied by hand.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "holdfast/store.h"
#include "stores/postgres/connection.h"
#include "stores/postgres/hello.h"
#include "stores/postgres/site.h"

namespace holdfast::postgres {

class PostgresSteward final : public Steward {
 public:
  explicit PostgresSteward(std::shared_ptr<const Site> site) : site_(std::move(site)) {}

  Result<std::vector<std::string>> plan(Instant until) override;
  Result<std::vector<std::string>> init(Instant until) override;
  Result<Purged> purge(const Purge& what, Instant until) override;
  Result<Diagnosis> diagnose(Instant until) override;

 private:
  std::vector<std::string> missing(const Hello& hello) const;
  Answer ask(Connection& connection, const std::string& sql, Parameters& parameters, Instant until) const;
  // One statement of the plan; says what would have helped where it fails.
  void make(Connection& connection, const Tables& tables, const std::string& statement, Instant until) const;
  void tell(Connection& connection, const std::string& sql, Instant until) const;

  const std::shared_ptr<const Site> site_;
};

}  // namespace holdfast::postgres
