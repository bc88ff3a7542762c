// SPDX-License-Identifier: Apache-2.0
#include "base/worker.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>

#include "base/random.h"
#include "base/text.h"
#include "base/wakeup.h"
#include "core/pause.h"
#include "holdfast/job_worker.h"
#include "jobs/jobs_state.h"
#include "jobs/running.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using jobs::Running;

constexpr Millis one_claim = 2s;
constexpr Millis after_trouble = 1s;
constexpr Millis patience = 24h * 365;  // a job's thread cannot be ended: only waited for

Status check(const WorkerOptions& o) {
  const auto invalid = [](const char* text) { return Error{Errc::invalid, text}; };
  if (o.queues.empty()) return invalid("a worker needs a queue");
  if (o.threads < 1 || o.threads > 1000) return invalid("a worker has from 1 to 1000 threads");
  if (o.claim < 100ms || o.claim > 24h) return invalid("a claim lasts from 100ms to a day");
  if (o.poll < 1ms) return invalid("a worker polls every 1ms at most");
  if (o.grace < 0ms) return invalid("the grace is negative");
  if (o.max_crashes < 1) return invalid("max_crashes is below 1");
  if (o.purge_every <= 0ms) return invalid("purge_every is not above 0; give a time, or `never`");
  return ok();
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

//   threads    claim, run, finish, again.  Of those that find nothing one stays on the lookout; it calls the
//   next
//              when it has found something, and so on
//   heartbeat  renews the claims of all that run, in one go
struct JobWorker::State {
  State(Jobs j, WorkerOptions o)
      : jobs(std::move(j)), shared(*jobs.state_), options(std::move(o)), jitter(random_bits()) {
    next_purge = options.purge_every == never
                     ? Instant::max()
                     : after(BootClock::now(), core::scaled(options.purge_every, fraction()));
  }

  void work();
  void beat();
  void drain(Millis grace);
  bool idle() const { return found_nothing && at_work == 0; }

  const Jobs jobs;
  JobsState& shared;
  const WorkerOptions options;

  std::mutex mutex;  // guards what follows
  std::condition_variable_any changed;
  bool draining = false, over = false;
  bool found_nothing = false;  // whoever looked last
  int at_work = 0;             // threads that claim or run
  Wakeup* lookout = nullptr;   // of who is on it
  std::vector<Wakeup*> asleep;
  std::vector<std::shared_ptr<JobContext::State>> running;
  Jitter jitter;
  Instant stop_at = Instant::max();
  Instant next_purge = Instant::max();
  std::string trouble;

  Wakeup heart;
  std::vector<Worker> threads;
  Worker heartbeat;

 private:
  double fraction() {
    const std::lock_guard lock(mutex);
    return jitter.fraction();
  }
  Result<Claimed> claim(const std::string& holder);
  void hand_back_unheard(const std::string& holder);
  void rest(Wakeup& wakeup, Millis length, bool nothing_due);
  void call_next();
  void run(Claimed claimed, Instant sent);
  void tell(const JobEvent& event) {
    if (options.on_event) options.on_event(event);
  }
  void tell_trouble(const std::string& text);
  void purge_if_due();
  bool renew();
};

void JobWorker::State::tell_trouble(const std::string& text) {
  {
    const std::lock_guard lock(mutex);
    if (std::exchange(trouble, text) == text) return;
  }
  const auto& log = Adoption::options(jobs.client()).log;
  if (log) log(text.empty() ? "claiming jobs works again" : "cannot claim jobs just now: " + text);
}

Result<Claimed> JobWorker::State::claim(const std::string& holder) {
  const Instant until = after(BootClock::now(), one_claim);
  const ClaimRequest request{
      .queues = options.queues, .holder = {holder}, .ttl = options.claim, .max_crashes = options.max_crashes};
  return shared.ask(until, [&](JobEngine& engine) { return engine.claim(request, until); });
}

// A claim whose answer got lost may have been granted: it need not wait until it runs out.
void JobWorker::State::hand_back_unheard(const std::string& holder) {
  const Instant until = after(BootClock::now(), one_claim);
  const auto rows = shared.ask(
      until, [&](JobEngine& e) { return e.list({.state = JobState::running, .limit = 1000}, until); });
  if (!rows) return;
  for (const JobRow& row : *rows) {
    if (row.holder != holder) continue;
    const Finish back{.id = row.id,
                      .holder = {holder},
                      .to = JobState::queued,
                      .counts = false,
                      .error = "the worker did not hear that it had been given it",
                      .lock = {row.lock},
                      .token = row.token};
    (void)shared.ask(until, [&](JobEngine& e) { return e.finish(back, until); });
  }
}

void JobWorker::State::work() {
  Wakeup wakeup;
  bool resting = true;
  const auto rest_for = [&](Millis length, bool nothing_due) {
    resting = true;
    rest(wakeup, length, nothing_due);
  };
  while (true) {
    {
      const std::lock_guard lock(mutex);
      if (draining) break;
      if (std::exchange(resting, false)) ++at_work;
    }
    const std::string holder = Adoption::new_holder(jobs.client());
    const Instant sent = BootClock::now();
    auto claimed = claim(holder);
    if (!claimed) {
      tell_trouble(claimed.error().detail);
      if (claimed.error().in_doubt()) hand_back_unheard(holder);
      rest_for(after_trouble, false);
      continue;
    }
    tell_trouble("");
    if (claimed->what == Claimed::What::nothing) {
      rest_for(std::min(options.poll, claimed->next), true);
      continue;
    }
    call_next();
    run(*std::move(claimed), sent);
  }
  const std::lock_guard lock(mutex);
  if (!resting) --at_work;
}

void JobWorker::State::rest(Wakeup& wakeup, Millis length, bool nothing_due) {
  Instant until = after(BootClock::now(), length);
  bool watching = false;
  {
    const std::lock_guard lock(mutex);
    --at_work;
    if (draining) return;
    found_nothing = nothing_due;
    changed.notify_all();
    watching = lookout == nullptr;
    if (watching) {
      lookout = &wakeup;
    } else {
      asleep.push_back(&wakeup);
      until = Instant::max();
    }
  }
  if (watching) purge_if_due();
  wakeup.wait(until);
  const std::lock_guard lock(mutex);
  if (watching) lookout = nullptr;
  std::erase(asleep, &wakeup);
}

void JobWorker::State::call_next() {
  const std::lock_guard lock(mutex);
  found_nothing = false;
  if (lookout != nullptr || asleep.empty()) return;
  asleep.back()->ring();
  asleep.pop_back();
}

void JobWorker::State::purge_if_due() {
  {
    const std::lock_guard lock(mutex);
    const Instant now = BootClock::now();
    if (now < next_purge) return;
    next_purge = after(now, options.purge_every);
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
  if (starts && !too_late) tell({JobEvent::What::started, job.state()->job, ""});
  const JobEvent event = runs && too_late ? job.hand_back() : job.run(fraction());
  if (runs) {
    const std::lock_guard lock(mutex);
    std::erase(running, job.state());
    changed.notify_all();
  }
  tell(event);
}

// True if all is well.
bool JobWorker::State::renew() {
  std::vector<std::shared_ptr<JobContext::State>> now_running;
  {
    const std::lock_guard lock(mutex);
    now_running = running;
  }
  if (now_running.empty()) return true;
  const Instant sent = BootClock::now();
  const Instant until = after(sent, std::min(one_claim, options.claim / 6));
  std::vector<ClaimRef> claims;
  for (const auto& state : now_running) claims.push_back({state->job.id, {state->job.holder}});
  const auto held = std::make_unique<bool[]>(claims.size());
  const Status status = shared.ask(until, [&](JobEngine& engine) {
    return engine.renew(claims, {held.get(), claims.size()}, options.claim, until);
  });
  if (!status) return false;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (held[i])
      (void)Adoption::renewed(now_running[i]->claim, sent, options.claim);
    else
      Adoption::lose(now_running[i]->claim, {Loss::stolen, "the job was cancelled, or its claim ran out"});
  }
  return true;
}

void JobWorker::State::beat() {
  const Millis interval = options.claim / 3;
  Instant next = after(BootClock::now(), interval);
  while (true) {
    bool told = false;
    {
      const std::lock_guard lock(mutex);
      if (over) return;
      told = BootClock::now() >= stop_at;
      if (told) {
        for (const auto& state : running) {
          state->draining = true;
          state->stop();
        }
      }
    }
    if (BootClock::now() >= next) next = after(BootClock::now(), renew() ? interval : options.claim / 10);
    Instant sleep_until = next;
    {
      const std::lock_guard lock(mutex);
      if (!told) sleep_until = std::min(next, stop_at);
    }
    heart.wait(sleep_until);
  }
}

void JobWorker::State::drain(Millis grace) {
  const std::lock_guard lock(mutex);
  const Instant enough = after(BootClock::now(), grace);
  if (draining && enough >= stop_at) return;
  draining = true;
  stop_at = enough;
  heart.ring();
  for (Wakeup* sleeper : asleep) sleeper->ring();
  if (lookout != nullptr) lookout->ring();
  changed.notify_all();
}

JobWorker::JobWorker(Jobs jobs, WorkerOptions options) {
  if (Status s = check(options); !s) raise(std::move(s).error());
  state_ = std::make_shared<State>(std::move(jobs), std::move(options));
  try {
    state_->heartbeat = Worker([state = state_] { state->beat(); });
    for (int i = 0; i < state_->options.threads; ++i)
      state_->threads.emplace_back([state = state_] { state->work(); });
  } catch (const std::system_error& e) {
    drain();
    wait();
    raise({Errc::unavailable, std::string("cannot start a worker: ") + e.what()});
  }
}

JobWorker::~JobWorker() {
  if (Adoption::forked(state_->jobs.client())) {  // the threads are the parent's
    new (std::nothrow) std::shared_ptr<State>(std::move(state_));
    return;
  }
  drain();
  wait();
}

void JobWorker::drain() { state_->drain(state_->options.grace); }
void JobWorker::stop() { state_->drain(Millis::zero()); }

void JobWorker::wait() {
  for (Worker& thread : state_->threads) thread.finish(patience);
  state_->threads.clear();
  {
    const std::lock_guard lock(state_->mutex);
    state_->over = true;
    state_->heart.ring();
  }
  state_->heartbeat.finish(patience);
}

bool JobWorker::idle() const {
  const std::lock_guard lock(state_->mutex);
  return state_->idle();
}

void JobWorker::wait_until_idle(std::stop_token stop) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, std::move(stop), [&] { return state_->draining || state_->idle(); });
}

}  // namespace holdfast
