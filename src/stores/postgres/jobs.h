// SPDX-License-Identifier: Apache-2.0
// jobs.h - jobs in PostgreSQL: the rules of core/job_rule.h in SQL, next to the lock table.
//
// Enqueue, claim and renew are one statement each.  What one snapshot cannot decide (`claim` in jobs.sql says
// what that is, and why) is a transaction of two statements, sent together: one round trip.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/timing.h"
#include "holdfast/spi/job_engine.h"
#include "stores/postgres/config.h"
#include "stores/postgres/connection.h"
#include "stores/postgres/probe.h"

namespace holdfast::postgres {

class PostgresEngine final : public JobEngine {
 public:
  // Throws Failure.
  PostgresEngine(std::shared_ptr<const StoreConfig> config, Instant until);

  Result<EnqueueReply> enqueue(const NewJob& job, Instant until) override;
  Result<Claimed> claim(const ClaimRequest& request, Instant until) override;
  Status renew(std::span<const ClaimRef> claims, std::span<ClaimReply> replies, Instant until) override;
  Result<Finished> finish(const Finish& finish, Instant until) override;
  Result<std::vector<JobRow>> list(const JobQuery& query, Instant until) override;
  Result<JobRow> change(JobId id, JobChange what, std::string_view by, Instant until) override;
  Result<TickRow> take_tick(const Tick& tick, Instant until) override;
  Result<TickRow> tick(std::string_view name, Instant until) override;
  Status note_success(std::string_view name, std::string_view by, Instant until) override;
  Result<std::uint64_t> purge(const JobPurge& what, Instant until) override;

 private:
  // What a claim does about a lock that somebody's transaction has a hand on, and about one that is held.
  struct Manner {
    bool careful = false, skip = false;
  };

  void connect(Instant until);
  // Before anything of a call is sent: a connection that is of no more use is replaced.
  void ready(Instant until);
  // Asks until it is answered; throws Failure.  `ask` returns what the server said, the last of it last; that
  // may be trouble with locked rows, or with one job alone.
  using Ask = std::function<std::vector<Answer>()>;
  std::vector<Answer> answers(Instant until, const Ask& ask);
  Answer one_answer(Instant until, const std::function<Answer()>& ask);
  Answer answer(Sql sql, Instant until);
  // Unprepared: it is planned for what is asked, or comes seldom.
  Answer answer_once(Sql sql, Instant until);
  // What answers() lets through.
  Error not_done(const Trouble& trouble) const;
  // Only looked: whatever went wrong, nothing was changed.
  Answer look(Sql sql, Instant until);

  // Throws Failure; an answer with trouble is one about locked rows, or about this job alone.
  std::vector<Answer> ask_claim(const ClaimRequest& request, Manner manner, Millis longest, Instant until);
  // Its lock cannot be written, whoever tries: it is dead, and in nobody's way.  False: it is not as it was.
  bool spoil(std::int64_t id, const Trouble& why, Instant until);
  // None: another one has to be tried, in that manner.
  std::optional<Claimed> take_claim(const Answer& answer, Manner& manner);
  // Waits for the job.
  ClaimReply renew_locked(const ClaimRef& claim, Millis patience, Instant until);
  TickRow last_tick(std::string_view name, Instant until, Millis period, std::int64_t* wanted);

  const std::shared_ptr<const StoreConfig> config_;
  std::unique_ptr<Connection> connection_;
  ServerProbe probe_;
  Statements statements_;
  core::StoreOffset offset_;
  Parameters parameters_, more_;
  bool broken_ = false;
};

// -- what its files share

// As the part job_row of jobs.sql lists it, from that column on.
JobRow job_in(const Answer& answer, int row, int first);

inline std::int64_t as_number(JobId id) { return static_cast<std::int64_t>(to_number(id)); }

// What is thrown inside comes out as a value.
template <class Out, class Work>
Out guarded(const Work& work) {
  try {
    return work();
  } catch (const Failure& failure) {
    return failure.error();
  }
}

}  // namespace holdfast::postgres
