// SPDX-License-Identifier: Apache-2.0
#include "sim/holdings.h"

#include <algorithm>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

constexpr Millis one_hung_round = 3s;  // of the keeper: a batch and its pending releases without a reply
constexpr Millis early = 1ms;          // the stop may be requested so much before the deadline

}  // namespace

Holdings::Holding::Holding(Holdings& all, const Lease& lease, Terms terms)
    : all_(all),
      lease_(lease),
      terms_(terms),
      renewal_sent_(BootClock::now()),
      began_in_calm_(all.context_.now() > all.context_.plan.calm_from + 10s) {
  if (terms.ttl != never && lease.deadline() - BootClock::now() < terms.ttl / 2)
    all_.context_.violated("a grant has half of its ttl left", name() + " was granted with less");
  all_.begins(*this);
  told_.emplace(lease.stop_token(), Told{this});
}

Holdings::Holding::~Holding() {
  told_.reset();
  all_.holdings_.erase(terms_.attempt_id);
}

std::string Holdings::Holding::name() const {
  return "k" + std::to_string(terms_.key) + ", attempt " + std::to_string(terms_.attempt_id);
}

bool Holdings::Holding::looks_held() {
  const bool held = Threads::here().as(terms_.home, [&] { return lease_.held(); });
  if (held && over_)
    all_.context_.violated("lost is final", name() + " was not held, and counts as held again");
  return held;
}

bool Holdings::Holding::backed() {
  return all_.ledger_.was_broken(terms_.attempt_id) ||
         all_.server_.backs(terms_.key, std::string(lease_.owner()), lease_.token());
}

bool Holdings::Holding::held() {
  RunContext& context = all_.context_;
  const bool held = looks_held();
  if (held && !backed())
    context.violated("the store backs a held lease",
                     name() + " counts as held, but the store has no such lease any more");
  if (held) return true;
  const True due = terms_.home.clock->when(lease_.deadline());
  const True woke = context.timeline.went_on(terms_.home.process);
  if (!lease_.stop_token().stop_requested() && context.now() > std::max(due, woke))
    context.violated("loss is reported by the deadline",
                     name() + " is past its deadline, and no stop was requested");
  over_ = true;
  return false;
}

void Holdings::Holding::ends() {
  told_.reset();
  over_ = true;
  all_.ledger_.over(terms_.attempt_id, false);
}

// The stop was requested: on the deadline thread, or on that of a renewal by hand.
void Holdings::Holding::lost() {
  if (!all_.holdings_.contains(terms_.attempt_id)) return;  // its process was killed
  RunContext& context = all_.context_;
  const Lost why = lease_.lost();
  const bool broken = all_.ledger_.was_broken(terms_.attempt_id);
  const True due = terms_.home.clock->when(lease_.deadline() - early);
  const True woke = context.timeline.went_on(terms_.home.process);
  context.note({.process = terms_.home.process,
                .what = "lost",
                .key = terms_.key,
                .attempt_id = terms_.attempt_id,
                .more = holdfast::to_string(why.reason)});
  all_.ledger_.over(terms_.attempt_id, false);
  if (why.reason != Loss::unreachable) {
    if (broken) context.sometimes(Sometimes::lost_because_broken);
    if (!broken && context.now() < due)
      context.violated("the store backs a held lease", "the store says that " + name() + " is lost (" +
                                                           holdfast::to_string(why.reason) +
                                                           "), but the client counts it as held");
    return;
  }
  if (context.now() > std::max(terms_.home.clock->when(lease_.deadline()), woke))
    context.violated("loss is reported by the deadline", name() + " was reported late");
  if (context.now() < due)
    context.violated("a temporary failure is not a loss", name() + " was lost before its deadline");
  const bool on_time = context.now() == due;
  const Instant now = terms_.home.clock->at(context.now());
  const bool tried =
      terms_.home.clock->at(woke) > renewal_sent_ || now - renewal_sent_ <= terms_.ttl / 10 + one_hung_round;
  if (terms_.kept && terms_.ttl > 2 * one_hung_round && !tried)
    context.violated("a renewal is repeated until the deadline",
                     name() + " was lost, and no renewal had been sent shortly before");
  if (terms_.kept && began_in_calm_)
    context.violated("without a fault no lease is lost", name() + " was lost while everything worked");
  context.sometimes(on_time ? Sometimes::lost_at_the_deadline : Sometimes::lost_while_paused);
  if (on_time && !backed())
    context.violated("the store backs a held lease",
                     name() + " counted as held until its deadline, but the store ended it earlier");
}

// If an operator has broken a lease, its holder may still believe in it: two may then, and that is allowed.
void Holdings::begins(Holding& holding) {
  const Terms& terms = holding.terms_;
  if (!ledger_.was_broken(terms.attempt_id) && holding.looks_held()) {
    for (const auto& [id, other] : holdings_) {
      if (other->terms_.key != terms.key || ledger_.was_broken(id) || !other->looks_held()) continue;
      context_.violated("exclusive windows", "k" + std::to_string(terms.key) + ": attempt " +
                                                 std::to_string(terms.attempt_id) + " and attempt " +
                                                 std::to_string(id) + " count it as held at the same time");
    }
  }
  holdings_.emplace(terms.attempt_id, &holding);
}

void Holdings::renewal_sent(AttemptId attempt_id, Instant at) {
  const auto found = holdings_.find(attempt_id);
  if (found != holdings_.end()) found->second->renewal_sent_ = at;
}

void Holdings::renewals_sent(Timeline::Owner process, Instant at) {
  for (const auto& [id, holding] : holdings_) {
    if (holding->terms_.home.process == process) holding->renewal_sent_ = at;
  }
}

// What is left of it ends by itself, unseen.
void Holdings::process_died(Timeline::Owner process) {
  std::erase_if(holdings_, [&](const auto& entry) { return entry.second->terms_.home.process == process; });
}

bool Holdings::anything_of(Timeline::Owner process) const {
  return std::any_of(holdings_.begin(), holdings_.end(),
                     [&](const auto& entry) { return entry.second->terms_.home.process == process; });
}

}  // namespace holdfast::sim
