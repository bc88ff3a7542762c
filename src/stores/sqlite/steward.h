// SPDX-License-Identifier: Apache-2.0
// steward.h - the tables, made and tidied by hand.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/accepted.h"
#include "holdfast/store.h"
#include "stores/sqlite/machine.h"
#include "stores/sqlite/tables.h"

namespace holdfast::sqlite {

class SqliteSteward final : public Steward {
 public:
  // `origin` is that of the file and its table.
  SqliteSteward(std::shared_ptr<Origin> origin, std::string path, Tables tables, Machine machine,
                core::Accepted accepted)
      : origin_(std::move(origin)),
        path_(std::move(path)),
        tables_(std::move(tables)),
        machine_(std::move(machine)),
        accepted_(std::move(accepted)) {}

  Result<std::vector<std::string>> plan(Instant until) override;
  Result<std::vector<std::string>> init(Instant until) override;
  Result<Purged> purge(const Purge& what, Instant until) override;
  Result<Diagnosis> diagnose(Instant until) override;

 private:
  std::vector<std::string> schema() const;

  const std::shared_ptr<Origin> origin_;
  const std::string path_;
  const Tables tables_;
  const Machine machine_;
  const core::Accepted accepted_;
};

}  // namespace holdfast::sqlite
