// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/engine.h"

#include "stores/sqlite/database.h"

namespace holdfast::sqlite {

SqliteEngine::SqliteEngine(std::shared_ptr<StoreConfig> config, Instant until)
    : JobRows(connection_),  // which only keeps where it will be
      config_(std::move(config)),
      connection_(config_->path, config_->tables, config_->machine),
      leases_(*config_, connection_),
      upkeep_(connection_, config_->presence) {
  connection_.set_end(until);
  open_database(connection_, config_->presence);
  open_jobs(connection_);
}

void SqliteEngine::transact(Access access, Instant until, const std::function<void()>& work) {
  leases_.start(until);
  if (access == Access::read) {
    const Snapshot snapshot(connection_);
    work();
    return;
  }
  {
    Transaction transaction(connection_);
    work();
    transaction.commit();
  }
  leases_.ring_waiters();
  upkeep_.tend();
}

core::JobMoment SqliteEngine::moment() {
  return {.now = connection_.boottime(), .wall = Moment(connection_.walltime())};
}

Reply SqliteEngine::lease(const Request& request) { return leases_.decide(request); }

std::string SqliteEngine::lock_owner(Key lock) { return leases_.owner_of(lock); }

}  // namespace holdfast::sqlite
