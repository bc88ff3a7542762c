// SPDX-License-Identifier: Apache-2.0
#include "sim/process.h"

#include <algorithm>

#include "core/timing.h"
#include "core/verdicts.h"
#include "sim/actor.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

constexpr Millis longest_pending_release = 1s;
constexpr Millis one_hung_round = 3s;  // of the keeper: a batch and its pending releases without an answer

DriftingClock clock_of(RunContext& context) {
  const int most = context.plan.client_ppm;
  const int ppm = static_cast<int>(context.dice.fraction() * 2 * most);
  const Micros booted = context.dice.between(Micros(1h), Micros(100h));
  return {booted, most < 0 ? std::max(ppm, most) : std::min(ppm, most)};
}

std::string named(const Lease& lease) {
  return "k" + std::to_string(lease.key) + ", attempt " + std::to_string(lease.attempt_id);
}

Message release_of(const Lease& lease) {
  return {.verb = Verb::release,
          .key = lease.key,
          .owner = lease.owner,
          .token = lease.token,
          .attempt_id = lease.attempt_id};
}

}  // namespace

Process::Process(Surroundings world, Timeline::Owner id)
    : world_(world),
      id_(id),
      clock_(clock_of(world.context)),
      callers_(world.context, world.network, world.server, world.ledger, id, clock_, offset_),
      keepers_(world.context, world.network, world.server, world.ledger, id, clock_, offset_),
      gates_(world.context),
      keeper_(*this, keepers_) {}

void Process::start(int threads) {
  keeper_.start();
  for (int i = 0; i < threads; ++i) threads_.push_back(work(*this));
  for (Task<>& thread : threads_) thread.start();
}

bool Process::done() const {
  return std::all_of(threads_.begin(), threads_.end(), [](const Task<>& t) { return t.done(); }) &&
         keeper_.idle();
}

True Process::waits_since() const {
  True since = never_comes;
  for (const auto& [attempt_id, began] : waits_) since = std::min(since, began);
  return since;
}

std::optional<Millis> Process::margin() const {
  if (context().is(Mutant::no_margin)) return Millis::zero();
  return std::nullopt;
}

Millis Process::margin_of(Millis ttl) const { return core::margin_of(ttl, margin(), Millis::zero()); }

Task<Result<Reply>> Process::send(Message message, Instant until) {
  std::vector<Message> batch;
  batch.push_back(std::move(message));
  auto replies = co_await callers_.apply(std::move(batch), until);
  if (!replies) co_return Result<Reply>(replies.error());
  co_return Result<Reply>(std::move((*replies)[0]));
}

Task<Result<std::vector<Reply>>> Process::renew(std::shared_ptr<Lease> lease, Millis ttl, bool extend) {
  const Instant sent = now();
  const Instant until = std::min(lease->deadline, clamped_add(sent, core::attempt_limit(lease->ttl)));
  lease->tried = sent;
  Message message{.verb = Verb::renew,
                  .key = lease->key,
                  .owner = lease->owner,
                  .token = lease->token,
                  .ttl = ttl,
                  .extend = extend,
                  .attempt_id = lease->attempt_id};
  const auto reply = co_await send(std::move(message), until);
  if (!reply) co_return Result<std::vector<Reply>>(reply.error());
  if (reply->verdict == Verdict::granted) {
    const Instant counted_from = context().is(Mutant::deadline_from_the_reply) ? now() : sent;
    const bool believed = extend ? keeper_.extended_by_hand(*lease, ttl, counted_from, reply->remaining)
                                 : keeper_.renewed_by_hand(*lease, ttl, counted_from, reply->remaining);
    if (believed) context().sometimes(extend ? Sometimes::extended_by_hand : Sometimes::renewed_by_hand);
  } else {
    keeper_.lose(lease, core::lost_by(*reply, {lease->owner}, lease->token).reason);
  }
  co_return Result<std::vector<Reply>>(std::vector<Reply>{*reply});
}

// An acquire of it that was never answered may still be on its way, and would be granted anew.
void Process::release_again(const Lease& lease, Instant started) {
  if (!lease.unclear_until || *lease.unclear_until < started ||
      context().is(Mutant::doubt_forgotten_by_a_grant))
    return;
  Message message = release_of(lease);
  message.token = no_token;
  pending_release(message, *lease.unclear_until + 1ms, lease.ttl);
}

