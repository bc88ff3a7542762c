// SPDX-License-Identifier: Apache-2.0
// row_engine.h - jobs in a database that only keeps rows: each step is a transaction that reads rows, applies
// core/job_rule.h, and writes the rows that changed.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "core/job_rule.h"
#include "holdfast/spi/job_engine.h"

namespace holdfast::rows {

// A tick as the database keeps it.
struct TickRecord {
  std::int64_t tick = -1;
  JobId job{};
  std::string by = {};
  Micros at{}, success{};
  Micros until{};  // wall clock: it may be purged after that; zero: never
};

class RowEngine : public JobEngine {
 public:
  Result<EnqueueReply> enqueue(const NewJob& job, Instant until) final;
  Result<Claimed> claim(const ClaimRequest& request, Instant until) final;
  Status renew(std::span<const ClaimRef> claims, std::span<ClaimReply> replies, Instant until) final;
  Result<Finished> finish(const Finish& finish, Instant until) final;
  Result<std::vector<JobRow>> list(const JobQuery& query, Instant until) final;
  Result<JobRow> change(JobId id, JobChange what, std::string_view by, Instant until) final;
  Result<TickRow> take_tick(const Tick& tick, Instant until) final;
  Result<TickRow> tick(std::string_view name, Instant until) final;
  Status note_success(std::string_view name, std::string_view by, Instant until) final;
  Result<std::uint64_t> purge(const JobPurge& what, Instant until) final;

 protected:
  enum class Access : std::uint8_t { read, write };

  // Runs `work` in a transaction and commits it.  If the database asks for a retry, runs it again.  All
  // functions below are called inside a transaction, and throw Failure.
  virtual void transact(Access access, Instant until, const std::function<void()>& work) = 0;

  virtual core::JobMoment moment() = 0;

  // -- jobs.  A row that was read for writing is not changed by others until the end of the transaction.

  virtual std::optional<core::JobRecord> job(JobId id) = 0;
  virtual std::optional<core::JobRecord> in_slot(std::string_view slot) = 0;
  // The first due job by core::before(), without jobs that another transaction is claiming.
  virtual std::optional<core::JobRecord> next_due(std::span<const std::string> queues, Moment wall) = 0;
  // A running job whose claim has expired.
  virtual std::optional<core::JobRecord> next_expired(std::span<const std::string> queues, Micros now) = 0;
  // The first by core::before() of the jobs that wait for the lock of `key` and are not due.
  virtual std::optional<core::JobRecord> first_parked(std::string_view key, Moment wall) = 0;
  // When the next queued job is due, and when the next claim expires.
  virtual std::optional<Moment> earliest_due(std::span<const std::string> queues) = 0;
  virtual std::optional<Micros> earliest_claim_end(std::span<const std::string> queues) = 0;

  // Returns no_job if another job has taken its slot meanwhile.
  virtual JobId insert(const core::JobRecord& job) = 0;
  virtual void update(const core::JobRecord& job) = 0;
  // Renews the claims that are still their owners'; all replies say that they are not.
  virtual void renew_claims(std::span<const ClaimRef> claims, std::span<ClaimReply> replies, Micros now);
  // Renews a claim whose job another transaction had locked just now: waits for it at most until then.
  virtual void renew_claim_that_waits(const ClaimRef& claim, ClaimReply& reply, Micros now, Instant until);
  virtual void erase(JobId id) = 0;
  virtual std::vector<core::JobRecord> find(const JobQuery& query) = 0;
  virtual std::uint64_t erase_over(Moment finished_before, std::size_t limit) = 0;

  // -- the lease of a job, by the rule of spi/store.h

  virtual Reply lease(const Request& request) = 0;
  // The owner that holds it now; empty: nobody.
  virtual std::string lock_owner(Key lock) = 0;

  // -- ticks

  virtual std::optional<TickRecord> tick_of(std::string_view name) = 0;
  virtual void put_tick(std::string_view name, const TickRecord& tick) = 0;
  virtual void erase_ticks(Micros until_before) = 0;

 private:
  std::optional<EnqueueReply> try_enqueue(const NewJob& job);
  bool try_claim(const ClaimRequest& request, Claimed& claimed);
  bool take_lock(core::JobRecord& job, const ClaimRequest& request, const core::JobMoment& moment,
                 Claimed& claimed);
  void unpark_next(std::string_view key, Moment wall);
  void scout_next(std::string_view key, Moment wall);
};

}  // namespace holdfast::rows
