// SPDX-License-Identifier: Apache-2.0
// jobs.h - work that is done once: enqueued, claimed by a worker, retried, never two at a time.
//
//   holdfast::Jobs jobs{holdfast::open("postgres://app@db/app")};
//   auto told = jobs.perform_later<UpdateNetworkGraph>(42);     // Enqueued, Duplicate or Locked
//   holdfast::JobWorker worker(jobs.define<UpdateNetworkGraph>(), {.threads = 8});
//
// **At least once; one live holder per key while its lease is valid; fenced.  Not exactly once**: a worker
// that dies, or is not heard of for as long as its claim lasts, leaves a job that will be run again.
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
  bool replaced = false;  // one that was queued already is now this one
};
// Somebody who is no job holds the lock of a loner.
struct Locked {
  std::string owner;
};
using EnqueueResult = std::variant<Enqueued, Duplicate, Locked>;

// Names the schedule of a job: see Jobs::cron.
struct CronOptions {
  enum class Misfire : std::uint8_t {
    run_once,  // of the ticks that nobody was there for, the last
    skip,      // none
    all,       // each
  };
  enum class Overlap : std::uint8_t {
    skip,   // not enqueued while the last one is queued or runs
    wait,   // queued, and started when the last one has ended
    allow,  // any number at once
  };
  Misfire misfire = Misfire::run_once;
  Millis deadline = std::chrono::hours(6);  // a tick that is older is not made up for
  Overlap overlap = Overlap::skip;
  std::string job = {};  // empty: the job that is named as the schedule
  Args args = {};
};

class Enqueuer;  // a transaction of the caller's own: postgres.h, sqlite.h
struct JobsState;
// For detail::ForkSafe; nobody else calls it.
HOLDFAST_API void leak_if_forked(std::shared_ptr<JobsState>& state) noexcept;

// Cheap to copy; all copies share one state.  Any thread may call anything.
//
// In a child after fork() every call fails with Errc::forked and nothing is sent: open a new one there.
class HOLDFAST_API Jobs {
 public:
  // Jobs are kept in the client's store, and their locks are leases of its table.
  explicit Jobs(Client client);

  // What a worker can do.  Defining again replaces.
  template <class J>
  Jobs& define() {
    return define(std::string(J::name), detail::options_of<J>(), detail::function_of<J>());
  }
  Jobs& define(std::string name, JobOptions options, JobFunction function);
  // All jobs that are not defined otherwise.
  Jobs& define_others(JobFunction function);

  // -- when, and in whose transaction: jobs.in(10min).perform_later<J>(42)

  template <class Duration>
  Jobs at(std::chrono::sys_time<Duration> when) const {
    return at(std::chrono::floor<Micros>(when));
  }
  Jobs at(Moment when) const;
  Jobs in(Millis delay) const;
  // The job is there if and when the caller's transaction is committed: postgres::enqueuer(),
  // sqlite::enqueuer(). REQUIRES: it outlives what is returned.
  Jobs in(Enqueuer& transaction) const;

  template <class J, class... A>
  EnqueueResult perform_later(A&&... args) const {
    return try_perform_later<J>(std::forward<A>(args)...).value();
  }
  template <class J, class... A>
  Result<EnqueueResult> try_perform_later(A&&... args) const {
    return try_enqueue(J::name, detail::args_of<J>(std::forward<A>(args)...), detail::options_of<J>());
  }
  // By name: with the options it was defined with, or those given.
  EnqueueResult enqueue(std::string_view name, const Args& args = {}) const {
    return try_enqueue(name, args).value();
  }
  EnqueueResult enqueue(std::string_view name, const Args& args, const JobOptions& options) const {
    return try_enqueue(name, args, options).value();
  }
  Result<EnqueueResult> try_enqueue(std::string_view name, const Args& args = {}) const;
  Result<EnqueueResult> try_enqueue(std::string_view name, const Args& args, const JobOptions& options) const;

  // Here and now, under the same lock.  Says whether it ran, and who had the lock if it did not.  What it
  // throws passes on.  A lock that is held is waited for, however long, unless its on_conflict is drop or
  // raise, which throws.  Errc::invalid if the caller is a job that holds it itself.
  template <class J, class... A>
  Ran<std::monostate> perform_now(A&&... args) const {
    return perform_now(J::name, detail::args_of<J>(std::forward<A>(args)...), detail::options_of<J>(),
                       detail::function_of<J>());
  }
  Ran<std::monostate> perform_now(std::string_view name, const Args& args, const JobOptions& options,
                                  const JobFunction& function) const;

  // -- looking

