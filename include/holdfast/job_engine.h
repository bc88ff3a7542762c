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
#include "holdfast/result.h"
#include "holdfast/store.h"

namespace holdfast {

// Rises with every job of a store.  Zero is no job.
enum class JobId : std::uint64_t {};
inline constexpr JobId no_job{0};
constexpr std::uint64_t number(JobId id) noexcept { return static_cast<std::uint64_t>(id); }

enum class JobState : std::uint8_t {
  queued,     // it waits for its time, for a worker, or for its lock
  running,    // a worker has claimed it
  done,       // over
  dead,       // it failed too often, or took too many workers with it: an operator's to retry or remove
  dropped,    // its lock was held by somebody else when its turn came
  cancelled,  // by whoever asked for it
};
inline constexpr std::size_t job_states = 6;
HOLDFAST_API const char* to_string(JobState) noexcept;

// How long a job keeps its slot: meanwhile no other of its key is enqueued.
enum class Unique : std::uint8_t {
  no,             // it has none
  loner,          // from enqueue to done, dead, dropped or cancelled, through all retries: a loner
  until_start,    // from enqueue to the claim: one runs and one more may be queued, and no event is lost
  until_success,  // as loner, but one that is dead keeps it until an operator acts
};
HOLDFAST_API const char* to_string(Unique) noexcept;

// What happens to a job whose key is taken.
enum class OnConflict : std::uint8_t {
  drop,     // its lock is held when its turn comes: dropped, and who held it is written down
  wait,     // …: it stays queued until the lock is free; no thread waits with it
  raise,    // …: that is a failure, to be retried as often as the job may be
  replace,  // its slot is taken by one that is queued: that one gets the arguments and the time of the new
            // one. Its lock is held: it waits
};
HOLDFAST_API const char* to_string(OnConflict) noexcept;

struct NewJob {
  std::string_view name{};
  std::string_view queue = "default";
  std::string_view args = "[]";  // a JSON array; not looked into
  int priority = 0;              // the smallest first
  Micros at{};                   // not before: wall clock, since 1970; zero: now
  Millis in{};                   // not before so long from now, on the store's clock; counts if `at` is zero
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

// All that is known of a job.
struct JobRow {
  JobId id{};
  std::string name = {}, queue = {}, args = {}, key = {};
  int priority = 0;
  JobState state{};
  Micros enqueued_at{};  // wall clock, since 1970, as are all moments here
  Micros run_at{};       // not before
  Micros due_at{};       // queued: as run_at, or later if it waits for its lock
  Micros started_at{};   // of the last attempt; zero: none
  Micros finished_at{};  // done, dead, dropped, cancelled
  int attempt = 0;       // so many have been started and not handed back
  int crashes = 0;       // of those, whose worker was not heard of again
  int max_attempts = 1;
  Millis lock_ttl{};
  bool lock_fixed = false;
  int limit = 1;
  OnConflict on_conflict{};
  Unique unique{};
  bool slotted = false;      // it has its slot
  bool parked = false;       // queued: it has found its lock held, and waits for it
  std::string holder = {};   // running: who has claimed it; the same name holds its lock.  Else: who did last
  std::string lock = {};     // the key of the lease it runs under; empty: none
  Token token{};             // of that lease
  Millis claim_remaining{};  // running: zero if the claim has run out
  std::string error = {};    // of the last failure; dropped: who held the lock
  std::uint64_t duplicates{};  // enqueues that found its slot or its tick taken
  // What happened to it, besides being enqueued, started and finished: a line each, "MICROS EVENT DETAIL".
  // failed, crashed, handed-back, parked, retried, cancelled, replaced
  std::string trail = {};
};

struct EnqueueReply {
  enum class What : std::uint8_t {
    enqueued,
    replaced,   // the job that has the slot is now this one
    duplicate,  // of a job that has the slot, or of the one that had this tick
    locked,     // loner, until_success: nobody has the slot, but somebody holds the lock
  };
  What what{};
  JobId id{};               // enqueued, replaced, duplicate: whose
  JobState state{};         // duplicate: of that one (of one that was pruned since: done)
  Micros since{};           // duplicate: enqueued at
  std::string holder = {};  // locked: who
  Micros now{};             // the store's wall clock
};

struct ClaimRequest {
  std::span<const std::string> queues;   // any of them
  Holder holder;                         // new for each claim: of the claim, and of the lease
  Millis ttl{std::chrono::seconds(30)};  // of the claim
  int max_crashes = 3;                   // a job that took so many workers with it is dead
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
  Micros now{};              // the store's wall clock
};

struct ClaimRef {
  JobId id;
  Holder holder;
};

struct Finish {
  JobId id{};
  Holder holder{};     // of the claim
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
  Micros now{};
};

struct JobQuery {
  JobId id{};               // that one
  std::string_view key{};   // those of this key
  std::string_view name{};  // those of this name
  std::string_view queue{};
  std::optional<JobState> state = {};
  JobId before{};  // older than this one, for the next page
  std::size_t limit = 100;
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
  Micros at{};          // when; zero: never
  Micros success{};     // when note_success was last called; zero: never
  Micros now{};         // the store's wall clock
};

// What a purge of jobs takes away.
struct JobPurge {
  Millis older_than = std::chrono::hours(24 * 7);  // done, dropped, cancelled since so long
  std::size_t limit = 1000;                        // at most so many
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
