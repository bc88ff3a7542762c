// SPDX-License-Identifier: Apache-2.0
#include "rows/row_engine.h"

#include <algorithm>
#include <cassert>

#include "base/time.h"

namespace holdfast::rows {
namespace {

using core::JobMoment;
using core::JobRecord;

// Returns a Failure that `work` throws as a value.
template <class Out, class Work>
Out guarded(const Work& work) {
  try {
    return work();
  } catch (const Failure& failure) {
    return failure.error();
  }
}

template <class Time>
Millis until_then(std::optional<Time> then, Time now) {
  if (!then) return core::longest_idle;
  return std::clamp(std::chrono::ceil<Millis>(*then - now), Millis::zero(), core::longest_idle);
}

TickRow to_row(const TickRecord& tick, Moment wall) {
  return {.tick = tick.tick,
          .by = tick.by,
          .at = moment_or_none(tick.at),
          .success = moment_or_none(tick.success),
          .now = wall};
}

}  // namespace

// -- enqueue

Result<EnqueueReply> RowEngine::enqueue(const NewJob& job, Instant until) {
  return guarded<Result<EnqueueReply>>([&]() -> Result<EnqueueReply> {
    std::optional<EnqueueReply> reply;
    while (!reply) transact(Access::write, until, [&] { reply = try_enqueue(job); });
    return *std::move(reply);
  });
}

// None: another process took the slot first.  The next attempt finds its job there.
std::optional<EnqueueReply> RowEngine::try_enqueue(const NewJob& job) {
  const Moment wall = moment().wall;
  const std::int64_t tick = core::tick_of(job.tick, job.window, wall);
  if (!job.tick_name.empty()) {
    const auto last = tick_of(job.tick_name);
    if (last && last->tick >= tick) {
      auto there = this->job(last->job);
      if (!there)
        return EnqueueReply{.what = EnqueueReply::What::duplicate,
                            .id = last->job,
                            .state = JobState::done,
                            .since = moment_or_none(last->at),
                            .now = wall};
      const EnqueueReply reply = core::duplicate_of(*there, wall);
      update(*there);
      return reply;
    }
  }
  if (core::has_slot(job.unique)) {
    if (auto there = in_slot(core::slot_of(job.key))) {
      const bool parked = there->row.parked;
      const EnqueueReply reply = core::meet(*there, job, wall);
      update(*there);
      if (parked && !there->row.parked) unpark_next(there->row.key, wall);
      return reply;
    }
  }
  if (core::minds_owner(job)) {
    if (std::string owner = lock_owner({job.key}); !owner.empty())
      return EnqueueReply{.what = EnqueueReply::What::locked, .owner = std::move(owner), .now = wall};
  }
  const JobId id = insert(core::made_of(job, wall));
  if (id == no_job) return std::nullopt;
  if (!job.tick_name.empty()) {
    TickRecord taken = tick_of(job.tick_name).value_or(TickRecord{});
    taken.tick = tick;
    taken.job = id;
    taken.at = wall.time_since_epoch();
    taken.by.clear();
    taken.until = core::tick_until(tick, job.window);
    put_tick(job.tick_name, taken);
  }
  return EnqueueReply{.what = EnqueueReply::What::enqueued, .id = id, .since = wall, .now = wall};
}

// -- claim

Result<Claimed> RowEngine::claim(const ClaimRequest& request, Instant until) {
  return guarded<Result<Claimed>>([&]() -> Result<Claimed> {
    Claimed claimed;
    transact(Access::write, until, [&] {
      claimed = {};
      for (int i = 0; i < core::parked_per_claim; ++i) {
        if (try_claim(request, claimed)) return;
      }
    });
    return claimed;
  });
}

// False: the job was parked, or is damaged, and the next one may be claimed.
bool RowEngine::try_claim(const ClaimRequest& request, Claimed& claimed) {
  const JobMoment at = moment();
  claimed.now = at.wall;
  auto found = next_expired(request.queues, at.now);
  claimed.recovered = found.has_value();
  if (!found) found = next_due(request.queues, at.wall);
  if (!found) {
    claimed.next = std::min(until_then(earliest_due(request.queues), at.wall),
                            until_then(earliest_claim_end(request.queues), at.now));
    return true;
  }
  JobRecord& job = *found;
  const bool held = claimed.recovered && !job.row.lock.empty();
  if (held) (void)lease(core::give_back(job.row));
  if (!job.damaged.empty()) {
    const bool wakes = held || job.row.parked;
    core::end_damaged(job, at);
    update(job);
    if (wakes) unpark_next(job.row.key, at.wall);
    claimed.recovered = false;
    return false;
  }
  if (claimed.recovered) {
    if (core::crashed(job, request.max_crashes, at)) {
      claimed.what = Claimed::What::poisoned;
      if (held) unpark_next(job.row.key, at.wall);
    }
  }
  if (claimed.what == Claimed::What::nothing && !take_lock(job, request, at, claimed)) {
    claimed.recovered = false;
    update(job);
    return false;
  }
  update(job);
  claimed.job = core::seen(std::move(job), at.now);
  return true;
}

// Starts the job under the first of its leases that is free.  If none is, does what its on_conflict says.
// False: it waits.
bool RowEngine::take_lock(JobRecord& job, const ClaimRequest& request, const JobMoment& at,
                          Claimed& claimed) {
  JobRow& row = job.row;
  claimed.what = Claimed::What::running;
  if (row.limit == 0) {
    core::start(job, request, {}, no_token, at);
    return true;
  }
  const bool was_parked = row.parked;
  Millis soonest = Millis(never);
  for (int n = 1; n <= row.limit; ++n) {
    const std::string lock = core::lock_name(row.key, row.limit, n);
    const Reply reply = lease(core::lock_request(row, {lock}, request));
    if (reply.verdict == Verdict::granted) {
      core::start(job, request, {lock}, reply.token, at);
      if (was_parked) scout_next(job.row.key, at.wall);
      claimed.lock_remaining = reply.remaining;
      claimed.blocker.clear();
      return true;
    }
    soonest = std::min(soonest, reply.remaining);
    if (n == 1) claimed.blocker = reply.owner;
  }
  switch (core::conflict_of(row)) {
    case OnConflict::drop:
      core::drop(job, claimed.blocker, at);
      claimed.what = Claimed::What::dropped;
      return true;
    case OnConflict::raise:
      core::start(job, request, {}, no_token, at);
      claimed.what = Claimed::What::raised;
      return true;
    case OnConflict::wait:
    case OnConflict::replace: break;
  }
  const auto first = first_parked(row.key, at.wall);
  core::park(job, soonest, !first || core::before(row, first->row), at);
  claimed.what = Claimed::What::nothing;
  claimed.blocker.clear();
  return false;
}

void RowEngine::scout_next(std::string_view key, Moment wall) {
  auto next = first_parked(key, wall);
  if (next && core::make_scout(*next, wall)) update(*next);
}

void RowEngine::unpark_next(std::string_view key, Moment wall) {
  auto next = first_parked(key, wall);
  if (!next) return;
  core::unpark(*next);
  update(*next);
}

// -- after the claim

Status RowEngine::renew(std::span<const ClaimRef> claims, std::span<ClaimReply> replies, Instant until) {
  assert(replies.size() == claims.size());
  return guarded<Status>([&]() -> Status {
    transact(Access::write, until, [&] {
      std::fill(replies.begin(), replies.end(), ClaimReply{});
      renew_claims(claims, replies, moment().now);
    });
    core::each_waiting_claim(claims, replies, [&](std::size_t i, std::int64_t waiting) {
      const Instant now = BootClock::now(), share = now + (until - now) / waiting;
      ClaimReply reply;
      try {
        transact(Access::write, until, [&] {
          reply = {};
          renew_claim_that_waits(claims[i], reply, moment().now, share);
        });
      } catch (const Failure&) {
        return;  // its job is still locked; if it is more than that, the next renewal says so
      }
      replies[i] = std::move(reply);
    });
    return Status{};
  });
}

void RowEngine::renew_claim_that_waits(const ClaimRef& claim, ClaimReply& reply, Micros now, Instant) {
  RowEngine::renew_claims({&claim, 1}, {&reply, 1}, now);
}

void RowEngine::renew_claims(std::span<const ClaimRef> claims, std::span<ClaimReply> replies, Micros now) {
  for (std::size_t i = 0; i < claims.size(); ++i) {
    auto found = job(claims[i].id);
    if (!found || !core::is_claim_of(*found, claims[i])) continue;
    found->claim_until = std::max(found->claim_until, now + claims[i].ttl);
    update(*found);
    replies[i].held = true;
  }
}

Result<Finished> RowEngine::finish(const Finish& how, Instant until) {
  return guarded<Result<Finished>>([&]() -> Result<Finished> {
    Finished finished;
    transact(Access::write, until, [&] {
      const JobMoment at = moment();
      finished = {.now = at.wall};
      auto found = job(how.id);
      if (found && core::finish(*found, how, at)) {
        finished.finished = true;
        update(*found);
      }
      if (how.lock.text.empty()) return;
      const Reply reply =
          lease({.verb = Verb::release, .key = how.lock, .owner = how.owner, .token = how.token});
      finished.released = reply.verdict == Verdict::released;
      if (found) unpark_next(found->row.key, at.wall);
    });
    return finished;
  });
}

Result<std::vector<JobRow>> RowEngine::list(const JobQuery& query, Instant until) {
  return guarded<Result<std::vector<JobRow>>>([&]() -> Result<std::vector<JobRow>> {
    std::vector<JobRow> rows;
    transact(Access::read, until, [&] {
      rows.clear();
      const Micros now = moment().now;
      for (JobRecord& record : find(query)) rows.push_back(core::seen(std::move(record), now));
    });
    return rows;
  });
}

Result<JobRow> RowEngine::change(JobId id, JobChange what, std::string_view by, Instant until) {
  return guarded<Result<JobRow>>([&]() -> Result<JobRow> {
    JobRecord changed;
    Micros now{};
    transact(Access::write, until, [&] {
      const JobMoment at = moment();
      now = at.now;
      auto found = job(id);
      if (!found) throw_failure(core::no_such_job(id));
      // The job that would free the lock may never run, so the next parked job must try the lock itself.
      const bool wakes = found->row.parked || found->row.state == JobState::running;
      if (Status s = core::change(*found, what, by, at); !s) throw_failure(std::move(s).error());
      if (found->row.slotted) {
        const auto other = in_slot(core::slot_of(found->row.key));
        if (other && other->row.id != id) throw_failure(core::slot_is_taken(id, other->row.id));
      }
      what == JobChange::remove ? erase(id) : update(*found);
      if (wakes) unpark_next(found->row.key, at.wall);
      changed = *std::move(found);
    });
    return core::seen(std::move(changed), now);
  });
}

Result<TickRow> RowEngine::take_tick(const Tick& tick, Instant until) {
  return guarded<Result<TickRow>>([&]() -> Result<TickRow> {
    TickRow row;
    transact(Access::write, until, [&] {
      const Moment wall = moment().wall;
      const std::int64_t wanted = core::tick_of(tick.tick, tick.period, wall);
      TickRecord last = tick_of(tick.name).value_or(TickRecord{});
      const bool taken = last.tick < wanted;
      if (taken) {
        last.tick = wanted;
        last.job = no_job;
        last.by = tick.by;
        last.at = wall.time_since_epoch();
        put_tick(tick.name, last);
      }
      row = to_row(last, wall);
      row.taken = taken;
      row.tick = wanted;
    });
    return row;
  });
}

Result<TickRow> RowEngine::tick(std::string_view name, Instant until) {
  return guarded<Result<TickRow>>([&]() -> Result<TickRow> {
    TickRow row;
    transact(Access::read, until, [&] { row = to_row(tick_of(name).value_or(TickRecord{}), moment().wall); });
    return row;
  });
}

Status RowEngine::note_success(std::string_view name, std::string_view by, Instant until) {
  return guarded<Status>([&]() -> Status {
    transact(Access::write, until, [&] {
      TickRecord last = tick_of(name).value_or(TickRecord{});
      last.success = moment().wall.time_since_epoch();
      last.by = by;
      put_tick(name, last);
    });
    return Status{};
  });
}

Result<std::uint64_t> RowEngine::purge(const JobPurge& what, Instant until) {
  return guarded<Result<std::uint64_t>>([&]() -> Result<std::uint64_t> {
    std::uint64_t gone = 0;
    transact(Access::write, until, [&] {
      const Moment wall = moment().wall;
      gone = erase_over(wall - std::min(what.older_than, core::a_century), what.limit);
      erase_ticks(wall.time_since_epoch());
    });
    return gone;
  });
}

}  // namespace holdfast::rows
