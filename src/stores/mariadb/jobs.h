// SPDX-License-Identifier: Apache-2.0
// jobs.h - jobs in MariaDB and MySQL: rows/row_engine.h, each step one short transaction.
//
// What is only written travels with the next question, or with the COMMIT: a claim is four round trips.  Job
// rows are locked before rows of leases, and those in the bytewise order of their keys.  Where two meet all
// the same (a finish that makes the next job due meets the claim of that job), the server ends one of them,
// and that is done again from the start.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/timing.h"
#include "rows/row_engine.h"
#include "stores/mariadb/config.h"
#include "stores/mariadb/connection.h"
#include "stores/mariadb/probe.h"

namespace holdfast::mariadb {

class MariaEngine final : public rows::RowEngine {
 public:
  // Throws Failure.
  MariaEngine(std::shared_ptr<const StoreConfig> config, Instant until);

 private:
  using Record = core::JobRecord;
  using Queues = std::span<const std::string>;

  // The transaction was undone, or has to be, and may succeed from the start.
  struct Overtaken {
    Trouble trouble;
  };
  // Thrown to commit the jobs that were set aside so far; then the work is done again.
  struct CommitPart {};
  // What a claim finds in its queues.
  struct Candidates {
    std::optional<Record> expired = {}, ready = {};
    std::string became_due = {};  // ids of jobs that are to be made ready
    std::optional<Moment> due = {};
    std::optional<Micros> claim_end = {};
    bool current = true;  // no job was set aside since
  };

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
  void renew_claims(std::span<const ClaimRef> claims, std::span<ClaimReply> replies, Micros now) override;
  void renew_claim_that_waits(const ClaimRef& claim, ClaimReply& reply, Micros now, Instant until) override;
  void erase(JobId id) override;
  std::vector<Record> find(const JobQuery& query) override;
  std::uint64_t erase_over(Moment finished_before, std::size_t limit) override;

  Reply lease(const Request& request) override;
  std::string lock_owner(Key lock) override;

  std::optional<rows::TickRecord> tick_of(std::string_view name) override;
  void put_tick(std::string_view name, const rows::TickRecord& tick) override;
  void erase_ticks(Micros until_before) override;

  void connect(Instant until);
  void begin(Access access, Instant until);
  // False: only a part of it was committed.
  bool attempt(const std::function<void()>& work);
  void commit();
  void roll_back() noexcept;
  // Sent with the next question, or with the COMMIT.
  void write(const std::string& statements);
  // Sends what is to be written, then `text`; the answers of its last `count` statements.
  std::vector<Answer> ask(const std::string& text, std::size_t count);
  // Throws: Overtaken, or what no second attempt mends.
  [[noreturn]] void fail(const Trouble& trouble) const;

  // The rows that a question found, remembered as they were.
  std::vector<Record> records_in(const Answer& answer);
  std::optional<Record> one_in(const Answer& answer);
  Candidates& read_candidates(Queues queues);
  const Candidates& current_candidates(Queues queues);
  // The first of those that are ready.
  std::optional<Record> ready_in(Queues queues);
  // The value of {patience}: waits for rows until then, but leaves a part of the time for the answer.
  std::string wait_until(Instant until) const;
  // The value of {for_update}.
  std::string for_update() const { return access_ == Access::write ? "FOR UPDATE" : ""; }
  void require_fit(const JobRow& job) const;

  const std::shared_ptr<const StoreConfig> config_;
  Tables tables_;  // as this connection has found them
  std::unique_ptr<Connection> connection_;
  ServerProbe probe_;
  core::StoreOffset offset_;

  // Of the call that is under way:
  Instant until_{};
  std::set<std::string, std::less<>> locked_keys_ = {};  // another transaction has locked their leases
  int parts_ = 0;                                        // of it that were committed
  // and of its transaction.
  Access access_{};
  std::string pending_ = {};  // to be sent with what comes next
  bool wrote_ = false;        // something that is to stay
  std::optional<core::JobMoment> moment_ = {};
  std::map<JobId, Record> read_records_ = {};
  std::optional<Candidates> candidates_ = {};
  bool set_aside_ = false;  // a job that waits for its lock
  // By key, what stays true as we have locked the row of its lease: that it is held, and which job waits
  // first.
  std::map<std::string, Reply, std::less<>> busy_ = {};
  std::map<std::string, std::optional<Record>, std::less<>> first_parked_ = {};
};

// A record of a row that has job_columns of jobs.sql.
core::JobRecord record_in(const Answer& answer, std::size_t row);
// A DATETIME: at least 1970, at most far from where the type ends.
std::string datetime_of(Micros moment);
inline std::string datetime_of(Moment moment) { return datetime_of(moment.time_since_epoch()); }
std::string digits_of(JobId id);
// "1, 2, 3": the first column.
std::string ids_in(const Answer& answer);
// Keeps the one that is to be claimed first.
void take_better(std::optional<core::JobRecord>& best, std::optional<core::JobRecord> found);

}  // namespace holdfast::mariadb
