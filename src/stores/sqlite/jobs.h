// SPDX-License-Identifier: Apache-2.0
// jobs.h - jobs in a SQLite file, beside the leases they run under.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rows/row_engine.h"
#include "stores/sqlite/admin.h"
#include "stores/sqlite/config.h"
#include "stores/sqlite/connection.h"
#include "stores/sqlite/leases.h"

namespace holdfast::sqlite {

// The rows of jobs and ticks on one connection, be it ours or the caller's.  Decides nothing.
//
// Its statements use none of the connection's own functions: a connection of somebody else's has none.
class JobRows : public rows::RowEngine {
 protected:
  using Record = core::JobRecord;
  using Queues = std::span<const std::string>;

  explicit JobRows(Connection& connection) : connection_(connection) {}

 private:
  std::optional<Record> job(JobId id) final;
  std::optional<Record> in_slot(std::string_view slot) final;
  // By core::before(), but of more than a hundred that were put off and have come due at the same time in one
  // queue and priority: of the hundred that came due first.
  std::optional<Record> next_due(Queues queues, Moment wall) final;
  std::optional<Record> next_expired(Queues queues, Micros now) final;
  // By core::before(), but if the first hundred are due by themselves: any other.
  std::optional<Record> first_parked(std::string_view key, Moment wall) final;
  std::optional<Moment> earliest_due(Queues queues) final;
  std::optional<Micros> earliest_claim_end(Queues queues) final;
  JobId insert(const Record& job) final;
  void update(const Record& job) final;
  void erase(JobId id) final;
  std::vector<Record> find(const JobQuery& query) final;
  std::uint64_t erase_over(Moment finished_before, std::size_t limit) final;

  std::optional<rows::TickRecord> tick_of(std::string_view name) final;
  void put_tick(std::string_view name, const rows::TickRecord& tick) final;
  void erase_ticks(Micros until_before) final;

  // A job's place in the order of core::before().
  struct Turn {
    std::int64_t priority;
    Moment at;
    std::int64_t id;
    auto operator<=>(const Turn&) const = default;
  };
  std::optional<Turn> first_due(std::string_view queue, Moment wall);
  std::optional<Turn> first_put_off(std::string_view queue, Moment wall);
  template <class Visit>
  void each_priority(Sql which, std::string_view queue, const Visit& visit);
  template <class Visit>
  void each_claim_end(Queues queues, const Visit& visit);
  std::optional<Record> job_numbered(std::int64_t id);

  Connection& connection_;
};

// Each step is one transaction on a connection of its own, whose commits are on the disk when they return:
// a lease may be lost with the power, as all are void after a reboot, but a job may not.
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
