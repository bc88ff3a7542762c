// SPDX-License-Identifier: Apache-2.0
// job_engine.h - the interface of a database that keeps jobs.  Authors of stores need it; programs that use
// jobs need jobs.h.
//
// A job's run lock is an ordinary lease of the store (store.h): `holdfast run lock:X:1 -- …` and a job
// exclude each other.  The record of a job contains three things, which change in one step with its state:
//
//   slot    at most one job of a key has it.  enqueue takes it; the end of the job gives it back
//   claim   the worker that has the job, and until when.  A job whose claim expired can be claimed again
//   lock    the lease that the job runs under.  The claim acquires it in the same step (rule of store.h)
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
  std::string_view args = "[]";  // a JSON array; the store does not parse it
  int priority = 0;              // the smallest first
  std::optional<Moment> at{};    // the earliest start; none: `in` counts
  Millis in{};                   // the earliest start, from now on the store's clock; ignored if `at` is set
  int max_attempts = 1;          // after so many failed attempts it is dead

  // The key of its lock; its slot is "loner:" + key.
  std::string_view key{};
  Millis lock_ttl{std::chrono::seconds(30)};
  bool lock_fixed = false;  // the lease is not renewed: it ends after lock_ttl even if the job still runs
  int limit = 1;  // so many may run at once, each under its own lease: key#1 … key#N.  Zero: no lock
  OnConflict on_conflict = OnConflict::drop;
  Unique unique = Unique::no;

  // Once per window, or per tick: a duplicate if this tick of `tick_name`, or a later one, was taken already.
  std::string_view tick_name{};
  std::int64_t tick = 0;  // of `tick_name`; ignored if there is a window
  Millis window{};        // the tick is the moment the window began, in microseconds
};

struct EnqueueReply {
  enum class What : std::uint8_t {
    enqueued,
    replaced,   // the job that has the slot is now this one
    duplicate,  // of the job that has the slot, or that took this tick
    locked,     // loner, until_success: the slot is free, but the lock is held
  };
  What what{};
  JobId id{};                     // enqueued, replaced; duplicate: of the other job
  JobState state{};               // duplicate: of the other job (done, if that was purged since)
  std::optional<Moment> since{};  // duplicate: when the other job was enqueued; none: unknown
  std::string owner = {};         // locked: who holds the lock
  Moment now{};                   // the store's wall clock
  std::optional<Error> error{};   // of a batch: only this job failed; then the other fields mean nothing
};

struct ClaimRequest {
  std::span<const std::string> queues;   // claims from any of them
  OwnerView owner;                       // of the claim and of the lease; a new name for each claim
  Millis ttl{std::chrono::seconds(30)};  // of the claim
  int max_crashes = 3;                   // after so many workers died while they ran it, the job is dead
  Millis longest_place{};                // for the acquire of its lock, as in Request
};

struct Claimed {
  enum class What : std::uint8_t {
    nothing,   // no job is due; see `next`
    running,   // the job is claimed, with its lock
    dropped,   // `blocker` holds its lock: the job is over
    raised,    // `blocker` holds its lock; the job is claimed without it, to be finished as failed
    poisoned,  // the job is dead: max_crashes workers died while they ran it
  };
  What what = What::nothing;
  JobRow job = {};
  bool recovered = false;   // running: its last worker did not finish it
  Millis lock_remaining{};  // running under a lease: the remaining time of that; Millis(never): it has no end
  std::string blocker = {};      // dropped, raised
  Millis next = {};              // nothing: the time until a job may be due, at most a minute
  Moment now{};                  // the store's wall clock
  std::optional<Error> error{};  // of a batch: only this claim failed; then the other fields mean nothing
};

struct ClaimRef {
  JobId id;
  OwnerView owner;
  Millis ttl{};  // renew: the claim lasts so long from now; it is never shortened
  bool wait_if_locked =
      false;  // renew: waits, for a part of the time, if another transaction has locked its job
};
struct ClaimReply {
  bool held = false;             // the claim still belongs to its owner, and was renewed
  std::optional<Error> error{};  // only this claim failed, for example because another transaction has locked
                                 // its job; then `held` means nothing
};

struct Finish {
  JobId id{};
  OwnerView owner{};   // of the claim
  JobState to{};       // done, queued, dead, dropped, cancelled
  Millis in{};         // queued: the earliest start, from now
  bool counts = true;  // queued: false if the job is handed back, so that the attempt does not count
  std::string_view error{};
  Key lock{};  // the lease to release: as claimed; empty: none
  Token token{};
};

