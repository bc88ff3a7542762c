// SPDX-License-Identifier: Apache-2.0
// The claim of a job.
#include <algorithm>

#include "stores/mongodb/jobs.h"

namespace holdfast::mongodb {
namespace {

using namespace std::chrono_literals;

// Whoever takes a job has so long at least to decide about it.
constexpr Millis shortest_taking = 1s;

}  // namespace

Result<Claimed> MongoEngine::claim(const ClaimRequest& request, Instant until) {
  return guarded<Result<Claimed>>(until, [&](Call& call) -> Result<Claimed> {
    Claimed claimed;
    for (int i = 0; i < core::parked_per_claim; ++i) {
      if (try_claim(call, request, claimed)) return claimed;
    }
    return claimed;
  });
}

// False: one was set aside, or somebody else decided about it; the next may do.
bool MongoEngine::try_claim(Call& call, const ClaimRequest& request, Claimed& claimed) {
  claimed = {};
  auto job = take(call, request);
  if (job) return decide(call, request, *std::move(job), claimed);
  Micros now{};
  claimed.next = call.jobs.idle(request.queues, now);
  claimed.now = Moment(now);
  return true;
}

std::optional<KeptJob> MongoEngine::take(Call& call, const ClaimRequest& request) {
  const Millis length = std::max(request.ttl, shortest_taking);
  const JobCollection::Woken woken = call.jobs.woken(request.queues);
  for (const JobId id : woken.abandoned) {
    if (auto job = call.jobs.take_over(id, request.owner.text, length)) return job;
  }
  if (!woken.due.empty()) call.jobs.make_due(woken.due);
  return call.jobs.take_next(request.queues, request.owner.text, length);
}

bool MongoEngine::decide(Call& call, const ClaimRequest& request, KeptJob job, Claimed& claimed) {
  const core::JobMoment at = job.moment();
  claimed.now = at.wall;
  const bool recovered = job.record.row.state == JobState::running;
  const bool damaged = !job.record.damaged.empty();  // perhaps its state, so it may have been running
  const bool held = (recovered || damaged) && !job.record.row.lock.empty();
  give_back_of_the_dead(call, job);
  if (held) (void)lease(call, core::give_back(job.record.row));
  if (damaged) {
    core::JobRecord dead = job.record;
    core::end_damaged(dead, at);
    (void)call.jobs.swap(job, changed_job(job, dead));
    if (held || job.record.row.parked) make_next_due(call, job.record.row.key);
    return false;
  }

  std::optional<Lock> lock;
  core::JobRecord after;
  while (true) {
    after = job.record;
    const bool too_early = !recovered && after.row.run_at > job.moment().wall;
    if (too_early) {
      // A duplicate has put it off since it was taken.
      if (lock) give_back(call, request, *lock);
      lock.reset();
      after.row.parked = false;
      after.row.due_at = after.row.run_at;
      claimed.what = Claimed::What::nothing;
    } else if (recovered && core::crashed(after, request.max_crashes, at)) {
      claimed.what = Claimed::What::poisoned;
    } else {
      if (!lock) lock = take_lock(call, request, after.row);
      claimed.what = start_or_park(call, request, *lock, at, after);
    }
    const bool decided = call.jobs.swap(job, changed_job(job, after)) == JobCollection::Swapped::yes;
    if (decided && too_early) {
      make_next_due(call, after.row.key);  // our lease may have stood in its way
      return false;
    }
    if (decided) break;
    // A duplicate has replaced its arguments; or it was cancelled, or we were too slow and another took it.
    Document still = by_id(job.record.row.id);
    auto again = call.jobs.find(still.text("taker", request.owner.text));
    if (!again) {
      if (lock) give_back(call, request, *lock);
      claimed = {.now = at.wall};
      return false;
    }
    job = *std::move(again);
  }

  if (claimed.what == Claimed::What::nothing) {
    // If whoever waits before it has come and gone since we looked, nobody looks out for it.
    const auto first = call.jobs.first_waiting(after.row.key);
    if (first && first->record.row.id == after.row.id) call.jobs.make_scout(*first);
    return false;
  }
  if (claimed.what == Claimed::What::running && job.record.row.parked) {
    // It was the first of those that wait: the next one looks in its place.
    if (const auto next = call.jobs.first_waiting(after.row.key)) call.jobs.make_scout(*next);
  }
  if (claimed.what == Claimed::What::poisoned && held) make_next_due(call, after.row.key);
  claimed.recovered = recovered;
  if (claimed.what == Claimed::What::running && lock) claimed.lock_remaining = lock->remaining;
  const bool blocked = claimed.what == Claimed::What::dropped || claimed.what == Claimed::What::raised;
  if (blocked && lock) claimed.blocker = lock->blocker;
  claimed.job = core::seen(std::move(after), at.now);
  return true;
}

// Whoever took it before and died may have acquired any of its leases.
void MongoEngine::give_back_of_the_dead(Call& call, const KeptJob& job) {
  if (job.last_taker.empty()) return;
  const std::vector<std::string> names = lock_keys(job.record.row.key, job.record.row.limit);
  std::vector<Request> requests;
  for (const std::string& name : names)
    requests.push_back({.verb = Verb::release, .key = {name}, .owner = {job.last_taker}});
  std::vector<Reply> replies(requests.size());
  apply(call, requests, replies);
}

// The first of its leases that is free.
MongoEngine::Lock MongoEngine::take_lock(Call& call, const ClaimRequest& request, const JobRow& row) {
  if (row.limit == 0) return {.granted = true};
  Lock lock{.remaining = Millis(never)};
  for (int n = 1; n <= row.limit; ++n) {
    std::string name = core::lock_name(row.key, row.limit, n);
    Reply reply = lease(call, core::lock_request(row, {name}, request));
    if (reply.verdict == Verdict::granted)
      return {.granted = true, .name = std::move(name), .token = reply.token, .remaining = reply.remaining};
    lock.remaining = std::min(lock.remaining, reply.remaining);
    if (n == 1) lock.blocker = std::move(reply.owner);
  }
  return lock;
}

void MongoEngine::give_back(Call& call, const ClaimRequest& request, const Lock& lock) {
  if (lock.name.empty()) return;
  (void)lease(call, {.verb = Verb::release, .key = {lock.name}, .owner = request.owner, .token = lock.token});
}

// Nothing: it waits.
Claimed::What MongoEngine::start_or_park(Call& call, const ClaimRequest& request, const Lock& lock,
                                         const core::JobMoment& at, core::JobRecord& job) {
  if (lock.granted) {
    core::start(job, request, {lock.name}, lock.token, at);
    return Claimed::What::running;
  }
  switch (core::conflict_of(job.row)) {
    case OnConflict::drop: core::drop(job, lock.blocker, at); return Claimed::What::dropped;
    case OnConflict::raise: core::start(job, request, {}, no_token, at); return Claimed::What::raised;
    case OnConflict::wait:
    case OnConflict::replace: break;
  }
  const auto first = call.jobs.first_waiting(job.row.key);
  core::park(job, lock.remaining, !first || core::before(job.row, first->record.row), at);
  return Claimed::What::nothing;
}

void MongoEngine::make_next_due(Call& call, std::string_view key) {
  while (true) {
    const auto next = call.jobs.first_waiting(key);
    if (!next || call.jobs.make_due(*next)) return;
  }
}

}  // namespace holdfast::mongodb
