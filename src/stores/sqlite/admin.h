// SPDX-License-Identifier: Apache-2.0
// admin.h - the tables, made and tidied by hand.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/findings.h"
#include "holdfast/spi/store.h"
#include "stores/sqlite/machine.h"
#include "stores/sqlite/tables.h"

namespace holdfast::sqlite {

class SqliteStoreAdmin final : public StoreAdmin {
 public:
  // `store` is that of the file and its table.
  SqliteStoreAdmin(std::shared_ptr<Store> store, std::string path, Tables tables, Machine machine,
                   core::Accepted accepted)
      : store_(std::move(store)),
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

  const std::shared_ptr<Store> store_;
  const std::string path_;
  const Tables tables_;
  const Machine machine_;
  const core::Accepted accepted_;
};

}  // namespace holdfast::sqlite
