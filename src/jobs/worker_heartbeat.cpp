// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jobs/worker_state.h"

namespace holdfast {

// Renews the claims of all running jobs.  False: no reply.
bool JobWorker::State::renew() {
  std::vector<std::shared_ptr<JobContext::State>> now_running;
  {
    const std::lock_guard lock(mutex);
    now_running = running;
  }
  if (now_running.empty()) return true;
  const Instant sent = BootClock::now();
  const Instant until = clamped_add(sent, std::min(jobs::one_claim, options.claim / 6));
  std::vector<ClaimRef> claims;
  for (const auto& state : now_running) claims.push_back({state->job.id, {state->job.owner}});
  const auto held = std::make_unique<bool[]>(claims.size());
  const Status status = shared.ask(until, [&](JobEngine& engine) {
    return engine.renew(claims, {held.get(), claims.size()}, options.claim, until);
  });
  if (!status) return false;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (held[i])
      (void)ClientAccess::renewed(now_running[i]->claim, sent, options.claim);
    else if (!now_running[i]->ending)
      ClientAccess::lose(now_running[i]->claim,
                         {Loss::stolen, "the job was cancelled, or its claim expired"});
  }
  return true;
}

void JobWorker::State::beat() {
  const Millis interval = options.claim / 3;
  Instant next = clamped_add(BootClock::now(), interval);
  while (true) {
    {
      const std::lock_guard lock(mutex);
      if (over) return;
    }
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
