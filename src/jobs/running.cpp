// SPDX-License-Identifier: Apache-2.0
#include "jobs/running.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/wakeup.h"
#include "core/job_rule.h"
#include "core/timing.h"

namespace holdfast::jobs {
namespace {

using namespace std::chrono_literals;

constexpr Millis shortest_backoff = 10s;
constexpr int slowest_attempt = 24;  // the pause does not grow after this attempt
constexpr Millis not_here = 10s;     // before another attempt, perhaps by another worker
constexpr Millis between_tries = 100ms;
constexpr std::size_t longest_error = 4000;

std::string cut(std::string text) {
  if (text.size() <= longest_error) return text;
  text.resize(longest_error);
  while (!is_utf8(text)) text.pop_back();
  return text;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x80; });
}

// Bytes that are not ASCII become \xNN, which a database of any encoding accepts.
std::string in_ascii(std::string_view text) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x80 ? std::string(1, c) : std::string("\\x") + hex[byte >> 4] + hex[byte & 15];
  }
  return cut(std::move(out));
}

bool was_not_accepted(const Error& error) {
  return error.code == Errc::refused || error.code == Errc::invalid;
}

}  // namespace

Millis timeout_of(const JobOptions& options, const Args& args) {
  const Millis declared = options.lock ? options.lock->timeout : Millis::zero();
  return std::max(options.lock_timeout ? options.lock_timeout(args) : declared, Millis::zero());
}

Millis backoff_of(const JobOptions& options, int attempt, double jitter) {
  if (options.backoff) return std::max(options.backoff(attempt), Millis::zero());
  const std::chrono::seconds::rep n = std::min(attempt, slowest_attempt);
  const Millis full = std::max<Millis>(shortest_backoff, std::chrono::seconds(n * n * n * n));
  return Millis(std::lround(static_cast<double>(full.count()) * (0.9 + 0.2 * jitter)));
}

