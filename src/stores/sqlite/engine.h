// SPDX-License-Identifier: Apache-2.0
// engine.h - jobs in a SQLite file, beside the leases they run under.
//
// Each step is one transaction on a connection of its own, whose commits are on the disk when they return:
// a lease may be lost with the power, as all are void after a reboot, but a job may not.
#pragma once
#include <memory>

#include "stores/sqlite/config.h"
#include "stores/sqlite/connection.h"
#include "stores/sqlite/job_rows.h"
#include "stores/sqlite/leases.h"
#include "stores/sqlite/upkeep.h"

namespace holdfast::sqlite {

class SqliteEngine final : public JobRows {
 public:
  // Throws Failure.
  SqliteEngine(std::shared_ptr<StoreConfig> config, Instant until);

 private:
  void transact(Access access, Instant until, const std::function<void()>& work) override;
  core::JobMoment moment() override;
  Reply lease(const Request& request) override;
  std::string lock_owner(Key lock) override;

  const std::shared_ptr<StoreConfig> config_;
  Connection connection_;
  Leases leases_;
  Upkeep upkeep_;
};

}  // namespace holdfast::sqlite
