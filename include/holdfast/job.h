// SPDX-License-Identifier: Apache-2.0
// job.h - how a job is declared: its name, its lock, and its function.
//
//   struct UpdateNetworkGraph {
//     static constexpr std::string_view name = "UpdateNetworkGraph";
//     static constexpr holdfast::JobLock lock{.timeout = 1h, .loner = true};
//     void perform(holdfast::JobContext& context, std::int64_t repository) { … }
//   };
//
// Optional members are found by their names; each gets the arguments of perform():
//
//   queue, priority, max_attempts     constants
//   lock                              a JobLock: how jobs of this name exclude each other
//   identifier(args…)                 distinguishes jobs of this name; nullopt: all are the same
//   lock_key(args…)                   the whole key of the lock, instead of lock:NAME:IDENTIFIER
//   lock_timeout(args…)               instead of lock.timeout
//   lock_store()                      a Client: the lock is a lease in its store, not in that of the jobs
//   backoff(attempt)                  how long to wait after that attempt failed
//   lock_failed(context, args…)       another owner holds the lock; if it throws, the job has failed
//   loner_enqueue_failed(duplicate, args…)       may throw: the enqueueing call throws that
//   lock_expired_before_release(context, args…)  the lock had ended before the job did
//
// A job that declares a lock, or one of the members called lock_..., has a lock.  Without any it has none,
// and every copy of it runs.
//
// The end of the job is in the store before a callback runs.  Only lock_failed() runs before that, because it
// may decide that the job has failed.  An exception never leaves the key locked.  A job that was started
// before (it crashed, or is retried) waits for its lock: lock_failed() is not called for it.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "holdfast/client.h"
#include "holdfast/export.h"
#include "holdfast/job_args.h"
#include "holdfast/job_rows.h"

namespace holdfast {

// How jobs of one key exclude each other.
struct JobLock {
  // The lock is a lease of this length that is not renewed: after it another job may run, even if this one
  // still does.  Zero: the lock is renewed while the worker lives, and held until the job ends.
  Millis timeout{0};

  // Not enqueued while a job of the same key is queued or running.  The same as unique = loner, so another
  // `unique` beside it is refused.
  bool loner = false;
  Unique unique = Unique::no;

  // At most one job of a key is enqueued per window of this length.
  Millis window{0};

  // So many jobs of a key may run at once.  Zero: any number.
  int limit = 1;

  // What happens to a job whose lock is held when its turn comes.
  OnConflict on_conflict = OnConflict::wait;

  // Allows lock_store() for a loner.  The slot and the lock are then in two stores, and a holder of the lock
  // that is not a job does not prevent the enqueueing.
  bool allow_split_store = false;

  // The behaviour of Ruby's active_job_lock: a job whose lock is held when its turn comes is dropped.
  static constexpr JobLock active_job_lock(JobLock lock) {
    lock.on_conflict = OnConflict::drop;
    return lock;
  }
  static constexpr JobLock active_job_lock() { return active_job_lock(JobLock{}); }
};

// The job was not enqueued: another job of the same key has the slot, or was enqueued in this window.
struct Duplicate {
  JobId id{};
  JobState state{};
  std::optional<Moment> since{};  // when it was enqueued; none: unknown
};

// A running job.  Any thread may call any function but refresh_lock().
class HOLDFAST_API JobContext {
 public:
  struct State;
  explicit JobContext(State& state) noexcept : state_(state) {}
  JobContext(const JobContext&) = delete;
  JobContext& operator=(const JobContext&) = delete;

  JobId id() const noexcept;  // no_job: perform_now()
  std::string_view name() const noexcept;
  std::string_view queue() const noexcept;
  const Args& args() const noexcept;
  int attempt() const noexcept;    // from 1
  Moment run_at() const noexcept;  // the time it was planned for; the tick of a cron job

  // Stop is requested when the claim or the lock is lost, when the job is cancelled, and at the end of the
  // grace of a worker that drains.
  std::stop_token stop_token() const;
  bool stop_requested() const { return stop_token().stop_requested(); }
  // The job still has its claim and its lock.
  bool held() const noexcept;
  // The job may run until then even if no renewal succeeds: for work that cannot check in between, like a
  // program that it has started.  Moves forward with each renewal of the claim and the lock.  A lock with a
  // timeout is not included, and may end before.  If it has passed, the job is lost, or the worker is
  // shutting down.
  Instant deadline() const noexcept;
  // Throws LeaseLost if not held, and Failure (Errc::stopped) if the worker is shutting down.  If the job
  // lets that exception pass, it is handed back and will be run again.
  void check() const;

  // Pass it to the resource that the lock protects; none without a lock.
  Token token() const noexcept;
  std::string_view lock_key() const noexcept;  // empty: none
  std::string_view owner() const noexcept;     // of its claim and its lock
  // In lock_failed(): who holds the lock.
  std::string_view blocker() const noexcept;

  // Restarts the timeout of the lock.  False if the job has lost its claim or its lock, or has no lock.
  bool refresh_lock();

 private:
  State& state_;
};

// The declaration of a job without a type.  The members of a type (above) become these fields.
struct JobOptions {
  std::string queue = "default";
  // Default: none, unless one of the functions below that are called lock_... is set.  In a store with
  // layout=active_job_lock: JobLock::active_job_lock().
  std::optional<JobLock> lock = {};
  int priority = 0;  // the smallest first
  // A job that fails so often is dead.  Default: 25; 5 for a job that a schedule enqueues; 1 in a store with
  // layout=active_job_lock.
  std::optional<int> max_attempts = {};
  // How long to wait after attempt N failed.  Default: N⁴ seconds, from 10 s to 4 days, ± 10 %; so 25
  // attempts take about three weeks.
  Interval backoff = {};
  std::function<std::optional<std::string>(const Args&)> identifier = {};
  std::function<std::string(const Args&)> lock_key = {};
  std::function<Millis(const Args&)> lock_timeout = {};
  std::optional<Client> lock_store = {};
  std::function<void(JobContext&, const Args&)> lock_failed = {};
  std::function<void(const Duplicate&, const Args&)> loner_enqueue_failed = {};
  std::function<void(JobContext&, const Args&)> lock_expired_before_release = {};
};

using JobFunction = std::function<void(JobContext&, const Args&)>;

// "lock:NAME:1-a-null-true": the arguments with - between them, or the identifier; "lock:NAME" if that is
// nullopt.  Errc::invalid if there is no identifier and an argument is a list or an object.
//
// Texts that could be confused with another value are written as in JSON, with quotes: those that are empty,
// begin with a digit, contain - : " or \, or are "null", "true" or "false".  So different arguments make
// different keys. JobKeyForm::joined is "lock:NAME:1-a--true": never with quotes, and null is empty.
HOLDFAST_API Result<std::string> job_key(std::string_view name, const JobOptions& options, const Args& args,
                                         JobKeyForm form = JobKeyForm::exact);

}  // namespace holdfast
