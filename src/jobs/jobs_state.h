// SPDX-License-Identifier: Apache-2.0
// jobs_state.h - what the copies of a Jobs, its workers and its schedules share.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/worker.h"
#include "client/client_access.h"
#include "holdfast/jobs.h"
#include "jobs/context.h"
#include "jobs/engine_pool.h"

namespace holdfast {

namespace jobs {

struct Definition {
  JobOptions options = {};
  JobFunction function = {};
};

struct KeptSchedule {
  std::function<void()> stop = {};  // and return
  Worker thread = {};
};

// For what people ask by hand, and for one step of a job.
Instant soon();

// Of a lock without a timeout: it is renewed.
inline constexpr Millis unfixed_ttl = std::chrono::seconds(30);

// Errc::invalid names what makes no sense.  `what`: "job".
Status check_name(std::string_view name, const char* what);
Status check(std::string_view name, const JobOptions& options, const JobLock& lock, Millis lock_ttl);

// What `options` and the store's habits come to.  Without a lock its limit is zero.
JobLock lock_of(const JobOptions& options, const Client& queue);
int attempts_of(const JobOptions& options, const Client& queue);
bool needs_key(const JobLock& lock);

}  // namespace jobs

struct JobsState : std::enable_shared_from_this<JobsState> {
  explicit JobsState(Client c)
      : client(std::move(c)), pool(ClientAccess::store(client), ClientAccess::telemetry(client)) {}

  // What the copies of a Jobs share, and the threads of its schedules do not: with the last of them the
  // schedules end, on the thread that lets go.
  static std::shared_ptr<JobsState> for_copies(Client client);

  // One call of an engine.  In a child after fork() it fails, and nothing is sent.
  template <class Call>
  auto ask(Instant until, Call call) -> decltype(call(std::declval<JobEngine&>())) {
    if (Status s = ClientAccess::check_ready(client); !s) return std::move(s).error();
    return pool.with(until, std::move(call));
  }

  // None: nobody here knows what to do.
  std::shared_ptr<const jobs::Definition> definition(std::string_view name) const;

  // -- the jobs that run here, by their key

  using Context = std::shared_ptr<JobContext::State>;
  void began(const Context& context);
  void ended(const Context& context);
  // True: the lock of one of them at least lasts from now on.
  bool refresh(const std::string& key);

  const Client client;
  jobs::EnginePool pool;

  mutable std::mutex mutex;  // guards what follows
  std::map<std::string, std::shared_ptr<const jobs::Definition>, std::less<>> definitions;
  std::shared_ptr<const jobs::Definition> others;
  std::multimap<std::string, Context> running;
  std::vector<jobs::KeptSchedule> schedules;

 private:
  void end_schedules() noexcept;
};

}  // namespace holdfast
