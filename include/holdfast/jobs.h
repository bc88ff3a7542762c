// SPDX-License-Identifier: Apache-2.0
// jobs.h - work that is done once: enqueued, claimed by a worker, retried, never two at a time.
//
//   holdfast::Jobs jobs{holdfast::open(url)};
//   auto result = jobs.perform_later<UpdateNetworkGraph>(42);   // Enqueued, Duplicate or Locked
//   holdfast::JobWorker worker(jobs.define<UpdateNetworkGraph>(), {.threads = 8});
//
// **At least once; one live holder per key while its lease is valid; fenced.  Not exactly once**: if a worker
// dies, or cannot renew its claim in time, its job will be run again.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "holdfast/admin.h"
#include "holdfast/client.h"
#include "holdfast/export.h"
#include "holdfast/job.h"
#include "holdfast/job_type.h"

namespace holdfast {

struct Enqueued {
  JobId id{};
  bool replaced = false;  // a job that was queued already has got these arguments
};
// The lock of a loner is held by an owner that is not a job.
struct Locked {
  std::string owner;
};
using EnqueueResult = std::variant<Enqueued, Duplicate, Locked>;

// The options of a schedule: see Jobs::cron.
struct CronOptions {
  enum class Misfire : std::uint8_t {
    run_once,  // enqueue the last of the missed ticks
    skip,      // enqueue no missed tick
    all,       // enqueue each missed tick
  };
  enum class Overlap : std::uint8_t {
    skip,   // not enqueued while the last job is queued or runs
    wait,   // queued, and started when the last job has ended
    allow,  // any number of jobs may run at once
  };
  Misfire misfire = Misfire::run_once;
  Millis deadline = std::chrono::hours(6);  // a missed tick that is older is not enqueued
  Overlap overlap = Overlap::skip;
  std::string job = {};  // empty: the job with the name of the schedule
  Args args = {};
};

class Enqueuer;  // a transaction of the caller: some stores' headers
struct JobsState;
// Only detail::ForkSafe calls this.
HOLDFAST_API void leak_if_forked(std::shared_ptr<JobsState>& state) noexcept;

// Cheap to copy; all copies share one state.  Any thread may call anything.
//
// In a child after fork() every call fails with Errc::forked and nothing is sent: open a new one there.
class HOLDFAST_API Jobs {
 public:
  // Jobs are kept in the client's store, and their locks are leases of its table.
  explicit Jobs(Client client);

  // Defines a job for the workers of this object.  A second definition replaces the first.
  template <class J>
  Jobs& define() {
    return define(std::string(J::name), detail::options_of<J>(), detail::function_of<J>());
  }
  Jobs& define(std::string name, JobOptions options, JobFunction function);
  // Defines all jobs that have no definition of their own.
  Jobs& define_others(JobFunction function);

  // -- when, and in which transaction: jobs.in(10min).perform_later<J>(42)

  template <class Duration>
  Jobs at(std::chrono::sys_time<Duration> when) const {
    return at(std::chrono::floor<Micros>(when));
  }
  Jobs at(Moment when) const;
  Jobs in(Millis delay) const;
  // The job is enqueued when the caller's transaction is committed.  The headers of stores that can do this
  // have an enqueuer().
  // REQUIRES: `transaction` outlives the returned object.
  Jobs in(Enqueuer& transaction) const;

  template <class J, class... A>
  EnqueueResult perform_later(A&&... args) const {
    return try_perform_later<J>(std::forward<A>(args)...).value();
  }
  template <class J, class... A>
  Result<EnqueueResult> try_perform_later(A&&... args) const {
    return try_enqueue(J::name, detail::args_of<J>(std::forward<A>(args)...), detail::options_of<J>());
  }
  // By name: with the options of its definition, or with `options`.
  EnqueueResult enqueue(std::string_view name, const Args& args = {}) const {
    return try_enqueue(name, args).value();
  }
  EnqueueResult enqueue(std::string_view name, const Args& args, const JobOptions& options) const {
    return try_enqueue(name, args, options).value();
  }
  Result<EnqueueResult> try_enqueue(std::string_view name, const Args& args = {}) const;
  Result<EnqueueResult> try_enqueue(std::string_view name, const Args& args, const JobOptions& options) const;

  // Runs the job in this thread, under the same lock, without a queue.  Returns whether it ran, and who held
  // the lock if it did not.  Exceptions of the job pass.  If the lock is held, it waits without a limit.
  // With on_conflict = drop it does not run; with raise it throws.  Errc::invalid if the caller is a job that
  // holds the lock itself.
  template <class J, class... A>
  Ran<std::monostate> perform_now(A&&... args) const {
    return perform_now(J::name, detail::args_of<J>(std::forward<A>(args)...), detail::options_of<J>(),
                       detail::function_of<J>());
  }
  Ran<std::monostate> perform_now(std::string_view name, const Args& args, const JobOptions& options,
                                  const JobFunction& function) const;

  // -- reading