// The two are independent: a job may be finished although its lease had expired, and a lease may be released
// although the claim had been lost.
struct Finished {
  bool finished = false;
  bool released = false;
  Moment now{};
  std::optional<Error> error{};  // of a batch: only this one failed; then the other fields mean nothing
};

enum class JobChange : std::uint8_t {
  cancel,  // queued, running (its worker notices at its next renewal), dead.  Its slot becomes free
  retry,   // dead, dropped, cancelled, done: queued again, now, with all its attempts.  Takes its slot.
           // If it was just cancelled, its last worker may still run it: its lock excludes that
  remove,  // in any state but running
};

// Enqueues jobs: an engine, or a transaction of the caller (some stores' headers have it).
class HOLDFAST_API Enqueuer {
 public:
  virtual ~Enqueuer() = default;

  // Atomic: the job exists with its slot and its tick, or nothing was changed.
  virtual Result<EnqueueReply> enqueue(const NewJob& job, Instant until) = 0;

  // Many jobs, in the order given.  Fills replies[i] for jobs[i].  Each is atomic on its own; a batch is not
  // a transaction.  On failure the replies mean nothing, and the error's code shows whether any of them may
  // have been applied.  By default the jobs are sent one by one, and each has its own error.
  //
  // REQUIRES: replies.size() == jobs.size().
  virtual Status enqueue_all(std::span<const NewJob> jobs, std::span<EnqueueReply> replies, Instant until);
};

// One connection.  Used by one thread at a time.  It decides everything by the store's clocks.  On failure
// the error's code shows whether the call may have been applied (in_doubt) or not (any other code).
class HOLDFAST_API JobEngine : public Enqueuer {
 public:
  // Claims the next due job and acquires its lock, in one step.  A job whose claim has expired comes first;
  // then the order is by priority, run_at and id, the smallest first.
  //
  // The cost does not depend on the number of jobs that are queued, wait for their time or their lock, or are
  // over.
  //
  // A lock that the same job kept from an attempt whose worker died is taken over: a job may use its lock
  // only while its claim lasts.  A claim that is repeated because it got no reply may claim another job; the
  // claim of the first job then expires.
  virtual Result<Claimed> claim(const ClaimRequest& request, Instant until) = 0;

  // Renews claims.  Fills replies[i] for claims[i].  A job that another transaction has locked is waited for
  // only where `wait_if_locked` says so, and after the other claims were renewed.  A claim that could not be
  // renewed because of that gets an error of its own, and can be renewed later.  A caller that never waits
  // may find a job locked at each renewal: enqueues of its key lock it for a moment, one after the other.
  //
  // REQUIRES: replies.size() == claims.size().
  virtual Status renew(std::span<const ClaimRef> claims, std::span<ClaimReply> replies, Instant until) = 0;

  // Finishes the job if its claim still belongs to the owner, even if it has expired.  Calling it twice does
  // no harm. If the lock becomes free, the first job that waits for it becomes due.
  virtual Result<Finished> finish(const Finish& finish, Instant until) = 0;

  // Finishes jobs, then claims others.  Fills finished[i] for done[i], and claimed[i] with a claim of
  // owners[i] (`request.owner` is ignored); after the first `nothing`, all are `nothing`.  Each finish and
  // each claim is atomic on its own.  On failure the results mean nothing, and the error's code shows whether
  // any of them may have been applied.  By default they are sent one by one, and each has its own error.
  //
  // REQUIRES: finished.size() == done.size(), claimed.size() == owners.size().
  virtual Status finish_and_claim(std::span<const Finish> done, std::span<Finished> finished,
                                  const ClaimRequest& request, std::span<const OwnerView> owners,
                                  std::span<Claimed> claimed, Instant until);

  // For people.  The newest job first.
  virtual Result<std::vector<JobRow>> list(const JobQuery& query, Instant until) = 0;

  // Returns the changed job.  Errc::invalid: there is no such job, its state does not allow the change, or
  // another job has its slot.
  virtual Result<JobRow> change(JobId id, JobChange what, std::string_view by, Instant until) = 0;

  // At most one caller takes a tick, and only one that is later than the last.
  virtual Result<TickRow> take_tick(const Tick& tick, Instant until) = 0;
  virtual Result<TickRow> tick(std::string_view name, Instant until) = 0;
  virtual Status note_success(std::string_view name, std::string_view by, Instant until) = 0;

  // Returns the number of deleted jobs.  Dead jobs stay.
  virtual Result<std::uint64_t> purge(const JobPurge& what, Instant until) = 0;
};

}  // namespace holdfast
