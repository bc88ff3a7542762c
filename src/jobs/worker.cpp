// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <new>
#include <system_error>

#include "base/text.h"
#include "jobs/running.h"
#include "jobs/worker_state.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using jobs::one_claim;
using jobs::Running;

constexpr Millis after_trouble = 1s, after_refusals = 1min;
constexpr Millis patience_with_jobs = 24h * 365;  // the thread of a job cannot be ended from outside

Status check(const WorkerOptions& o) {
  const auto invalid = [](const char* text) { return Error{Errc::invalid, text}; };
  if (o.queues.empty()) return invalid("a worker needs at least one queue; give one");
  if (o.threads < 1 || o.threads > 1000)
    return invalid("a worker's threads are out of range; give 1 to 1000");
  if (o.claim < 100ms || o.claim > 24h) return invalid("a worker's claim is out of range; give 100ms to 1d");
  if (o.poll < 1ms) return invalid("a worker's poll is below 1ms; give 1ms or more");
  if (o.grace < 0ms) return invalid("a worker's grace is negative; give 0 or more");
  if (o.max_crashes < 1) return invalid("max_crashes is below 1; give 1 or more");
  if (o.purge_every <= 0ms) return invalid("purge_every is not above 0; give a time, or `never`");
  return Status{};
}

}  // namespace

const char* to_string(JobEvent::What what) noexcept {
  switch (what) {
    case JobEvent::What::started: return "started";
    case JobEvent::What::done: return "done";
    case JobEvent::What::failed: return "failed";
    case JobEvent::What::died: return "died";
    case JobEvent::What::dropped: return "dropped";
    case JobEvent::What::lost: return "lost";
    case JobEvent::What::expired: return "expired";
    case JobEvent::What::handed_back: return "handed_back";
    case JobEvent::What::unknown: return "unknown";
    case JobEvent::What::cancelled: return "cancelled";
  }
  return "?";
}

void JobWorker::State::report(const JobEvent& event) {
  telemetry().notify(&Observer::on_job, event);
  try {
    if (options.on_event) options.on_event(event);
  } catch (...) {
    guarded([&] {
      const std::string why = jobs::current_exception_text();
      telemetry().log(LogLevel::warning, "WorkerOptions::on_event threw: " + why + "; it must not throw",
                      {{"error", why}});
    });
  }
}

void JobWorker::State::log_claims_work() {
  {
    const std::lock_guard lock(mutex);
    if (std::exchange(trouble, {}).empty()) return;
  }
  telemetry().log(LogLevel::info, "claiming jobs works again");
}

// Logged once, and not for each attempt.
void JobWorker::State::log_claims_fail(const std::string& why, bool may_pass) {
  {
    const std::lock_guard lock(mutex);
    if (std::exchange(trouble, why) == why) return;
  }
  telemetry().log(LogLevel::warning, "cannot claim jobs: " + why + (may_pass ? "; trying again" : ""),
                  {{"error", why}});
}

Result<Claimed> JobWorker::State::claim(const std::string& owner) {
  const Instant until = clamped_add(BootClock::now(), one_claim);
  const ClaimRequest request{.queues = options.queues,
                             .owner = {owner},
                             .ttl = options.claim,
                             .max_crashes = options.max_crashes,
                             .longest_place = ClientAccess::longest_place(shared.client)};
  return shared.ask(until, [&](JobEngine& engine) { return engine.claim(request, until); });
}

// A claim without a reply may have been granted.  Hands that job back, so that it need not wait until the
// claim expires.
void JobWorker::State::hand_back_unanswered(const std::string& owner) {
  const Instant until = clamped_add(BootClock::now(), one_claim);
  const auto rows = shared.ask(
      until, [&](JobEngine& e) { return e.list({.state = JobState::running, .limit = 1000}, until); });
  if (!rows) return;
  for (const JobRow& row : *rows) {
    if (row.owner != owner) continue;
    const Finish back{.id = row.id,
                      .owner = {owner},
                      .to = JobState::queued,
                      .counts = false,
                      .error = "the store's reply to the worker's claim was lost",
                      .lock = {row.lock},
                      .token = row.token};
    (void)shared.ask(until, [&](JobEngine& e) { return e.finish(back, until); });
  }
}

