// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <utility>

#include "core/batching.h"
#include "jobs/worker_state.h"

namespace holdfast {

// Renews the claims of all running jobs.  False: not all got a reply.
//
// A row that somebody has locked, or that the store refuses, makes each call with its claim fail.  So claims
// that failed alone come last, and the others are out of danger before those take their time.
bool JobWorker::State::renew() {
  Contexts now_running;
  {
    const std::lock_guard lock(mutex);
    now_running = running;
  }
  if (now_running.empty()) return true;
  // A renewal is due after a third of the claim.  One bad claim makes one call fail for each time that the
  // batch is halved, and after three quarters of the claim all others are renewed.
  const Millis whole = std::min(jobs::one_claim, options.claim / 6), parts = options.claim / 4;
  const auto halvings = static_cast<Millis::rep>(std::bit_width(now_running.size()));
  RenewalTime time{.whole = whole,
                   .part = std::min(whole, parts / halvings),
                   .enough = clamped_add(BootClock::now(), whole + parts)};
  const auto bad = std::partition(now_running.begin(), now_running.end(),
                                  [](const auto& state) { return !state->renewal_failed; });
  const bool well = renew_in_parts({now_running.begin(), bad}, time);
  return renew_in_parts({bad, now_running.end()}, time) && well;
}

// False: not all got a reply.
bool JobWorker::State::renew_in_parts(std::span<const Contexts::value_type> claimed, RenewalTime& time) {
  core::Halving halving(claimed.size(), time.any_answered);
  bool well = true;
  while (halving.size() > 0) {
    if (is_over() || BootClock::now() >= time.enough) return false;
    const auto some = claimed.subspan(halving.first(), halving.size());
    const bool answered = renew_together(some, std::exchange(time.whole, time.part));
    if (answered || some.size() == 1)
      for (const auto& state : some) state->renewal_failed = !answered;
    answered ? halving.answered() : halving.failed();
    well = well && answered;
    guarded([&] { stop_late_jobs(); });
  }
  // It answers nobody, so it is not asked for the others either.
  time.any_answered = halving.any_answered();
  if (!well && !time.any_answered) time.enough = Instant::min();
  return well;
}

// False: no reply.
bool JobWorker::State::renew_together(std::span<const Contexts::value_type> claimed, Millis limit) {
  const Instant sent = BootClock::now();
  const Instant until = clamped_add(sent, limit);
  std::vector<ClaimRef> claims;
  for (const auto& state : claimed) claims.push_back({state->job.id, {state->job.owner}});
  const auto held = std::make_unique<bool[]>(claims.size());
  const Status status = shared.ask(until, [&](JobEngine& engine) {
    return engine.renew(claims, {held.get(), claims.size()}, options.claim, until);
  });
  if (!status) return false;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (held[i])
      (void)ClientAccess::renewed(claimed[i]->claim, sent, options.claim);
    else if (!claimed[i]->ending)
      ClientAccess::lose(claimed[i]->claim, {Loss::stolen, "the job was cancelled, or its claim expired"});
  }
  return true;
}

void JobWorker::State::beat() {
  const Millis interval = options.claim / 3;
  Instant next = clamped_add(BootClock::now(), interval);
  while (!is_over()) {
    bool stopped = false;
    guarded([&] { stopped = stop_late_jobs(); });
    if (BootClock::now() >= next) {
      bool well = false;
      guarded([&] { well = renew(); });
      next = clamped_add(BootClock::now(), well ? interval : options.claim / 10);
    }
    Instant sleep_until = next;
    {
      const std::lock_guard lock(mutex);
      if (!stopped) sleep_until = std::min(next, stop_at);
    }
    heartbeat_wakeup.wait(sleep_until);
  }
}

// When the grace of drain() is over, requests the stop of all running jobs.  False: it is not over.
bool JobWorker::State::stop_late_jobs() {
  std::vector<std::shared_ptr<JobContext::State>> late;
  {
    const std::lock_guard lock(mutex);
    if (BootClock::now() < stop_at) return false;
    late = running;
  }
  for (const auto& state : late) {
    state->draining = true;
    state->stop();  // runs functions of the job, so without a lock
  }
  return true;
}

}  // namespace holdfast