std::string current_exception_text() {
  try {
    throw;
  } catch (const std::exception& error) {
    return cut(is_utf8(error.what()) ? error.what() : printable(error.what()));
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

Running::Running(JobsState& jobs, Claimed claimed, Millis claim_ttl, Instant sent)
    : jobs_(jobs), claimed_(std::move(claimed)), definition_(jobs.definition(claimed_.job.name)) {
  const JobRow& job = claimed_.job;
  auto args = Args::parse(job.args);
  if (!args) args_error_ = "its arguments cannot be read: " + args.error().detail;
  state_ = std::make_shared<JobContext::State>(job, args ? *std::move(args) : Args());
  state_->timeout = job.lock_fixed ? job.lock_ttl : Millis::zero();
  state_->blocker = claimed_.blocker;
  if (claimed_.what != Claimed::What::running && claimed_.what != Claimed::What::raised) return;
  state_->claimed = true;
  state_->claim = ClientAccess::adopt(jobs.client, {.key = Claims::key(job.id),
                                                    .owner = job.owner,
                                                    .ttl = claim_ttl,
                                                    .sent = sent,
                                                    .remaining = claim_ttl,
                                                    .claim = jobs.claims});
  if (!job.lock.empty())
    state_->lock = ClientAccess::adopt(jobs.client, {.key = job.lock,
                                                     .owner = job.owner,
                                                     .token = job.token,
                                                     .ttl = job.lock_ttl,
                                                     .sent = sent,
                                                     .remaining = claimed_.lock_remaining,
                                                     .keep = !job.lock_fixed});
}

JobEvent Running::run(double jitter) {
  jitter_ = jitter;
  JobContext context(*state_);
  switch (claimed_.what) {
    case Claimed::What::running: return perform();
    case Claimed::What::raised: return refused();
    case Claimed::What::dropped: {
      JobEvent event{JobEvent::What::dropped, claimed_.job, claimed_.blocker};
      if (definition_ && definition_->options.lock_failed)
        call_back(event, [&] { definition_->options.lock_failed(context, state_->args); });
      return event;
    }
    case Claimed::What::poisoned:
    case Claimed::What::nothing: break;
  }
  return {JobEvent::What::died, claimed_.job, claimed_.job.error};
}

JobEvent Running::hand_back() { return failed("the worker was shutting down", true); }

JobEvent Running::perform() {
  if (!definition_ || !definition_->function) return unknown();
  if (!args_error_.empty()) return failed(args_error_, false);
  if (const auto trouble = take_lock_elsewhere())
    return trouble->busy() ? refused() : put_off(trouble->detail);
  state_->listen();
  jobs_.began(state_);
  std::string error;
  bool threw = false, stopped = false;
  try {
    JobContext context(*state_);
    const RunsHere here(state_->lock.key());
    definition_->function(context, state_->args);
  } catch (const Failure& failure) {
    threw = true;
    stopped = failure.error().code == Errc::stopped;
    error = current_exception_text();
  } catch (...) {
    threw = true;
    error = current_exception_text();
  }
  if (forked()) return {};
  jobs_.ended(state_);
  if (threw && stopped && !state_->draining) return put_off(error);
  if (threw) return failed(error, state_->draining);
  return conclude({.to = JobState::done}, JobEvent::What::done, "");
}

// Puts the job back: it could not be started here.
JobEvent Running::put_off(const std::string& why) {
  return conclude({.to = JobState::queued, .in = not_here, .counts = false, .error = why},
                  JobEvent::What::handed_back, why);
}

// This worker does not know the job, so another worker must decide about it.
JobEvent Running::unknown() {
  return put_off("this worker has no function for the job " + printable(claimed_.job.name) +
                 "; define it there");
}

// Takes the lock of a job whose lock is in another store.
std::optional<Error> Running::take_lock_elsewhere() {
  const JobOptions& options = definition_->options;
  if (!options.lock_store) return std::nullopt;
  std::optional<Error> refused;
  const int limit = lock_of(options, jobs_.client).limit;
  for (int n = 1; n <= limit; ++n) {
    auto lease = ClientAccess::acquire(*options.lock_store, core::lock_name(claimed_.job.key, limit, n),
                                       {.ttl = claimed_.job.lock_ttl, .keep = !claimed_.job.lock_fixed});
    if (lease) {
      state_->lock = *std::move(lease);
      return std::nullopt;
    }
    if (!lease.error().busy()) return std::move(lease).error();
    if (!refused) refused = std::move(lease).error();
  }
  if (refused) state_->blocker = refused->owner;
  return refused;
}

// Another owner holds its lock.
JobEvent Running::refused() {
  if (!definition_) return unknown();
  const JobOptions& options = definition_->options;
  std::string error = printable(claimed_.job.key) + " is held by " + printable(state_->blocker);
  // A job that was started before is never dropped for its lock: a dead worker of this very job may have left
  // the lock.
  const bool waits = options.lock_store && claimed_.job.attempt > 1;
  if (waits) return put_off(error);
  const OnConflict what = conflict();
  const bool goes_on = what == OnConflict::wait || what == OnConflict::replace;
  try {
    JobContext context(*state_);
    if (options.lock_failed && !goes_on) options.lock_failed(context, state_->args);
  } catch (...) {
    return failed(current_exception_text(), false);
  }
  switch (what) {
    case OnConflict::drop:
      return conclude({.to = JobState::dropped, .error = state_->blocker}, JobEvent::What::dropped,
                      state_->blocker);
    case OnConflict::wait:
    case OnConflict::replace:
      return conclude({.to = JobState::queued, .in = 1s, .counts = false, .error = error},
                      JobEvent::What::handed_back, error);
    case OnConflict::raise: break;
  }
  return failed(error, false);
}

// As in its row.  But a job that drops and has a lock_failed() was enqueued with `raise`.
OnConflict Running::conflict() const {
  const JobOptions& options = definition_->options;
  const bool drops = options.lock_failed && lock_of(options, jobs_.client).on_conflict == OnConflict::drop;
  return drops && claimed_.job.on_conflict == OnConflict::raise ? OnConflict::drop : claimed_.job.on_conflict;
}

JobEvent Running::failed(const std::string& why, bool stopped) {
  if (stopped)
    return conclude({.to = JobState::queued, .counts = false, .error = why}, JobEvent::What::handed_back,
                    why);
  const JobRow& job = claimed_.job;
  const int failures = job.attempt - job.crashes;
  if (failures >= job.max_attempts)
    return conclude({.to = JobState::dead, .error = why}, JobEvent::What::died, why);
  const Millis in = backoff_of(definition_ ? definition_->options : JobOptions{}, failures, jitter_);
  return conclude({.to = JobState::queued, .in = in, .error = why}, JobEvent::What::failed, why);
}

JobEvent Running::conclude(Finish how, JobEvent::What what, std::string detail) {
  if (forked()) return {};
  const bool elsewhere = state_->locked() && claimed_.job.lock.empty();
  how.id = claimed_.job.id;
  how.owner = {state_->job.owner};
  how.lock = {claimed_.job.lock};
  how.token = claimed_.job.token;
  bool lock_ended = false;
  if (elsewhere) {
    const auto released = state_->lock.try_release();
    lock_ended = !released || *released != Released::released;
  } else if (state_->locked()) {
    ClientAccess::disown(state_->lock);  // the request that finishes the job also releases it
  }
  JobEvent event{what, claimed_.job, std::move(detail)};
  // The request also ends the claim, so from here on nobody renews that.
  const Instant claimed_until = state_->claim.held() ? state_->claim.deadline() : Instant::min();
  (void)ClientAccess::disown(state_->claim);
  const auto finished = finish_in_store(how, claimed_until);
  if (!finished) {
    event.what = JobEvent::What::unknown;
    event.detail = finished.error().detail;
    // We do not hold the lock any more.  Releasing it lets waiters have it before it expires.
    if (!how.lock.text.empty()) (void)Client(jobs_.client).try_release(how.lock.text, how.owner);
  } else if (!finished->finished) {
    event = not_ours();
  }
  if (finished && !elsewhere) lock_ended = !how.lock.text.empty() && !finished->released;
  if (lock_ended && definition_ && definition_->options.lock_expired_before_release) {
    JobContext context(*state_);
    call_back(event, [&] { definition_->options.lock_expired_before_release(context, state_->args); });
  }
  if (lock_ended && event.what == JobEvent::What::done) event.what = JobEvent::What::expired;
  return event;
}

JobEvent Running::not_ours() {
  JobEvent event{JobEvent::What::lost, claimed_.job, "its claim expired while it ran"};
  const Instant until = soon();
  const auto rows = jobs_.ask(until, [&](JobEngine& e) { return e.list({.id = claimed_.job.id}, until); });
  if (rows && !rows->empty() && rows->front().state == JobState::cancelled) {
    event.what = JobEvent::What::cancelled;
    event.detail.clear();
  }
  return event;
}

Result<Finished> Running::finish_in_store(Finish how, Instant claimed_until) {
  std::optional<Wakeup> pause;  // made only when needed: there may be no descriptor left
  bool in_doubt = false;
  std::string ascii;
  while (true) {
    const Instant now = BootClock::now();
    const Instant until = clamped_add(now, core::longest_attempt);
    auto finished = jobs_.ask(until, [&](JobEngine& engine) { return engine.finish(how, until); });
    if (finished) {
      // An earlier request without a reply has finished it.
      if (!finished->finished && in_doubt && is_finished_as(how)) return Finished{true, true, finished->now};
      return finished;
    }
    in_doubt = in_doubt || finished.error().in_doubt();
    // The encoding of the database may lack letters of the error text, and the job must end all the same.
    if (was_not_accepted(finished.error()) && !is_ascii(how.error)) {
      ascii = in_ascii(how.error);
      how.error = ascii;
      continue;
    }
    if (!finished.error().retryable() || BootClock::now() >= claimed_until) return finished;
    if (!pause) pause.emplace();
    pause->wait(clamped_add(now, between_tries));
  }
}

bool Running::is_finished_as(const Finish& how) {
  const Instant until = soon();
  const auto rows = jobs_.ask(until, [&](JobEngine& engine) { return engine.list({.id = how.id}, until); });
  return rows && !rows->empty() && rows->front().state == how.to && rows->front().owner == how.owner.text;
}

template <class Call>
void Running::call_back(JobEvent& event, Call call) {
  try {
    call();
  } catch (...) {
    event.detail += (event.detail.empty() ? "" : "; ") + ("a callback threw: " + current_exception_text());
  }
}

}  // namespace holdfast::jobs