// If a user's function forks and the child returns from it, the child's only thread comes back here and ends,
// and so does the child.
void JobWorker::State::work(Wakeup& wakeup) {
  while (!forked()) {
    {
      const std::lock_guard lock(mutex);
      if (draining) return;
    }
    Millis pause = after_trouble;
    try {
      pause = claim_and_run();
    } catch (...) {  // out of memory or descriptors: try again later
      if (forked()) return;
      guarded([&] { log_claims_fail(jobs::current_exception_text(), true); });
    }
    if (pause > 0ms) rest(wakeup, pause);
  }
}

Millis JobWorker::State::claim_and_run() {
  const std::string owner = ClientAccess::new_owner(jobs.client());
  ClaimAttempt attempt(*this);
  const Instant sent = BootClock::now();
  auto claimed = claim(owner);
  if (!claimed) return cannot_claim(attempt, claimed.error(), owner);
  log_claims_work();
  if (claimed->what == Claimed::What::nothing) {
    attempt.found_nothing();
    return std::clamp(claimed->next, 1ms, options.poll);
  }
  attempt.got_job();
  run(*std::move(claimed), sent);
  return 0ms;
}

// A refusal may be temporary too: a replica becomes the primary, or somebody grants the right.
Millis JobWorker::State::cannot_claim(ClaimAttempt& attempt, const Error& why, const std::string& owner) {
  log_claims_fail(why.detail, why.retryable());
  if (!why.retryable()) {
    const int doublings = std::min(attempt.was_refused(why) - 1, 6);
    return std::min(after_trouble * (1 << doublings), after_refusals);
  }
  if (why.in_doubt()) hand_back_unanswered(owner);
  return after_trouble;
}

void JobWorker::State::rest(Wakeup& wakeup, Millis length) {
  Instant until = clamped_add(BootClock::now(), length);
  bool watching = false;
  {
    const std::lock_guard lock(mutex);
    if (draining) return;
    watching = poller == nullptr;
    if (watching) {
      poller = &wakeup;
    } else {
      asleep.push_back(&wakeup);
      until = Instant::max();
    }
  }
  if (watching) guarded([&] { purge_if_due(); });
  wakeup.wait(until);
  const std::lock_guard lock(mutex);
  if (watching) poller = nullptr;
  std::erase(asleep, &wakeup);
}

// REQUIRES: the mutex is held.
void JobWorker::State::wake_next() {
  if (poller != nullptr || asleep.empty()) return;
  asleep.back()->ring();
  asleep.pop_back();
}

void JobWorker::State::purge_if_due() {
  {
    const std::lock_guard lock(mutex);
    const Instant now = BootClock::now();
    if (now < next_purge) return;
    next_purge = clamped_add(now, options.purge_every);
  }
  (void)jobs.try_purge(options.purge);
}

void JobWorker::State::run(Claimed claimed, Instant sent) {
  const bool runs = claimed.what == Claimed::What::running || claimed.what == Claimed::What::raised;
  const bool starts = claimed.what == Claimed::What::running;
  Running job(shared, std::move(claimed), options.claim, sent);
  bool too_late = false;
  if (runs) {
    const std::lock_guard lock(mutex);
    running.push_back(job.state());
    too_late = draining;
  }
  // A job that stayed in `running` would be renewed forever.
  const auto gone = [&] {
    const std::lock_guard lock(mutex);
    std::erase(running, job.state());
  };
  try {
    if (starts && !too_late) report({JobEvent::What::started, job.state()->job, ""});
    if (forked()) return;
    const JobEvent event = runs && too_late ? job.hand_back() : job.run(fraction());
    if (forked()) return;
    gone();
    report(event);
  } catch (...) {  // out of memory or descriptors: its end was not reported, so it may be run again
    if (forked()) return;
    gone();
    guarded([&] { report(job.hand_back()); });
    throw;
  }
}

