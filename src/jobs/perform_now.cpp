// SPDX-License-Identifier: Apache-2.0
// Jobs::perform_now: runs a job without a row in the store and without a worker, but with the same lock.
#include <exception>

#include "base/text.h"
#include "base/time.h"
#include "core/job_rule.h"
#include "jobs/jobs_state.h"
#include "jobs/running.h"

namespace holdfast {

using namespace std::chrono_literals;

Ran<std::monostate> Jobs::perform_now(std::string_view name, const Args& args, const JobOptions& options,
                                      const JobFunction& function) const {
  ClientAccess::check_not_forked(state_->client).value();
  const Millis timeout = jobs::timeout_of(options, args);
  const Millis ttl = timeout > 0ms ? timeout : jobs::unfixed_ttl;
  const JobLock lock = jobs::lock_of(options, state_->client);
  jobs::check(name, options, lock, ttl).value();
  const std::string key = try_key(name, args, options).value();
  const bool waits = lock.on_conflict == OnConflict::wait || lock.on_conflict == OnConflict::replace;
  if (waits && lock.limit == 1 && jobs::RunsHere::has(key))
    throw_failure({Errc::invalid, "cannot perform " + printable(name) + " here: it would wait for " +
                                      printable(key) + ", which the job that calls it holds; declare " +
                                      "on_conflict = drop or raise, or another key"});
  const Client client = options.lock_store ? *options.lock_store : state_->client;
  const auto running = std::make_shared<JobContext::State>(
      JobRow{
          .name = std::string(name), .queue = options.queue, .key = key, .run_at = wall_now(), .attempt = 1},
      args);
  JobContext::State& state = *running;
  state.timeout = timeout;
  JobContext context(state);
  const int limit = lock.limit;
  std::optional<Error> refused;
  for (int n = 1; n <= limit && !state.locked(); ++n) {
    auto lease = ClientAccess::acquire(
        client, core::lock_name(key, limit, n),
        {.ttl = ttl, .wait = waits && n == limit ? Millis(forever) : 0ms, .keep = timeout == 0ms});
    if (lease)
      state.lock = *std::move(lease);
    else if (!lease.error().busy())
      throw_failure(std::move(lease).error());
    else if (!refused)
      refused = std::move(lease).error();
  }
  if (limit > 0 && !state.locked()) {
    state.blocker = refused->owner;
    if (options.lock_failed) options.lock_failed(context, args);
    if (lock.on_conflict == OnConflict::raise) throw_failure(*std::move(refused));
    return {.owner = refused->owner};
  }
  state.listen();
  state_->began(running);
  std::exception_ptr thrown;
  const jobs::RunsHere here(state.lock.key());
  try {
    function(context, args);
  } catch (...) {
    thrown = std::current_exception();
  }
  if (Status s = ClientAccess::check_not_forked(state_->client);
      !s) {  // the function has forked, and this is the child
    if (thrown) std::rethrow_exception(thrown);
    throw_failure(std::move(s).error());
  }
  state_->ended(running);
  Lost lost;
  if (state.locked()) {
    const auto released = state.lock.try_release();
    lost = state.lock.lost();
    const bool ended = lost.reason != Loss::none || (released && *released != Released::released);
    try {
      if (ended && options.lock_expired_before_release) options.lock_expired_before_release(context, args);
    } catch (...) {
      if (!thrown) throw;  // else the exception of the job is reported
    }
  }
  if (thrown) std::rethrow_exception(thrown);
  if (lost.reason != Loss::none && timeout == 0ms)
    throw_failure({.code = Errc::lost,
                   .detail = "the lock was lost before the job ended: " + lost.detail,
                   .loss = lost.reason});
  return {.ran = true, .value = std::monostate{}};
}

}  // namespace holdfast