  // The key of the lock of such a job: job_key(), in the form of the store that has the lock.  "lock:NAME"
  // for a job without a lock whose arguments cannot make a key.
  Result<std::string> try_key(std::string_view name, const Args& args, const JobOptions& options) const;
  // The lease of the lock; none if nobody holds it.
  template <class J, class... A>
  std::optional<LeaseRow> locked(A&&... args) const {
    return locked(key_of<J>(std::forward<A>(args)...), detail::options_of<J>());
  }
  std::optional<LeaseRow> locked(const std::string& key, const JobOptions& options = {}) const {
    return try_locked(key, options).value();
  }
  Result<std::optional<LeaseRow>> try_locked(const std::string& key, const JobOptions& options = {}) const;
  // A queued job of this key; none if there is none.
  template <class J, class... A>
  std::optional<JobRow> enqueued(A&&... args) const {
    return enqueued(key_of<J>(std::forward<A>(args)...));
  }
  std::optional<JobRow> enqueued(const std::string& key) const { return try_enqueued(key).value(); }
  Result<std::optional<JobRow>> try_enqueued(const std::string& key) const;
  // Whether a loner would not be enqueued now: its lock is held, or a job of its key is queued.
  template <class J, class... A>
  bool loner_locked(A&&... args) const {
    const std::string key = key_of<J>(std::forward<A>(args)...);
    const JobOptions options = detail::options_of<J>();
    return locked(key, options) ||
           (options.lock && (options.lock->loner || options.lock->unique != Unique::no) && enqueued(key));
  }
  std::vector<JobRow> list(const JobQuery& query = {}) const { return try_list(query).value(); }
  Result<std::vector<JobRow>> try_list(const JobQuery& query = {}) const;

  // -- changing

  // Restarts the timeout of the lock if a job of this key runs in this process.
  template <class J, class... A>
  bool refresh_lock(A&&... args) const {
    return refresh_lock(key_of<J>(std::forward<A>(args)...));
  }
  bool refresh_lock(const std::string& key) const;

  // Takes the lock away from its holder and returns that owner; empty if nobody held it.  If several jobs may
  // run (limit), it takes the first lock: call it again until it returns an empty text.  `why` is stored in
  // the log and reported to the old holder.  **This breaks what a lock promises**: see Admin::break_lease.
  template <class J, class... A>
  std::string unlock(const Break& why, A&&... args) const {
    return unlock(key_of<J>(std::forward<A>(args)...), why, detail::options_of<J>());
  }
  std::string unlock(const std::string& key, const Break& why, const JobOptions& options = {}) const {
    return try_unlock(key, why, options).value();
  }
  Result<std::string> try_unlock(const std::string& key, const Break& why,
                                 const JobOptions& options = {}) const;

  // Ends a job that is queued, dead or running (its worker notices at its next renewal), and frees its slot.
  JobRow cancel(JobId id) const { return try_cancel(id).value(); }
  Result<JobRow> try_cancel(JobId id) const;
  // Queues a job again that is over, however it ended: to run now, with all its attempts.
  JobRow retry(JobId id) const { return try_retry(id).value(); }
  Result<JobRow> try_retry(JobId id) const;
  // Deletes a job that does not run.
  JobRow remove(JobId id) const { return try_remove(id).value(); }
  Result<JobRow> try_remove(JobId id) const;
  // Deletes jobs that ended long ago, and returns their number.
  std::uint64_t purge(const JobPurge& what = {}) const { return try_purge(what).value(); }
  Result<std::uint64_t> try_purge(const JobPurge& what = {}) const;

  // -- schedules

  // Enqueues the job of that name (or options.job) at each tick of `schedule`: five fields as in a crontab,
  // in the time zone `zone` ("Europe/Berlin", "UTC").  Any number of processes may have the same schedule:
  // each tick is enqueued once, by the store's clock.  The schedule runs while a copy of this object exists;
  // the destructor of the last copy waits up to 10 s for a running request.  Throws Failure if an argument is
  // invalid.
  void cron(std::string name, std::string_view schedule, std::string_view zone, CronOptions options = {});

  // -- ticks, for work that is no job: once an hour, on the host that comes first

  // At most one caller takes a tick, and only one that is later than the last.
  TickRow take_tick(const Tick& tick) const { return try_take_tick(tick).value(); }
  Result<TickRow> try_take_tick(const Tick& tick) const;
  // The last tick of that name.
  TickRow tick(std::string_view name) const { return try_tick(name).value(); }
  Result<TickRow> try_tick(std::string_view name) const;
  // Records that the work of that name succeeded just now.  `by`: who did it, for people.
  void note_success(std::string_view name, std::string_view by) const { try_note_success(name, by).value(); }
  Status try_note_success(std::string_view name, std::string_view by) const;

  const Client& client() const;

 private:
  friend class JobWorker;
  friend struct JobSchedules;
  template <class J, class... A>
  std::string key_of(A&&... args) const {
    return try_key(J::name, detail::args_of<J>(std::forward<A>(args)...), detail::options_of<J>()).value();
  }
  // A tick without a name is ignored.
  Result<EnqueueResult> enqueue_with_tick(std::string_view name, const Args& args, const JobOptions& options,
                                          const Tick& tick) const;

  struct When {
    std::optional<Moment> at{};  // none: `in` counts
    Millis in{};
    Enqueuer* transaction = nullptr;
  };
  Jobs(std::shared_ptr<JobsState> state, When when) : state_(std::move(state)), when_(when) {}

  detail::ForkSafe<JobsState> state_;
  When when_;
};

}  // namespace holdfast
