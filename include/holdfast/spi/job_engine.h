// SPDX-License-Identifier: Apache-2.0
// job_engine.h - the operations that a database must offer to keep jobs.  For authors of stores; to use jobs,
// read jobs.h.
//
// The lock of a job is an ordinary lease of the store (store.h): `holdfast run lock:X:1 -- …` and a job
// exclude each other.  The record of a job has three things that change in one step with its state:
//
//   the slot    at most one job of a key is wanted: taken by enqueue, given back by the change of state that
//               ends the job.  It is no second object with a life of its own, so nothing has to be reaped
//   the claim   which worker has it, until when.  Renewed while the worker lives; a claim that has run out is
//               simply claimable again
//   the lock    which lease it runs under.  Taken by the claim, in the same step, by the rule of store.h
//
//   enqueue ──> queued ──claim──> running ──finish──> done
//                 │ ^                │ ├── failed, or its worker died ──> queued again, or dead
//                 │ └── handed back ─┘ └── cancelled
//                 ├── its lock was held: dropped, or it waits
//                 └── cancelled
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/clock.h"
#include "holdfast/export.h"
#include "holdfast/job_rows.h"
#include "holdfast/result.h"
#include "holdfast/spi/store.h"

namespace holdfast {

struct NewJob {
  std::string_view name{};
  std::string_view queue = "default";
  std::string_view args = "[]";  // a JSON array; the engine does not parse it
  int priority = 0;              // the smallest first
  std::optional<Moment> at{};    // not before; none: use `in`
  Millis in{};                   // not before this much later, on the store's clock; used without `at`
  int max_attempts = 1;          // including the first

  // The key of its lock; its slot is "loner:" + key.
  std::string_view key{};
  Millis lock_ttl{std::chrono::seconds(30)};
  bool lock_fixed = false;  // the lease is not renewed: it ends after lock_ttl even if the job goes on
  int limit = 1;  // how many may run at once, each on a lease of its own: key#1 … key#N. Zero: no lock
  OnConflict on_conflict = OnConflict::drop;
  Unique unique = Unique::no;

  // At most once per window, or per tick: it is a duplicate if `tick_name` already had this tick or a later
  // one.
  std::string_view tick_name{};
  std::int64_t tick = 0;  // of `tick_name`; ignored if there is a window
  Millis window{};        // the tick is the moment the window began, in microseconds
};

struct EnqueueReply {
  enum class What : std::uint8_t {
    enqueued,
    replaced,   // the job that has the slot got these arguments and this time
    duplicate,  // another job has the slot, or had this tick
    locked,     // loner, until_success: nobody has the slot, but somebody holds the lock
  };
  What what{};
  JobId id{};                     // enqueued, replaced, duplicate: of that job
  JobState state{};               // duplicate: of that job (done, if it was purged since)
  std::optional<Moment> since{};  // duplicate: when that job was enqueued; none: unknown
  std::string owner = {};         // locked: who holds the lock
  Moment now{};                   // the store's wall clock
};

struct ClaimRequest {
  std::span<const std::string> queues;   // any of them
  OwnerView owner;                       // of the claim and of the lease; new for each claim
  Millis ttl{std::chrono::seconds(30)};  // of the claim
  int max_crashes = 3;                   // a job during which this many workers died is dead
};

struct Claimed {
  enum class What : std::uint8_t {
    nothing,   // nothing is due; `next` says when something may be
    running,   // the owner has the job and its lock
    dropped,   // its lock was held by `blocker`: the job has ended
    raised,    // its lock was held by `blocker`; the owner has the job without its lock, and finishes it as
               // failed
    poisoned,  // it is dead, because too many workers died while they ran it
  };
  What what = What::nothing;
  JobRow job = {};
  bool recovered = false;    // running: an earlier worker did not finish it
  Millis lock_remaining{};   // running under a lease: its remaining time in the store.  `never`: no end
  std::string blocker = {};  // dropped, raised
  Millis next = {};          // nothing: the time until something may be due, at most a minute
  Moment now{};              // the store's wall clock
};

struct ClaimRef {
  JobId id;
  OwnerView owner;
};

struct Finish {
  JobId id{};
  OwnerView owner{};   // of the claim
  JobState to{};       // done, queued, dead, dropped, cancelled
  Millis in{};         // queued: not before this much later
  bool counts = true;  // queued: false if it is handed back: the attempt does not count
  std::string_view error{};
  Key lock{};  // the lease to release: as claimed; empty: none
  Token token{};
};

// The two are independent.  A job can be finished although its lease ran out (and somebody else may hold it
// by now), and the lease can be released although the job belongs to another worker now.
struct Finished {
  bool finished = false;
  bool released = false;
  Moment now{};
};

enum class JobChange : std::uint8_t {
  cancel,  // a job that is queued, running (its worker notices at its next renewal) or dead.  Frees its slot
  retry,   // a job that is dead, dropped, cancelled or done: queued again, now, with all its attempts.  Takes
          // its slot.  If it was cancelled just now, its last worker may still run it: its lock keeps the two
          // runs apart
  remove,  // a job that is not running
};

// A tick of a name, for schedules and for `run --tick` and `--every`.
struct Tick {
  std::string_view name;
  std::int64_t tick = 0;  // ignored if there is a period
  Millis period{};        // the tick is the moment the period began, in microseconds
  std::string_view by{};  // who takes it, for people
};
struct TickRow {
  bool taken = false;          // take_tick: the caller got the tick
  std::int64_t tick{};         // take_tick: the requested tick; tick: the last one that was taken; -1: none
  std::string by = {};         // who took the last one
  std::optional<Moment> at{};  // when; none: never
  std::optional<Moment> success{};  // when note_success was last called; none: never
  Moment now{};                     // the store's wall clock
};

// Enqueues jobs: a JobEngine, or a transaction of the caller's own (postgres.h, sqlite.h).
class HOLDFAST_API Enqueuer {
 public:
  virtual ~Enqueuer() = default;

