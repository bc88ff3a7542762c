// SPDX-License-Identifier: Apache-2.0
#include "sim/attempt.h"

#include <cstdio>

#include "core/timing.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using core::Acquiring;

std::string name_of(AttemptId attempt_id, bool stranger) {
  char name[64];
  std::snprintf(name, sizeof name, stranger ? "stranger %d" : "host:sim pid:1 guid:%032d", attempt_id);
  return name;
}

core::AcquirePlan plan_of(const Process& process, const core::Terms& terms) {
  return {.ttl = terms.ttl,
          .margin = process.margin_of(terms.ttl),
          .wait = terms.wait,
          .attempts = terms.attempts,
          .interval = terms.interval,
          .fair = terms.fair,
          .place = process.context().plan.place,
          .push = true};
}

}  // namespace

Attempt::Attempt(Process& process, const Wants& wants)
    : process_(process),
      context_(process.context()),
      wants_(wants),
      attempt_id_(process.ledger().new_attempt(process.id())),
      owner_(name_of(attempt_id_, wants.stranger)),
      start_(process.now()),
      give_up_(clamped_add(start_, wants.terms.wait)),
      acquiring_(plan_of(process, wants.terms), start_),
      doze_(process.doze()) {}

Task<std::shared_ptr<Lease>> Attempt::run() {
  if (wants_.terms.queues()) {
    waiter_.emplace(process_.gates(), wants_.key, process_.doze());
    in_queue_.emplace(process_, attempt_id_);
    const bool in_time = co_await wait_for_turn();
    if (!in_time) co_return nullptr;
  }
  co_return co_await drive();
}

Task<bool> Attempt::wait_for_turn() {
  if (waiter_->first() || context_.is(Mutant::gate_ignored)) co_return true;
  while (!waiter_->first()) {
    if (process_.now() >= give_up_) {
      context_.sometimes(Sometimes::wait_over_at_the_gate);
      process_.ledger().over(attempt_id_, true);
      tidy({});
      co_return false;
    }
    co_await waiter_->sleep(give_up_);
  }
  context_.sometimes(Sometimes::handed_over_at_the_gate);
  co_return true;
}

Task<std::shared_ptr<Lease>> Attempt::drive() {
  while (true) {
    const auto step = acquiring_.next(process_.now(), context_.dice.fraction());
    if (const auto* to_send = std::get_if<Acquiring::Send>(&step)) {
      co_await send(*to_send);
    } else if (const auto* to_sleep = std::get_if<Acquiring::Sleep>(&step)) {
      slept_ = true;
      Instant until = to_sleep->until;
      const bool deaf =
          context_.is(Mutant::nothing_but_the_listener) || context_.is(Mutant::neither_listener_nor_poll);
      if (waiter_ && deaf) until = Instant::max();
      if (waiter_)
        co_await waiter_->sleep(until);
      else
        co_await doze_.until(until);
      woken_ = process_.now() < until;
      if (waiter_ && woken_) {
        context_.sometimes(Sometimes::woken_by_a_notification);
        acquiring_.ready();
      }
    } else {
      const auto& done = std::get<Acquiring::Done>(step);
      if (!done.failed) co_return grant(done.tidy_again);
      const bool taken_late = context_.is(Mutant::late_grants_taken) && done.failed == Errc::too_late;
      if (taken_late) co_return grant({});
      process_.ledger().over(attempt_id_, true);
      note_failure(done);
      if (!context_.is(Mutant::unknown_is_failure)) tidy(done);
      co_return nullptr;
    }
  }
}

Task<> Attempt::send(Acquiring::Send step) {
  sent_ = process_.now();
  if (!waiter_) {
    if (const auto queue = process_.gates().queue_at(wants_.key)) {
      context_.sometimes(Sometimes::turned_away_by_the_own_queue);
      acquiring_.answered(sent_, process_.now(), *queue);
      co_return;
    }
  }
  if (waiter_ && step.place > 0ms) waiter_->queueing();
  Message message{.verb = Verb::acquire,
                  .key = wants_.key,
                  .owner = owner_,
                  .ttl = wants_.terms.ttl,
                  .place = step.place,
                  .attempt_id = attempt_id_};
  auto reply = co_await process_.send(std::move(message), step.until);
  if (!reply && context_.is(Mutant::unknown_is_success))
    reply = Reply{.verdict = Verdict::granted, .token = Token{1}};
  if (!reply) {
    context_.note({.process = process_.id(),
                   .what = "no answer",
                   .key = wants_.key,
                   .attempt_id = attempt_id_,
                   .more = holdfast::to_string(reply.error().code)});
    acquiring_.failed(process_.now(), reply.error());
    co_return;
  }
  reply_ = *reply;
  if (waiter_ && reply_.verdict == Verdict::busy) {
    waiter_->heard(reply_);
    if (!context_.is(Mutant::neither_listener_nor_poll)) process_.gates().listen();
  }
  if (context_.is(Mutant::deadline_from_the_reply)) sent_ = process_.now();
  acquiring_.answered(sent_, process_.now(), reply_);
}

