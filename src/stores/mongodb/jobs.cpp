// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/jobs.h"

#include <algorithm>
#include <cassert>

#include "base/time.h"
#include "stores/mongodb/admin.h"
#include "stores/mongodb/probe.h"

namespace holdfast::mongodb {
namespace {

constexpr std::size_t purged_at_once = 1000;

TickRow to_row(const std::optional<KeptTick>& kept_tick, Micros wall) {
  const KeptTick tick = kept_tick.value_or(KeptTick{});
  return {.tick = tick.tick,
          .by = tick.by,
          .at = moment_or_none(tick.at),
          .success = moment_or_none(tick.success),
          .now = Moment(wall)};
}

}  // namespace

MongoEngine::MongoEngine(std::shared_ptr<const StoreConfig> config, Instant until)
    : store_(std::move(config), until) {
  try {
    store_.make_collection(until);
    (void)job_indexes(store_.connection(), true, until);
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (error.in_doubt()) error.code = Errc::unavailable;  // nothing of the caller's was sent yet
    throw_failure(std::move(error));
  }
}

// -- leases

void MongoEngine::apply(Call& call, std::span<const Request> requests, std::span<Reply> replies) {
  if (Status s = store_.apply(requests, replies, call.until); !s) throw_failure(std::move(s).error());
  call.jobs.has_applied();
  for (Reply& reply : replies)
    if (reply.error) throw_failure(*std::move(reply.error));
}

Reply MongoEngine::lease(Call& call, const Request& request) {
  Reply reply;
  apply(call, {&request, 1}, {&reply, 1});
  return reply;
}

std::string MongoEngine::lock_owner(Call& call, Key lock) {
  auto page = store_.list({.prefix = lock.text, .exact = true}, call.until);
  if (!page) throw_failure(std::move(page).error());
  const bool held = !page->leases.empty() && page->leases.front().remaining > Millis::zero();
  return held ? page->leases.front().owner : std::string();
}

// -- enqueue

Result<EnqueueReply> MongoEngine::enqueue(const NewJob& job, Instant until) {
  return guarded<Result<EnqueueReply>>(until, [&](Call& call) -> Result<EnqueueReply> {
    NewJob rounded = job;
    // Moments are kept in milliseconds: not before.
    if (job.at) rounded.at = std::chrono::ceil<Millis>(*job.at);
    JobCollection::Fresh fresh = call.jobs.next_id();
    std::optional<EnqueueReply> reply;
    while (!reply) reply = try_enqueue(call, rounded, fresh);
    return *std::move(reply);
  });
}

// None: what stood in its way is gone again.
std::optional<EnqueueReply> MongoEngine::try_enqueue(Call& call, const NewJob& job,
                                                     JobCollection::Fresh& fresh) {
  const Moment wall(fresh.now);
  KeptJob made{.record = core::made_of(job, wall), .now = fresh.now};
  made.record.row.id = fresh.id;
  if (!job.tick_name.empty()) {
    made.tick_name = job.tick_name;
    made.tick = core::tick_of(job.tick, job.window, wall);
    made.tick_until = core::tick_until(made.tick, job.window);
    const auto last = call.ticks.find(job.tick_name);
    if (last && last->tick >= made.tick) return tick_was_taken(call, *last, wall);
  }
  if (core::minds_owner(job)) {
    if (std::string owner = lock_owner(call, {job.key}); !owner.empty()) {
      if (call.jobs.in_slot(job.key)) return meet(call, job, wall);
      return EnqueueReply{.what = EnqueueReply::What::locked, .owner = std::move(owner), .now = wall};
    }
  }
  switch (call.jobs.insert(made)) {
    case JobCollection::Inserted::yes: return enqueued(call, made);
    case JobCollection::Inserted::slot_taken: return meet(call, job, wall);
    case JobCollection::Inserted::tick_taken: {
      const auto other =
          call.jobs.find(Document().text("tick_name", made.tick_name).number("tick", made.tick));
      if (other) (void)call.ticks.advance(*other);  // whoever enqueued it may not have come so far
      return std::nullopt;
    }
    case JobCollection::Inserted::id_taken:
      call.jobs.skip_ids();
      fresh = call.jobs.next_id();
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<EnqueueReply> MongoEngine::meet(Call& call, const NewJob& job, Moment wall) {
  if (job.on_conflict != OnConflict::replace) {
    auto there = call.jobs.count_duplicate(Document().text("slot", core::slot_of(job.key)));
    if (!there) return std::nullopt;
    return core::duplicate_of(there->record, wall);
  }
  const auto there = call.jobs.in_slot(job.key);
  if (!there) return std::nullopt;
  core::JobRecord after = there->record;
  EnqueueReply reply = core::meet(after, job, wall);
  const bool replaced = reply.what == EnqueueReply::What::replaced;
  if (replaced) {
    if (call.jobs.swap(*there, replaced_job(*there, after)) != JobCollection::Swapped::yes)
      return std::nullopt;
    if (there->record.row.parked && !after.row.parked) make_next_due(call, job.key);
    return reply;
  }
  return call.jobs.count_duplicate(unchanged(*there)) ? std::optional(reply) : std::nullopt;
}

EnqueueReply MongoEngine::tick_was_taken(Call& call, const KeptTick& last, Moment wall) {
  auto there = call.jobs.count_duplicate(by_id(last.job));
  if (there) return core::duplicate_of(there->record, wall);
  return {.what = EnqueueReply::What::duplicate,
          .id = last.job,
          .state = JobState::done,
          .since = moment_or_none(last.at),
          .now = wall};
}

EnqueueReply MongoEngine::enqueued(Call& call, const KeptJob& job) {
  if (!job.tick_name.empty() && !call.ticks.advance(job)) {
    // Another one had it and is gone already, or a later tick was taken meanwhile.
    const auto last = call.ticks.find(job.tick_name);
    if (last && call.jobs.erase(job)) return tick_was_taken(call, *last, Moment(job.now));
  }
  const Moment wall(job.now);
  return {.what = EnqueueReply::What::enqueued, .id = job.record.row.id, .since = wall, .now = wall};
}

// -- claims

Status MongoEngine::renew(std::span<const ClaimRef> claims, std::span<ClaimReply> replies, Instant until) {
  assert(replies.size() == claims.size());
  return guarded<Status>(until, [&](Call& call) -> Status {
    if (claims.empty()) return Status{};
    // A claim that is not theirs never becomes so again: what is found afterwards was prolonged.
    const bool all = call.jobs.prolong(claims) == claims.size();
    const std::vector<bool> theirs = all ? std::vector<bool>(claims.size(), true) : call.jobs.held(claims);
    for (std::size_t i = 0; i < claims.size(); ++i) replies[i] = {.held = theirs[i]};
    return Status{};
  });
}

Result<Finished> MongoEngine::finish(const Finish& how, Instant until) {
  return guarded<Result<Finished>>(until, [&](Call& call) -> Result<Finished> {
    auto job = call.jobs.find(by_id(how.id));
    Finished finished{.now = Moment(job ? job->now : server_time(store_.connection(), until))};
    const bool locked = !how.lock.text.empty();
    std::optional<KeptJob> next;
    if (job && locked) next = call.jobs.first_waiting(job->record.row.key);
    if (next) call.jobs.make_scout(*next);
    while (job && job->taker.empty()) {
      core::JobRecord after = job->record;
      if (!core::finish(after, how, job->moment())) break;
      finished.finished = call.jobs.swap(*job, changed_job(*job, after)) == JobCollection::Swapped::yes;
      if (finished.finished) break;
      job = call.jobs.find(by_id(how.id));
    }
    if (!locked) return finished;
    const Reply reply =
        lease(call, {.verb = Verb::release, .key = how.lock, .owner = how.owner, .token = how.token});
    finished.released = reply.verdict == Verdict::released;
    if (next && call.jobs.make_due(*next)) return finished;
    if (job) make_next_due(call, job->record.row.key);
    return finished;
  });
}

// -- for people

Result<std::vector<JobRow>> MongoEngine::list(const JobQuery& query, Instant until) {
  return guarded<Result<std::vector<JobRow>>>(until, [&](Call& call) -> Result<std::vector<JobRow>> {
    std::vector<JobRow> rows;
    for (KeptJob& job : call.jobs.list(query)) rows.push_back(core::seen(std::move(job.record), job.now));
    return rows;
  });
}

Result<JobRow> MongoEngine::change(JobId id, JobChange what, std::string_view by, Instant until) {
  return guarded<Result<JobRow>>(until, [&](Call& call) -> Result<JobRow> {
    while (true) {
      const auto job = call.jobs.find(by_id(id));
      if (!job) return core::no_such_job(id);
      core::JobRecord after = job->record;
      if (Status s = core::change(after, what, by, job->moment()); !s) return std::move(s).error();
      if (what == JobChange::remove) {
        if (!job->tick_name.empty()) (void)call.ticks.advance(*job);
        if (!call.jobs.erase(*job)) continue;
      } else {
        const JobCollection::Swapped swapped = call.jobs.swap(*job, changed_job(*job, after));
        if (swapped == JobCollection::Swapped::slot_taken) {
          if (const auto other = call.jobs.in_slot(after.row.key))
            return core::slot_is_taken(id, other->record.row.id);
        }
        if (swapped != JobCollection::Swapped::yes) continue;
      }
      // Nobody may come to release the lock, so the next job checks it itself.
      const JobRow& was = job->record.row;
      if (was.parked || was.state == JobState::running) make_next_due(call, after.row.key);
      return core::seen(std::move(after), job->now);
    }
  });
}

// -- ticks

Result<TickRow> MongoEngine::take_tick(const Tick& tick, Instant until) {
  return guarded<Result<TickRow>>(until, [&](Call& call) -> Result<TickRow> {
    const Micros wall = server_time(store_.connection(), until);
    const std::int64_t wanted = core::tick_of(tick.tick, tick.period, Moment(wall));
    const bool taken = call.ticks.advance(tick.name, {.tick = wanted, .by = tick.by, .at = wall});
    if (taken) call.jobs.has_applied();
    TickRow row = to_row(call.ticks.find(tick.name), wall);
    row.taken = taken;
    row.tick = wanted;
    return row;
  });
}

Result<TickRow> MongoEngine::tick(std::string_view name, Instant until) {
  return guarded<Result<TickRow>>(until, [&](Call& call) -> Result<TickRow> {
    return to_row(call.ticks.find(name), server_time(store_.connection(), until));
  });
}

Status MongoEngine::note_success(std::string_view name, std::string_view by, Instant until) {
  return guarded<Status>(until, [&](Call& call) -> Status {
    call.ticks.note_success(name, by, server_time(store_.connection(), until));
    return Status{};
  });
}

Result<std::uint64_t> MongoEngine::purge(const JobPurge& what, Instant until) {
  return guarded<Result<std::uint64_t>>(until, [&](Call& call) -> Result<std::uint64_t> {
    const Micros wall = server_time(store_.connection(), until);
    const Micros cut = wall - std::min(what.older_than, core::a_century);
    std::uint64_t gone = 0;
    while (gone < what.limit) {
      const auto over = call.jobs.over(cut, std::min<std::size_t>(what.limit - gone, purged_at_once));
      if (over.empty()) break;
      for (const KeptJob& job : over) {
        const bool still_valid = job.tick_until == Micros::zero() || job.tick_until > wall;
        if (!job.tick_name.empty() && still_valid) (void)call.ticks.advance(job);
      }
      gone += call.jobs.erase_over(over, cut);
    }
    call.ticks.erase(wall);
    return gone;
  });
}

}  // namespace holdfast::mongodb
