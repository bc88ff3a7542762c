// SPDX-License-Identifier: Apache-2.0
// job_collection.h - the documents of jobs and of ticks, and the commands about them.
//
// A job is one document.  Beside the fields of holdfast/spi/job_engine.h it has fields for the indexes
// (admin.cpp), each only while it means something:
//
//   slot       it has its slot: unique
//   ready      queued, and due when run_at is: found by (queue, priority, run_at, _id)
//   wake_at    queued and due later than that, claimed, or taken: somebody has to check it then
//   waits_for  parked, and not due when it was last written: the key of its lock
//   over_at    done, dropped or cancelled since
//   tick_name, tick  the tick that it was enqueued for: unique
//
// and `version`, which every change of state raises; `taker`, who is about to decide what becomes of it
// (jobs.h); `last_taker`, who was before and died.
//
// Ticks have one document for each name.  A job that is enqueued for a tick has it in its own document, where
// a unique index lets one job have it: so job, slot and tick are one insert, and a job that was not enqueued
// has taken no tick.  The document of the name then says how far it has come, so that a tick stays taken when
// its job is gone.  Whoever dies between the two leaves a job that has its tick: the next enqueue for that
// tick finds the job, answers duplicate, and writes the document of the name.  Whoever removes the job writes
// it too, before the job is gone.
//
// One gap remains: A reads the document of the name; B enqueues the same tick; B's job finishes and is
// removed by hand; A inserts its job.  A notices that only after its insert.  It then removes its job, unless
// a worker has it already.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/job_rule.h"
#include "stores/mongodb/connection.h"

namespace holdfast::mongodb {

// -- a job as a document (job_document.cpp)

struct KeptJob {
  core::JobRecord record = {};
  std::optional<std::int64_t> version = 0;  // none: it is no number
  std::string taker = {}, last_taker = {};  // empty: nobody
  std::string tick_name = {};               // empty: it was enqueued for none
  std::int64_t tick = 0;
  Micros tick_until{};
  Micros now{};  // the server's clock when it was read

  core::JobMoment moment() const noexcept { return {.now = now, .wall = Moment(now)}; }
};

// What kept_job() reads.
Document job_fields();
KeptJob kept_job(View document);

// To insert.
Document new_job(const KeptJob& job);
// To update: the fields that a rule may have changed.  It has no taker afterwards.
Document changed_job(const KeptJob& read, const core::JobRecord& after);
// To update: a duplicate has replaced it.  Its taker stays.
Document replaced_job(const KeptJob& read, const core::JobRecord& after);

std::int64_t kept(JobId id) noexcept;
Document by_id(JobId id);
// The document, if it is still as it was read.
Document unchanged(const KeptJob& read);

// -- the collection of jobs

using Queues = std::span<const std::string>;

// Of one connection, for the length of one call.  Throws Failure.
class JobCollection {
 public:
  JobCollection(Connection& connection, Instant until) : connection_(connection), until_(until) {}

  // A part of the call may have taken effect: a failure afterwards is in doubt.
  bool applied() const noexcept { return applied_; }
  void has_applied() noexcept { applied_ = true; }

  // -- to enqueue

  struct Fresh {
    JobId id{};
    Micros now{};
  };
  Fresh next_id();
  // An id is used already: the counter had been lost.
  void skip_ids();

  enum class Inserted : std::uint8_t { yes, slot_taken, tick_taken, id_taken };
  Inserted insert(const KeptJob& job);

  // -- to read

  // `more`: further fields of the command.
  std::optional<KeptJob> find(const Document& filter, Document more = {});
  std::optional<KeptJob> in_slot(std::string_view key);
  std::vector<KeptJob> list(const JobQuery& query);

  // -- to change

  enum class Swapped : std::uint8_t {
    yes,
    changed,     // the document is not as it was read: read it again
    slot_taken,  // the job would take its slot, and another job has it
  };
  // Only if the document is still as it was read.
  Swapped swap(const KeptJob& read, const Document& change);
  bool erase(const KeptJob& read);
  // The job as it is then.
  std::optional<KeptJob> count_duplicate(const Document& filter);
  // Prolongs the claims that are still their owners', and returns how many those are.
  std::size_t prolong(std::span<const ClaimRef> claims);
  std::vector<bool> held(std::span<const ClaimRef> claims);

  // -- to claim

  // The jobs whose wake_at has come: claims and takings that ran out, and queued jobs that are due now.
  struct Woken {
    std::vector<JobId> abandoned, due;
  };
  Woken woken(Queues queues);
  void make_due(const std::vector<JobId>& due);
  // The first of all jobs that are due, in order; that job, if it is still abandoned.
  std::optional<KeptJob> take_next(Queues queues, std::string_view taker, Millis length);
  std::optional<KeptJob> take_over(JobId id, std::string_view taker, Millis length);
  // How long a worker can sleep; `now` is the server's clock.
  Millis idle(Queues queues, Micros& now);

  // -- those that wait for a lock

  // By core::before(), of those that are not due.
  std::optional<KeptJob> first_waiting(std::string_view key);
  // It checks within scout_pause.
  void make_scout(const KeptJob& waiting);
  // False: it waits no longer.
  bool make_due(const KeptJob& waiting);

  // -- to purge

  // The jobs that were over at `cut`.
  std::vector<KeptJob> over(Micros cut, std::size_t limit);
  std::uint64_t erase_over(const std::vector<KeptJob>& jobs, Micros cut);

 private:
  Document find_all(const Document& filter, const Document& more, std::size_t limit);
  Document write(const Document& command, Effect effect);
  // One findAndModify; the document that it answers.
  std::optional<KeptJob> modify(Document command, Effect effect);
  std::optional<KeptJob> take(const Document& filter, const char* hint, std::string_view taker,
                              Millis length);
  // `pipeline`: its name in jobs.json.
  bool update(const Document& match, const char* pipeline, const Document& constants, bool many);
  std::string name() const { return connection_.config().jobs(); }

  Connection& connection_;
  const Instant until_;
  bool applied_ = false;
};

// -- the collection of ticks (job_document.cpp)

struct KeptTick {
  std::int64_t tick = -1;
  JobId job{};
  std::string by = {};
  Micros at{}, success{};
};

// Of one connection, for the length of one call.  Throws Failure.
class TickCollection {
 public:
  TickCollection(Connection& connection, Instant until) : connection_(connection), until_(until) {}

  std::optional<KeptTick> find(std::string_view name);

  struct Step {
    std::int64_t tick = 0;
    JobId job{};
    std::string_view by = {};
    Micros at{};
    Micros until{};  // it can be purged then; zero: it is kept
  };
  // False: it is there already, or further.
  bool advance(std::string_view name, const Step& step);
  // To this job's tick.  False: another job's tick has come as far.
  bool advance(const KeptJob& job);
  void note_success(std::string_view name, std::string_view by, Micros at);
  void erase(Micros until_before);

 private:
  bool upsert(const Document& match, const Document& change);
  std::string name() const { return connection_.config().ticks(); }

  Connection& connection_;
  const Instant until_;
};

}  // namespace holdfast::mongodb
