// SPDX-License-Identifier: Apache-2.0
// jobs_state.h - the state that the copies of a Jobs, its workers and its schedules share.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sync.h"
#include "base/worker.h"
#include "client/client_access.h"
#include "holdfast/jobs.h"
#include "jobs/claims.h"
#include "jobs/context.h"
#include "jobs/engine_pool.h"

namespace holdfast {

namespace jobs {

struct Definition {
  JobOptions options = {};
  JobFunction function = {};
};

struct KeptSchedule {
  std::function<void()> stop = {};  // ends the thread
  Worker thread = {};
};

// The time limit of one call by hand, or of one step of a job.
Instant soon();

// The ttl of a lock without a timeout, which is renewed.
inline constexpr Millis unfixed_ttl = std::chrono::seconds(30);

// Errc::invalid names the wrong option.  `what`: "job".
Status check_name(std::string_view name, const char* what);
Status check(std::string_view name, const JobOptions& options, const JobLock& lock, Millis lock_ttl);
// The same for the name of a tick.
Status check_tick(std::string_view name);

// From `options`, and else by the defaults of the store.  The limit of a job without a lock is zero.
JobLock lock_of(const JobOptions& options, const Client& queue);
int attempts_of(const JobOptions& options, const Client& queue);
bool needs_key(const JobLock& lock);

}  // namespace jobs

struct JobsState : std::enable_shared_from_this<JobsState> {
  explicit JobsState(Client c)
      : client(std::move(c)),
        pool(
            std::make_shared<jobs::EnginePool>(ClientAccess::store(client), ClientAccess::telemetry(client))),
        claims(std::make_shared<jobs::Claims>(pool)) {}

  // The copies of a Jobs share the returned pointer; the threads of its schedules do not.  When the last copy
  // is destroyed, its thread ends the schedules.
  static std::shared_ptr<JobsState> for_copies(Client client);

  // Calls an engine.  In a forked child it fails, and no request is sent.
  template <class Call>
  auto ask(Instant until, Call call) -> decltype(call(std::declval<JobEngine&>())) {
    if (Status s = ClientAccess::check_ready(client); !s) return std::move(s).error();
    auto result = pool->with(until, std::move(call));
    ClientAccess::telemetry(client)->report_calls();
    return result;
  }

  // None: the job is not defined in this process.
  std::shared_ptr<const jobs::Definition> definition(std::string_view name) const;

  // -- the jobs that run in this process, by their key

  using Context = std::shared_ptr<JobContext::State>;
  void began(const Context& context);
  void ended(const Context& context);
  // Refreshes the locks of the jobs with that key.  True: at least one was refreshed.
  bool refresh(const std::string& key);

  const Client client;
  const std::shared_ptr<jobs::EnginePool> pool;
  const std::shared_ptr<jobs::Claims> claims;

  mutable Mutex mutex;  // guards what follows
  std::map<std::string, std::shared_ptr<const jobs::Definition>, std::less<>> definitions;
  std::shared_ptr<const jobs::Definition> others;
  std::multimap<std::string, Context> running;
  std::vector<jobs::KeptSchedule> schedules;

 private:
  void end_schedules() noexcept;
};

}  // namespace holdfast
