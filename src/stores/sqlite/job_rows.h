// SPDX-License-Identifier: Apache-2.0
// job_rows.h - the rows of jobs and ticks on one connection, be it ours or the caller's.  Decides nothing.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rows/row_engine.h"
#include "stores/sqlite/connection.h"

namespace holdfast::sqlite {

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
    Moment run_at;
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

}  // namespace holdfast::sqlite
