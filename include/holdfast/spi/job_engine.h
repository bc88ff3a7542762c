// SPDX-License-Identifier: Apache-2.0
// job_engine.h - what a database must be able to do to keep jobs.  For those who write a store; whoever only
// has work to be done needs jobs.h.
//
// A job's run lock is an ordinary lease of the store (store.h): `holdfast run lock:X:1 -- …` and a job
// exclude each other.  Three things lie in one record, the job's, and change in one step with its state:
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
  std::string_view args = "[]";  // a JSON array; not looked into
  int priority = 0;              // the smallest first
  std::optional<Moment> at{};    // not before; none: as `in` says
  Millis in{};                   // not before so long from now, on the store's clock; counts without `at`
  int max_attempts = 1;          // of which one may fail

  // What it is about: the key of its lock; its slot is "loner:" + key.
  std::string_view key{};
  Millis lock_ttl{std::chrono::seconds(30)};
  bool lock_fixed = false;  // the lease is not renewed: it ends after lock_ttl even if the job goes on
  int limit = 1;            // so many at once, each on a lease of its own: key#1 … key#N.  Zero: no lock
  OnConflict on_conflict = OnConflict::drop;
  Unique unique = Unique::no;

  // Once per window, or per tick: a duplicate if `tick_name` has had this one (or a later one) already.
  std::string_view tick_name{};
  std::int64_t tick = 0;  // of `tick_name`; not looked at if there is a window
  Millis window{};        // the tick is the moment the window began, in microseconds
};

struct EnqueueReply {
  enum class What : std::uint8_t {
    enqueued,
    replaced,   // the job that has the slot is now this one
    duplicate,  // of a job that has the slot, or of the one that had this tick
    locked,     // loner, until_success: nobody has the slot, but somebody holds the lock
  };
  What what{};
  JobId id{};                     // enqueued, replaced, duplicate: whose
  JobState state{};               // duplicate: of that one (of one that was pruned since: done)
  std::optional<Moment> since{};  // duplicate: when that one was enqueued; none: unknown
  std::string owner = {};         // locked: who
  Moment now{};                   // the store's wall clock
};

struct ClaimRequest {
  std::span<const std::string> queues;   // any of them
  OwnerView owner;                       // new for each claim: of the claim, and of the lease
  Millis ttl{std::chrono::seconds(30)};  // of the claim
  int max_crashes = 3;                   // a job that took so many workers with it is dead
  Millis longest_place{};                // for the acquire of its lock, as in Request
};

struct Claimed {
  enum class What : std::uint8_t {
    nothing,   // nothing is due; `next` says for how long
    running,   // it is the holder's, with its lock
    dropped,   // its lock was held by `blocker`: it is over
    raised,    // its lock was held by `blocker`, and it is the holder's without it: to be finished as failed
    poisoned,  // it is dead: so many workers have died with it
  };
  What what = What::nothing;
  JobRow job = {};
  bool recovered = false;    // running: its last worker did not finish it
  Millis lock_remaining{};   // running under a lease: what the store says of it.  `never` if it has no end
  std::string blocker = {};  // dropped, raised
  Millis next = {};          // nothing: until something may be due, at most a minute
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
  Millis in{};         // queued: not before so long from now
  bool counts = true;  // queued: false if it is handed back: the attempt is taken off
  std::string_view error{};
  Key lock{};  // the lease to release: as claimed; empty: none
  Token token{};
};

// Each on its own: a job may be finished whose lease ran out (and may be somebody else's by now), and one
// that is no longer ours may still have its lease released.
struct Finished {
  bool finished = false;
  bool released = false;
  Moment now{};
};

enum class JobChange : std::uint8_t {
  cancel,  // queued, running (its worker is told at its next renewal), dead.  Its slot is free
  retry,   // dead, dropped, cancelled, done: queued again, now, with all its attempts.  Takes its slot.
           // Its last worker may still be at it if it was cancelled just now: its lock keeps them apart
  remove,  // all but running
};

// A name's last tick and last success, for what runs by the clock.
struct Tick {
  std::string_view name;
  std::int64_t tick = 0;  // not looked at if there is a period
  Millis period{};        // the tick is the moment the period began, in microseconds
  std::string_view by{};  // who takes it, for people
};
struct TickRow {
  bool taken = false;   // take_tick: it is the caller's
  std::int64_t tick{};  // take_tick: the one that was asked for; tick: the last that was taken; -1: none
  std::string by = {};  // who took the last one
  std::optional<Moment> at{};       // when; none: never
  std::optional<Moment> success{};  // when note_success was last called; none: never
  Moment now{};                     // the store's wall clock
};

// What can enqueue: an engine, or a transaction of the caller's own (postgres.h, sqlite.h).
class HOLDFAST_API Enqueuer {
 public:
  virtual ~Enqueuer() = default;

  // In one step: the job is there with its slot and its tick, or nothing is.
  virtual Result<EnqueueReply> enqueue(const NewJob& job, Instant until) = 0;
};

// One connection.  Used by one thread at a time.  All that it decides it decides on the store's clocks; on
// failure the error says whether it can have been applied (in_doubt) or cannot (anything else).
class HOLDFAST_API JobEngine : public Enqueuer {
 public:
  // The next job that is due: the smallest priority first, of those the earliest run_at, of those the
  // smallest id; one whose claim has run out comes before all others.  In one step: claimed, and its lock
  // acquired.
  //
  // What it costs does not depend on how many jobs are queued, wait for their time or their lock, or are
  // over.
  //
  // A lock that the same job has from an attempt whose worker died is taken over: what a job does under its
  // lock ends with its claim.  Sent again by the same holder whose answer got lost it may claim another one:
  // the first one's claim then runs out.
  virtual Result<Claimed> claim(const ClaimRequest& request, Instant until) = 0;

  // From now on so long.  held[i] says whether claims[i] still is the holder's; nobody's claim is shortened.
  //
  // REQUIRES: held.size() == claims.size().
  virtual Status renew(std::span<const ClaimRef> claims, std::span<bool> held, Millis ttl, Instant until) = 0;

  // Only if the claim is the holder's still, even if it has run out; twice does no harm.  Where the lock
  // becomes free, the first of the jobs that wait for it is due.
  virtual Result<Finished> finish(const Finish& finish, Instant until) = 0;

  // For people.  The newest first.
  virtual Result<std::vector<JobRow>> list(const JobQuery& query, Instant until) = 0;

  // The job as it is then.  Errc::invalid names what does not fit: there is none, its state is another, or
  // somebody has its slot.
  virtual Result<JobRow> change(JobId id, JobChange what, std::string_view by, Instant until) = 0;

  // At most one of all callers takes a tick, and none that is not later than the last.
  virtual Result<TickRow> take_tick(const Tick& tick, Instant until) = 0;
  virtual Result<TickRow> tick(std::string_view name, Instant until) = 0;
  virtual Status note_success(std::string_view name, std::string_view by, Instant until) = 0;

  // How many it took away.  Dead ones stay.
  virtual Result<std::uint64_t> purge(const JobPurge& what, Instant until) = 0;
};

}  // namespace holdfast
