// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"
#include "stores/mongodb/engine.h"

namespace holdfast::mongodb {

Result<EnqueueReply> MongoEngine::enqueue(const NewJob& job, Instant until) {
  return guarded<Result<EnqueueReply>>(until, [&](Call& call) -> Result<EnqueueReply> {
    NewJob rounded = job;
    // Moments are kept in milliseconds: not before.
    if (job.at) rounded.at = std::chrono::ceil<Millis>(*job.at);
    Jobs::Fresh fresh = call.jobs.next_id();
    std::optional<EnqueueReply> reply;
    while (!reply) reply = try_enqueue(call, rounded, fresh);
    return *std::move(reply);
  });
}

// None: what stood in its way is gone again.
std::optional<EnqueueReply> MongoEngine::try_enqueue(Call& call, const NewJob& job, Jobs::Fresh& fresh) {
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
    case Jobs::Inserted::yes: return enqueued(call, made);
    case Jobs::Inserted::slot_taken: return meet(call, job, wall);
    case Jobs::Inserted::tick_taken: {
      const auto other =
          call.jobs.find(Document().text("tick_name", made.tick_name).number("tick", made.tick));
      if (other) (void)call.ticks.advance(*other);  // whoever enqueued it may not have come so far
      return std::nullopt;
    }
    case Jobs::Inserted::id_taken:
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
    if (call.jobs.swap(*there, replaced_job(*there, after)) != Jobs::Swapped::yes) return std::nullopt;
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

}  // namespace holdfast::mongodb