  // Atomic: either the job, its slot and its tick exist afterwards, or none of them.
  virtual Result<EnqueueReply> enqueue(const NewJob& job, Instant until) = 0;
};

// One connection, used by one thread at a time.  All decisions use the store's clocks.  If a call fails, the
// error says whether it may have been applied (in_doubt) or was not (any other error).
class HOLDFAST_API JobEngine : public Enqueuer {
 public:
  // Claims the next job that is due and acquires its lock, in one step.  A job whose claim has run out comes
  // before all others; then the order is: smallest priority, earliest run_at, smallest id.
  //
  // Its cost does not depend on how many jobs are queued, wait for their time or their lock, or have ended.
  //
  // If an earlier attempt of the same job, whose worker died, still has the lock, the new attempt takes it
  // over: work under the lock of a job ends with its claim.  If an answer was lost and the same owner sends
  // the request again, it may claim another job; the claim of the first then runs out.
  virtual Result<Claimed> claim(const ClaimRequest& request, Instant until) = 0;

  // Makes the claims last for `ttl` from now on; never shortens one. held[i] says whether the owner still has
  // claims[i].
  //
  // REQUIRES: held.size() == claims.size().
  virtual Status renew(std::span<const ClaimRef> claims, std::span<bool> held, Millis ttl, Instant until) = 0;

  // Finishes the job only if the owner still has the claim, even if the claim has run out.  A second call
  // does no harm.  If the lock becomes free, the first of the jobs that wait for it is due.
  virtual Result<Finished> finish(const Finish& finish, Instant until) = 0;

  // For people.  The newest job comes first.
  virtual Result<std::vector<JobRow>> list(const JobQuery& query, Instant until) = 0;

  // Returns the job after the change.  Errc::invalid says why not: there is no such job, it is in another
  // state, or another job has its slot.
  virtual Result<JobRow> change(JobId id, JobChange what, std::string_view by, Instant until) = 0;

  // At most one of all callers takes a tick.  A tick that is not later than the last one is not taken.
  virtual Result<TickRow> take_tick(const Tick& tick, Instant until) = 0;
  virtual Result<TickRow> tick(std::string_view name, Instant until) = 0;
  virtual Status note_success(std::string_view name, std::string_view by, Instant until) = 0;

  // Returns how many jobs it deleted.  Dead jobs stay.
  virtual Result<std::uint64_t> purge(const JobPurge& what, Instant until) = 0;
};

}  // namespace holdfast