Task<> Process::release(std::shared_ptr<Lease> lease) {
  if (lease->phase == Lease::Phase::held) stops_believing(*lease, Lease::Phase::released);
  keeper_.drop(*lease);
  const Instant started = now();
  Message message = release_of(*lease);
  const auto reply = co_await send(std::move(message), clamped_add(started, core::attempt_limit(lease->ttl)));
  release_again(*lease, started);
  if (!reply) {
    if (reply.error().in_doubt()) context().sometimes(Sometimes::release_in_doubt);
    pending_release(release_of(*lease), started, lease->ttl);
    co_return;
  }
  switch (core::released_by(*reply, {lease->owner}, lease->token)) {
    case Released::released: context().sometimes(Sometimes::released); break;
    case Released::expired: context().sometimes(Sometimes::release_found_it_expired); break;
    case Released::stolen: context().sometimes(Sometimes::release_found_it_taken); break;
    case Released::already_released:
    case Released::broken: break;  // an operator's work, or our own doubled message's
    case Released::never_held:
      if (context().plan.of(Fault::purge) == 0)
        context().violated("known outcomes", "a release of " + named(*lease) + " found no record of it");
      context().sometimes(Sometimes::release_found_it_purged);
      break;
  }
}

Task<> Process::let_go(std::shared_ptr<Lease> lease) {
  const Instant deadline = lease->deadline;
  const bool was_held = lease->phase == Lease::Phase::held;
  const Instant started = now();
  if (was_held) stops_believing(*lease, Lease::Phase::released);
  keeper_.drop(*lease);
  release_again(*lease, started);
  const Instant until = std::min(deadline, clamped_add(started, longest_pending_release));
  if (was_held && started < deadline) {
    Message message = release_of(*lease);
    const auto reply = co_await send(std::move(message), until);
    if (reply) co_return;
  }
  pending_release(release_of(*lease), started, lease->ttl);
}

void Process::pending_release(const Message& release, Instant at, Millis ttl) {
  keeper_.pending_release(release, at, clamped_add(at, std::min(ttl, Millis(1min))));
}

bool Process::held(const Lease& lease) {
  const bool held = lease.phase == Lease::Phase::held && now() < lease.deadline;
  if (held && !ledger().was_broken(lease.attempt_id) &&
      !world_.server.backs(lease.key, lease.owner, lease.token)) {
    context().violated("the store backs a held lease",
                       named(lease) + " counts as held, but the store has no such lease any more");
  }
  const bool untold = lease.phase == Lease::Phase::held && now() >= lease.deadline;
  if (untold && context().now() > std::max(clock_.when(lease.deadline), context().timeline.went_on(id_))) {
    context().violated("loss is reported by the deadline",
                       named(lease) + " is past its deadline, and no loss was reported");
  }
  return held;
}

void Process::told_lost(const Lease& lease) {
  const True due = clock_.when(lease.deadline);
  const True woke = context().timeline.went_on(id_);
  if (context().now() > std::max(due, woke))
    context().violated("loss is reported by the deadline", named(lease) + " was reported late");
  if (context().now() < due)
    context().violated("a temporary failure is not a loss", named(lease) + " was lost before its deadline");
  const bool on_time = context().now() == due;
  const bool tried = clock_.at(woke) > lease.tried || now() - lease.tried <= lease.ttl / 10 + one_hung_round;
  if (lease.kept && lease.ttl > 2 * one_hung_round && !tried) {
    context().violated("a renewal is repeated until the deadline",
                       named(lease) + " was lost, and no renewal had been tried shortly before");
  }
  context().sometimes(on_time ? Sometimes::lost_at_the_deadline : Sometimes::lost_while_paused);
  if (on_time && !ledger().was_broken(lease.attempt_id) &&
      !world_.server.backs(lease.key, lease.owner, lease.token)) {
    context().violated("the store backs a held lease",
                       named(lease) + " counted as held until its deadline, but the store ended it earlier");
  }
}

void Process::check_leaving(const Message& release, int others) {
  if (release.place == Millis::zero() || others == 0) return;
  context().violated("a place is kept while somebody wants it",
                     "process " + std::to_string(id_) + " gave up its place for k" +
                         std::to_string(release.key) + " while other threads of it wait");
}

void Process::believes(Lease& lease, Instant deadline) {
  if (lease.phase != Lease::Phase::held) return;
  if (lease.deadline == Instant{}) ++holding_;
  lease.deadline = deadline;
  world_.beliefs.believes(lease.attempt_id, lease.key, id_, clock_.when(deadline));
}

void Process::stops_believing(Lease& lease, Lease::Phase phase) {
  lease.phase = phase;
  --holding_;
  world_.beliefs.ends(lease.attempt_id);
  ledger().over(lease.attempt_id, false);
}

}  // namespace holdfast::sim
