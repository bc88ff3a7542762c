// SPDX-License-Identifier: Apache-2.0
// job.h - how a job is declared: its name, its lock, and what it does.
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
//   identifier(args…)                 what tells two jobs of this name apart; nullopt: nothing does
//   lock_key(args…)                   the whole key of the lock, instead of lock:NAME:IDENTIFIER
//   lock_timeout(args…)               instead of lock.timeout
//   lock_store()                      a Client: the lock is a lease of that store, not of the queue's
//   backoff(attempt)                  how long to wait after that attempt failed
//   lock_failed(context, args…)       somebody else has the lock; may throw: then the job has failed
//   loner_enqueue_failed(duplicate, args…)       may throw: to whoever enqueues
//   lock_expired_before_release(context, args…)  the job has ended, its lock had before
//
// A job that declares a lock, or one of the members called lock_..., has a lock.  Without any it has none,
// and every copy of it runs.
//
// The store knows what became of the job before a callback runs; only lock_failed() is asked before, because
// it may decide that the job has failed.  Whatever is thrown, nothing stays locked.  A job that was started
// once (it crashed, or is tried again) waits for its lock: lock_failed() is not called for it.
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
  // The lock is a lease of this length that nobody renews: after it another may run, even if this one still
  // does.  Zero: held until the job ends, as a lease that is renewed while its worker lives.
  Millis timeout{0};

  // Not enqueued while one of the same key is queued or running.  The same as unique = loner.
  bool loner = false;
  Unique unique = Unique::no;

  // At most one is enqueued in each such stretch of time.
  Millis window{0};

  // So many may run at once.  Zero: any number.
  int limit = 1;

  // What happens to a job whose lock is held when its turn comes.
  OnConflict on_conflict = OnConflict::wait;

  // lock_store() with a loner: the slot and the lock are then in two stores, and a holder that is no job does
  // not keep the job from being enqueued.
  bool allow_split_store = false;

  // As in Ruby's active_job_lock: a job whose lock is held when its turn comes is dropped.
  static constexpr JobLock active_job_lock(JobLock lock) {
    lock.on_conflict = OnConflict::drop;
    return lock;
  }
  static constexpr JobLock active_job_lock() { return active_job_lock(JobLock{}); }
};

// A job of the same key has the slot, or had this window.
struct Duplicate {
  JobId id{};
  JobState state{};
  std::optional<Moment> since{};  // when it was enqueued; none: unknown
};

// What a running job sees of itself.  Any thread may call anything but refresh_lock().
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
  Moment run_at() const noexcept;  // when it was to run: of a cron job its tick

  // Stop is requested when the claim or the lock is lost, when the job is cancelled, and when the worker
  // drains and has no more patience.
  std::stop_token stop_token() const;
  bool stop_requested() const { return stop_token().stop_requested(); }
  // The claim and the lock are ours: nobody else may do this now.
  bool held() const noexcept;
  // It may go on until then if nothing more is heard: for what cannot ask in between, like a program that it
  // has started.  Moves forward with the claim, and with a lock that is renewed; a lock that is not may end
  // before.  Passed: it is lost, or the worker wants to end.
  Instant deadline() const noexcept;
  // Throws LeaseLost if not held, and Failure (Errc::stopped) if the worker wants to end: thrown on, the job
  // is handed back and will be run again.
  void check() const;

  // Pass it to whatever the lock protects; none without a lock.
  Token token() const noexcept;
  std::string_view lock_key() const noexcept;  // empty: none
  std::string_view owner() const noexcept;     // our name at the store
  // lock_failed: who has the lock.
  std::string_view blocker() const noexcept;

  // The lock lasts its timeout from now on, if it is still ours.
  bool refresh_lock();

 private:
  State& state_;
};

// A job declared without a type: for scripts, and what the typed form comes down to.
struct JobOptions {
  std::string queue = "default";
  // Default: none, unless one of the functions below that are called lock_... is set.  In a store with
  // layout=active_job_lock: JobLock::active_job_lock().
  std::optional<JobLock> lock = {};
  int priority = 0;  // the smallest first
  // A job that throws is tried this often; then it is dead.  Default: 25, of a job that a schedule enqueues
  // 5, in a store with layout=active_job_lock 1.
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
// Texts are written as in JSON, with quotes, if they could be taken for something else: those that are empty,
// begin with a digit, have a - : " or \ in them, or are "null", "true" or "false".  So the key tells the
// arguments.  JobKeyForm::joined is "lock:NAME:1-a--true", never with quotes, and null is nothing.
HOLDFAST_API Result<std::string> job_key(std::string_view name, const JobOptions& options, const Args& args,
                                         JobKeyForm form = JobKeyForm::exact);

}  // namespace holdfast
