// SPDX-License-Identifier: Apache-2.0
#include "sim/keeper.h"

#include <algorithm>

#include "core/timing.h"
#include "core/verdicts.h"
#include "sim/process.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

constexpr Millis last_pending_releases = 500ms;
constexpr Millis pending_release_pause = 100ms;

}  // namespace

Keeper::Keeper(Process& process, Line& line)
    : process_(process),
      context_(process.context()),
      line_(line),
      renewal_doze_(process.doze()),
      deadline_doze_(process.doze()),
      renewal_task_(renewal_task()),
      deadline_task_(deadline_task()) {}

void Keeper::start() {
  renewal_task_.start();
  deadline_task_.start();
}

void Keeper::ring_if_needed() {
  renewal_doze_.ring();
  deadline_doze_.ring();
}

void Keeper::keep(const std::shared_ptr<Lease>& lease, const core::Belief& belief) {
  lease->id = ++last_id_;
  lease->ttl = belief.ttl();
  process_.believes(*lease, belief.deadline());
  keeping_.add(lease->id, belief);
  leases_.emplace(lease->id, lease);
  ring_if_needed();
}

void Keeper::drop(const Lease& lease) {
  keeping_.remove(lease.id);
  leases_.erase(lease.id);
}

bool Keeper::renewed_by_hand(Lease& lease, Millis ttl, Instant sent, Millis remaining) {
  keeping_.set_ttl(lease.id, ttl);
  lease.ttl = ttl;
  const bool believed = renewed(lease, sent, remaining);
  if (believed) ring_if_needed();
  return believed;
}

bool Keeper::extended_by_hand(Lease& lease, Millis more, Instant sent, Millis remaining) {
  const bool believed = believe(lease, keeping_.extended(lease.id, more, sent, remaining, process_.now()));
  if (believed) ring_if_needed();
  return believed;
}

bool Keeper::renewed(Lease& lease, Instant sent, Millis remaining) {
  const bool believed = believe(lease, keeping_.renewed(lease.id, sent, remaining, process_.now()));
  if (!believed && context_.is(Mutant::lost_is_not_final) && lease.phase != Lease::Phase::released) {
    drop(lease);
    lease.phase = Lease::Phase::held;
    process_.believes(lease, core::deadline_of(sent, remaining, process_.margin_of(remaining)));
  }
  return believed;
}

bool Keeper::believe(Lease& lease, std::optional<Instant> deadline) {
  if (!deadline) {
    if (lease.phase != Lease::Phase::released)
      context_.sometimes(Sometimes::renewal_arrived_too_late_to_believe);
    return false;
  }
  if (lease.in_jeopardy) context_.sometimes(Sometimes::in_jeopardy_and_recovered);
  if (lease.failed_renewals >= 2) context_.sometimes(Sometimes::renewed_after_two_failures);
  lease.in_jeopardy = false;
  lease.failed_renewals = 0;
  process_.believes(lease, *deadline);
  return true;
}

void Keeper::lose(const std::shared_ptr<Lease>& lease, Loss reason) {
  if (lease->phase != Lease::Phase::held) return;
  const bool broken = process_.ledger().was_broken(lease->attempt_id);
  if (broken) context_.sometimes(Sometimes::lost_because_broken);
  if (!broken && process_.now() < lease->deadline) {
    context_.violated("the store backs a held lease", "the store says that attempt " +
                                                          std::to_string(lease->attempt_id) +
                                                          " lost its lease (" + holdfast::to_string(reason) +
                                                          "), but the client counts it as held");
  }
  process_.stops_believing(*lease, Lease::Phase::lost);
  drop(*lease);
}

void Keeper::pending_release(const Message& message, Instant at, Instant give_up) {
  pending_releases_.emplace(at, PendingRelease{message, give_up});
  renewal_doze_.ring();
}

Task<> Keeper::renewal_task() {
  while (true) {
    const Instant now = process_.now();
    Leases due;
    for (const auto id : keeping_.due(now, renewals_at_once_.now())) due.push_back(leases_.at(id));
    if (!due.empty()) co_await renew(std::move(due));
    co_await send_pending_releases(now);
    Instant next = keeping_.next_renewal();
    if (!pending_releases_.empty()) next = std::min(next, pending_releases_.begin()->first);
    co_await renewal_doze_.until(next);
  }
}