void JobWorker::State::drain(Millis grace) {
  if (forked()) return;
  {
    const std::lock_guard lock(mutex);
    const Instant enough = clamped_add(BootClock::now(), grace);
    if (draining && enough >= stop_at) return;
    draining = true;
    stop_at = enough;
    stopper_wakeup.ring();
    for (Wakeup* sleeper : asleep) sleeper->ring();
    if (poller != nullptr) poller->ring();
    changed.notify_all();
    // A thread of its own, because requesting the stop runs functions of the jobs.
    if (stopper.started()) return;
    if (guarded([&] { stopper = Worker([self = shared_from_this()] { self->stop_late_jobs(); }); })) return;
  }
  stop_running_jobs();  // there is no thread to wait for the end of their grace
}

void JobWorker::State::stop_late_jobs() {
  while (true) {
    Instant at;
    {
      const std::lock_guard lock(mutex);
      if (over) return;
      at = stop_at;
    }
    if (BootClock::now() >= at) return stop_running_jobs();
    stopper_wakeup.wait(at);
  }
}

void JobWorker::State::stop_running_jobs() {
  std::vector<std::shared_ptr<JobContext::State>> late;
  {
    const std::lock_guard lock(mutex);
    late = running;
  }
  for (const auto& state : late) {
    state->draining = true;
    state->stop();
  }
}

JobWorker::JobWorker(Jobs jobs, WorkerOptions options) {
  check(options).value();
  ClientAccess::check_not_forked(jobs.client()).value();
  state_ = std::make_shared<State>(std::move(jobs), std::move(options));
  try {
    ClientAccess::get_ready(state_->shared.client);
    for (int i = 0; i < state_->options.threads; ++i)
      state_->threads.emplace_back(
          [state = state_, wakeup = std::make_shared<Wakeup>()] { state->work(*wakeup); });
  } catch (const std::system_error& e) {
    drain();
    wait();
    throw_failure({Errc::unavailable, std::string("cannot start a worker: ") + e.what()});
  } catch (...) {  // out of memory
    drain();
    wait();
    throw;
  }
}

JobWorker::~JobWorker() {
  if (state_->forked()) {
    new (std::nothrow) std::shared_ptr<State>(std::move(state_));
    return;
  }
  drain();
  wait();
}

void JobWorker::drain() { state_->drain(state_->options.grace); }
void JobWorker::stop() { state_->drain(Millis::zero()); }

void JobWorker::wait() {
  if (state_->forked()) return;
  for (Worker& thread : state_->threads) thread.finish(patience_with_jobs);
  state_->threads.clear();
  Worker stopper;
  {
    const std::lock_guard lock(state_->mutex);
    state_->over = true;
    state_->stopper_wakeup.ring();
    stopper = std::move(state_->stopper);
  }
  stopper.finish(patience_with_jobs);
}

bool JobWorker::idle() const {
  if (state_->forked()) return false;
  const std::lock_guard lock(state_->mutex);
  return state_->empty_attempt != 0 && state_->busy == 0;
}

Status JobWorker::try_wait_until_idle(std::stop_token stop) {
  if (state_->forked()) return Status{};
  std::unique_lock lock(state_->mutex);
  // Attempts until now may be out of date.
  const std::uint64_t attempts = state_->attempts, refused = state_->refused;
  if (state_->poller != nullptr) state_->poller->ring();
  bool is_refused = false;
  state_->changed.wait(lock, std::move(stop), [&] {
    is_refused = state_->refusal && state_->refused > refused && state_->busy == 0;
    return state_->draining || is_refused || (state_->empty_attempt > attempts && state_->busy == 0);
  });
  if (is_refused && !state_->draining) return *state_->refusal;
  return Status{};
}

}  // namespace holdfast