std::shared_ptr<Lease> Attempt::grant(std::optional<Instant> unclear_until) {
  const core::Terms& terms = wants_.terms;
  const auto lease = std::make_shared<Lease>(
      Lease{.attempt_id = attempt_id_, .key = wants_.key, .owner = owner_, .token = reply_.token});
  const core::KeepPlan plan{.ttl = terms.ttl,
                            .keep = terms.keep,
                            .renew_every = terms.renew_every,
                            .max_renewals = terms.max_renewals,
                            .margin = process_.margin()};
  lease->kept = terms.keep && !terms.max_renewals && terms.renew_every == Millis::zero();
  lease->tried = sent_;
  lease->unclear_until = unclear_until;
  const core::Belief belief(plan, sent_, reply_.remaining);
  if (belief.deadline() - process_.now() < terms.ttl / 2) {
    context_.violated("a grant has half of its ttl left",
                      "attempt " + std::to_string(attempt_id_) + " was granted with less");
  }
  if (waiter_ && !waiter_->first()) {
    context_.violated("first come, first served", "attempt " + std::to_string(attempt_id_) +
                                                      " was granted before earlier ones of its own process");
  }
  if (waiter_) waiter_->granted();
  process_.keeper().keep(lease, belief);
  context_.note({.process = process_.id(),
                 .what = "is granted",
                 .key = wants_.key,
                 .attempt_id = attempt_id_,
                 .token = reply_.token});
  if (acquiring_.attempts() == 1)
    context_.sometimes(Sometimes::granted_at_the_first_attempt);
  else if (waiter_ && slept_)
    context_.sometimes(woken_ ? Sometimes::granted_after_waiting_in_the_queue
                              : Sometimes::granted_to_a_waiter_without_a_notification);
  else if (slept_)
    context_.sometimes(terms.fair ? Sometimes::granted_on_schedule
                                  : Sometimes::granted_out_of_order_on_request);
  return lease;
}

void Attempt::note_failure(const Acquiring::Done& done) {
  context_.note({.process = process_.id(),
                 .what = "gives up",
                 .key = wants_.key,
                 .attempt_id = attempt_id_,
                 .more = holdfast::to_string(*done.failed)});
  switch (*done.failed) {
    case Errc::busy: context_.sometimes(Sometimes::busy_and_not_waited); break;
    case Errc::timeout: context_.sometimes(Sometimes::wait_over_in_the_queue); break;
    case Errc::exhausted: context_.sometimes(Sometimes::schedule_exhausted); break;
    case Errc::too_late: context_.sometimes(Sometimes::too_late_and_given_back); break;
    case Errc::in_doubt: context_.sometimes(Sometimes::in_doubt_to_the_end); break;
    case Errc::unavailable: break;
    case Errc::stopped:
    case Errc::lost:
    case Errc::refused:
    case Errc::unprepared:
    case Errc::invalid:
    case Errc::forked:
      context_.violated("known outcomes", std::string("an acquire ended with ") +
                                              holdfast::to_string(*done.failed) +
                                              ", which nothing in the simulator can cause");
      break;
  }
}

// Gives back what may have been granted, and leaves the queue if nobody else of us waits.
void Attempt::tidy(const Acquiring::Done& done) {
  const bool last = waiter_ && waiter_->leave();
  if (!done.tidy && !last) return;
  context_.sometimes(Sometimes::tidied);
  const bool leave =
      context_.is(Mutant::queue_left_for_all) || (last && !context_.is(Mutant::queue_not_left));
  const Message release{.verb = Verb::release,
                        .key = wants_.key,
                        .owner = owner_,
                        .place = leave ? 1ms : 0ms,
                        .attempt_id = attempt_id_};
  process_.check_leaving(release, process_.gates().size(wants_.key));
  const Instant now = process_.now();
  process_.pending_release(release, now, wants_.terms.ttl);
  if (!done.tidy_again || *done.tidy_again <= now || context_.is(Mutant::tidied_once_only)) return;
  context_.sometimes(Sometimes::tidied_again);
  process_.pending_release(release, *done.tidy_again + 1ms, wants_.terms.ttl);
}

}  // namespace holdfast::sim