Task<> Keeper::renew(Leases due) {
  std::vector<Message> messages;
  const Instant sent = process_.now();
  Instant until = keeping_.time_for_a_call(sent), last_deadline = Instant::min();
  for (const auto& lease : due) {
    lease->tried = sent;
    messages.push_back({.verb = Verb::renew,
                        .key = lease->key,
                        .owner = lease->owner,
                        .token = lease->token,
                        .ttl = lease->ttl,
                        .attempt_id = lease->attempt_id});
    until = std::min(until, clamped_add(sent, core::attempt_limit(lease->ttl)));
    last_deadline = std::max(last_deadline, lease->deadline);
  }
  until = std::min(until, last_deadline);
  in_flight_ = true;
  const auto replies = co_await line_.apply(std::move(messages), until);
  in_flight_ = false;
  deadline_doze_.ring();
  if (!replies) {
    renewals_at_once_.failed(due.size());
    for (const auto& lease : due) not_renewed(lease);
    co_return;
  }
  renewals_at_once_.answered(due.size(), std::chrono::floor<Millis>(until - sent), process_.now() - sent);
  if (due.size() > 1) context_.sometimes(Sometimes::renewed_in_one_batch_with_others);
  const Instant counted_from = context_.is(Mutant::deadline_from_the_reply) ? process_.now() : sent;
  for (std::size_t i = 0; i < due.size(); ++i) settle(due[i], (*replies)[i], counted_from);
}

void Keeper::not_renewed(const std::shared_ptr<Lease>& lease) {
  ++lease->failed_renewals;
  if (context_.is(Mutant::renewals_not_repeated)) return keeping_.stop_renewing(lease->id);
  if (context_.is(Mutant::one_failure_is_loss) && lease->phase == Lease::Phase::held) {
    process_.told_lost(*lease);
    process_.stops_believing(*lease, Lease::Phase::lost);
    return drop(*lease);
  }
  keeping_.failed(lease->id, process_.now(), context_.dice.fraction());
}

void Keeper::settle(const std::shared_ptr<Lease>& lease, const Reply& reply, Instant sent) {
  if (reply.verdict == Verdict::granted) {
    renewed(*lease, sent, reply.remaining);
    return;
  }
  lose(lease, core::lost_by(reply, {lease->owner}, lease->token).reason);
}

Task<> Keeper::send_pending_releases(Instant now) {
  std::vector<PendingRelease> due;
  auto it = pending_releases_.begin();
  const auto end = pending_releases_.upper_bound(now);
  for (; it != end && due.size() < releases_at_once_.now(); ++it) due.push_back(it->second);
  pending_releases_.erase(pending_releases_.begin(), it);
  if (due.empty()) co_return;
  std::vector<Message> messages;
  for (PendingRelease& e : due) {
    if (e.again) context_.sometimes(Sometimes::pending_release_tried_again);
    // Somebody else of this process may have come to the gate since: the place is theirs now.
    const bool inherited = e.message.place > Millis::zero() && process_.gates().inherits(e.message.key);
    if (inherited && !context_.is(Mutant::pending_releases_leave_blindly)) e.message.place = Millis::zero();
    process_.check_leaving(e.message, process_.gates().size(e.message.key));
    messages.push_back(e.message);
  }
  const Instant sent = process_.now();
  const Instant until = std::min(clamped_add(sent, last_pending_releases), keeping_.time_for_a_call(sent));
  const auto replies = co_await line_.apply(std::move(messages), until);
  if (replies) {
    releases_at_once_.answered(due.size(), std::chrono::floor<Millis>(until - sent), process_.now() - sent);
    co_return;
  }
  releases_at_once_.failed(due.size());
  const auto waiting = pending_releases_.upper_bound(now);
  for (auto other = pending_releases_.begin(); other != waiting; ++other) due.push_back(other->second);
  pending_releases_.erase(pending_releases_.begin(), waiting);
  for (PendingRelease& e : due) {
    e.again = true;
    if (now < e.give_up) pending_releases_.emplace(clamped_add(now, pending_release_pause), std::move(e));
  }
}

Task<> Keeper::deadline_task() {
  while (true) {
    const bool held_up = context_.is(Mutant::loss_after_the_renewal) && in_flight_;
    if (!held_up) {
      for (const auto& [id, is_lost] : keeping_.take_events(process_.now())) {
        const auto lease = leases_.at(id);
        if (is_lost) {
          leases_.erase(id);
          process_.told_lost(*lease);
          process_.stops_believing(*lease, Lease::Phase::lost);
          context_.note(
              {.process = process_.id(), .what = "lost", .key = lease->key, .attempt_id = lease->attempt_id});
        } else {
          lease->in_jeopardy = true;
          context_.sometimes(Sometimes::in_jeopardy);
        }
      }
    }
    co_await deadline_doze_.until(held_up ? Instant::max() : keeping_.next_event());
  }
}

}  // namespace holdfast::sim