  // The key of the lock that such a job runs under: job_key(), in the form of the store where that lock is.
  // Of a job without a lock whose arguments make no key: "lock:NAME".
  Result<std::string> try_key(std::string_view name, const Args& args, const JobOptions& options) const;
  // Who has the lock.
  template <class J, class... A>
  std::optional<LeaseRow> locked(A&&... args) const {
    return locked(key_of<J>(std::forward<A>(args)...), detail::options_of<J>());
  }
  std::optional<LeaseRow> locked(const std::string& key, const JobOptions& options = {}) const {
    return try_locked(key, options).value();
  }
  Result<std::optional<LeaseRow>> try_locked(const std::string& key, const JobOptions& options = {}) const;
  // One that is queued.
  template <class J, class... A>
  std::optional<JobRow> enqueued(A&&... args) const {
    return enqueued(key_of<J>(std::forward<A>(args)...));
  }
  std::optional<JobRow> enqueued(const std::string& key) const { return try_enqueued(key).value(); }
  Result<std::optional<JobRow>> try_enqueued(const std::string& key) const;
  // A loner would not be enqueued now: it is locked, or it is a loner and is queued.
  template <class J, class... A>
  bool loner_locked(A&&... args) const {
    const std::string key = key_of<J>(std::forward<A>(args)...);
    const JobOptions options = detail::options_of<J>();
    return locked(key, options) ||
           (options.lock && (options.lock->loner || options.lock->unique != Unique::no) && enqueued(key));
  }
  std::vector<JobRow> list(const JobQuery& query = {}) const { return try_list(query).value(); }
  Result<std::vector<JobRow>> try_list(const JobQuery& query = {}) const;

  // -- acting

  // If a job of this key runs here: its lock lasts its timeout from now on.
  template <class J, class... A>
  bool refresh_lock(A&&... args) const {
    return refresh_lock(key_of<J>(std::forward<A>(args)...));
  }
  bool refresh_lock(const std::string& key) const;

  // Takes the lock away from whoever has it, and says who that was; empty: nobody.  Of several (limit) the
  // first: again, until nobody has one.  Written down, and told to whoever loses it.  **This breaks what a
  // lock promises**: see Admin::break_lease.
  template <class J, class... A>
  std::string unlock(const Break& why, A&&... args) const {
    return unlock(key_of<J>(std::forward<A>(args)...), why, detail::options_of<J>());
  }
  std::string unlock(const std::string& key, const Break& why, const JobOptions& options = {}) const {
    return try_unlock(key, why, options).value();
  }
  Result<std::string> try_unlock(const std::string& key, const Break& why,
                                 const JobOptions& options = {}) const;

  // What is queued, runs (its worker is told at its next renewal) or is dead: it is over, and its slot is
  // free.
  JobRow cancel(JobId id) const { return try_cancel(id).value(); }
  Result<JobRow> try_cancel(JobId id) const;
  // What is over, however it ended: queued again, now, with all its attempts.
  JobRow retry(JobId id) const { return try_retry(id).value(); }
  Result<JobRow> try_retry(JobId id) const;
  // What does not run: gone.
  JobRow remove(JobId id) const { return try_remove(id).value(); }
  Result<JobRow> try_remove(JobId id) const;
  // What has been over for long: how many there were.
  std::uint64_t purge(const JobPurge& what = {}) const { return try_purge(what).value(); }
  Result<std::uint64_t> try_purge(const JobPurge& what = {}) const;

  // -- by the clock

  // Enqueues the job of that name (or options.job) at each tick of `schedule`: five fields as in a crontab,
  // in the time zone `zone` ("Europe/Berlin", "UTC").  Every process that calls this does so, and one of all
  // of them wins each tick, by the store's clock.  It goes on as long as a copy of this object lives; the
  // last of them waits up to 10 s for what the schedule is doing just then.  What is invalid throws.
  void cron(std::string name, std::string_view schedule, std::string_view zone, CronOptions options = {});

  const Client& client() const;

 private:
  friend class JobWorker;
  friend struct JobSchedules;
  friend struct Ticks;
  template <class J, class... A>
  std::string key_of(A&&... args) const {
    return try_key(J::name, detail::args_of<J>(std::forward<A>(args)...), detail::options_of<J>()).value();
  }

  struct When {
    std::optional<Moment> at{};  // none: as `in` says
    Millis in{};
    Enqueuer* transaction = nullptr;
  };
  Jobs(std::shared_ptr<JobsState> state, When when) : state_(std::move(state)), when_(when) {}

  detail::ForkSafe<JobsState> state_;
  When when_;
};

}  // namespace holdfast
