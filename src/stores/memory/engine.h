// SPDX-License-Identifier: Apache-2.0
// engine.h - jobs in memory: the executable specification, rows/row_engine.h and two maps.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "rows/row_engine.h"
#include "stores/memory/database.h"

namespace holdfast::memory {

class MemoryEngine final : public rows::RowEngine {
 public:
  MemoryEngine(std::shared_ptr<Database> database, std::string client)
      : database_(std::move(database)), client_(std::move(client)) {}

 private:
  using Record = core::JobRecord;
  using Queues = std::span<const std::string>;

  void transact(Access access, Instant until, const std::function<void()>& work) override;
  core::JobMoment moment() override;

  std::optional<Record> job(JobId id) override;
  std::optional<Record> in_slot(std::string_view slot) override;
  std::optional<Record> next_due(Queues queues, Moment wall) override;
  std::optional<Record> next_expired(Queues queues, Micros now) override;
  std::optional<Record> first_parked(std::string_view key, Moment wall) override;
  std::optional<Moment> earliest_due(Queues queues) override;
  std::optional<Micros> earliest_claim_end(Queues queues) override;
  JobId insert(const Record& job) override;
  void update(const Record& job) override;
  void erase(JobId id) override;
  std::vector<Record> find(const JobQuery& query) override;
  std::uint64_t erase_over(Moment finished_before, std::size_t limit) override;

  Reply lease(const Request& request) override;
  std::string lock_owner(Key lock) override;

  std::optional<rows::TickRecord> tick_of(std::string_view name) override;
  void put_tick(std::string_view name, const rows::TickRecord& tick) override;
  void erase_ticks(Micros until_before) override;

  // The first by core::before() of those that are wanted.
  template <class Wanted>
  std::optional<Record> first(const Wanted& wanted);
  // The smallest of those that are wanted.
  template <class Time, class Wanted>
  std::optional<Time> earliest(Queues queues, const Wanted& wanted);

  const std::shared_ptr<Database> database_;
  const std::string client_;
};

}  // namespace holdfast::memory
