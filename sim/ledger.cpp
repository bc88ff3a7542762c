// SPDX-License-Identifier: Apache-2.0
#include "sim/ledger.h"

#include <algorithm>

namespace holdfast::sim {
namespace {

// The longest attempt, and then two rounds of a keeper whose store hangs.
constexpr Millis coming_back(8000);
constexpr Micros grain(1000);  // what a Reply's `remaining` is rounded down by

std::string text_of(int key, AttemptId attempt_id) {
  return "k" + std::to_string(key) + ", attempt " + std::to_string(attempt_id);
}

Micros end_of(Micros now, const Reply& reply) {
  return reply.remaining == never ? Micros::max() : now + reply.remaining;
}

}  // namespace

AttemptId Ledger::new_attempt(Timeline::Owner process, Kind kind) {
  attempts_.push_back({.process = process, .kind = kind});
  return static_cast<AttemptId>(attempts_.size() - 1);
}

void Ledger::sent(AttemptId attempt_id, const std::string& owner, Micros void_at) {
  owners_.emplace(owner, attempt_id);
  AttemptState& state = attempts_[index(attempt_id)];
  state.void_at = std::max(state.void_at, void_at);
}

// A release of an earlier grant gives back no later one.
void Ledger::release_sent(AttemptId attempt_id, int key, Token token) {
  if (attempt_id == no_attempt) return;
  const Row& row = rows_[index(key)];
  if (token != no_token && row.owner == attempt_id && row.token != token) return;
  attempts_[index(attempt_id)].release_sent = context_.now();
}

void Ledger::over(AttemptId attempt_id, bool gave_up) {
  AttemptState& state = attempts_[index(attempt_id)];
  if (!state.over) state.over_since = context_.now();
  state.over = true;
  state.gave_up = gave_up;
}

void Ledger::broken(int key) {
  Row& row = rows_[index(key)];
  if (row.owner == nobody) return;
  attempts_[index(row.owner)].broken = true;
  row.owner = nobody;
}

void Ledger::applied(const Message& m, Timeline::Owner process, const Reply& reply, Micros now) {
  Row& row = rows_[index(m.key)];
  switch (m.verb) {
    case Verb::acquire: return acquired(m, row, process, reply, now);
    case Verb::renew: return renewed(m, row, reply, now);
    case Verb::release: return released(m, row, process, reply, now);
    case Verb::evict: return;
  }
}

void Ledger::acquired(const Message& m, Row& row, Timeline::Owner process, const Reply& reply, Micros now) {
  if (reply.verdict != Verdict::granted) {
    drop_expired(row, now);
    return turned_away(m, row, process, now);
  }
  if (row.owner == m.attempt_id && row.token == reply.token) {
    context_.sometimes(Sometimes::same_token_when_the_answer_was_lost);
    if (attempts_[index(m.attempt_id)].closed) {
      context_.violated(
          "no ghost leases",
          text_of(m.key, m.attempt_id) + ": an acquire took effect after its void time and its release");
    }
  } else {
    granted_anew(m, row, process, reply, now);
  }
  row.until = end_of(now, reply);
}

void Ledger::granted_anew(const Message& m, Row& row, Timeline::Owner process, const Reply& reply,
                          Micros now) {
  const std::string who = text_of(m.key, m.attempt_id);
  const bool dead_skipped = drop_expired(row, now);
  if (reply.token <= row.last) {
    context_.violated("tokens rise", who + " was granted with token " +
                                         std::to_string(to_number(reply.token)) + " after token " +
                                         std::to_string(to_number(row.last)));
  }
  if (to_number(reply.token) == to_number(row.last) + 1)
    context_.sometimes(Sometimes::token_rose_although_the_clock_fell);
  if (row.owner != nobody && now < row.until) {
    context_.violated("one holder at a time",
                      who + " was granted the key while attempt " + std::to_string(row.owner) + " holds it");
  }
  if (!row.queue.empty() && row.queue.front().process != process) {
    context_.violated("first come, first served", who + " was granted while process " +
                                                      std::to_string(row.queue.front().process) +
                                                      " is first in the queue");
  }
  if (dead_skipped) context_.sometimes(Sometimes::place_of_the_dead_skipped);
  if (row.owner != nobody && row.owner != m.attempt_id)
    context_.sometimes(Sometimes::taken_over_after_expiry);
  if (attempts_[index(m.attempt_id)].over) {
    context_.sometimes(Sometimes::granted_to_a_caller_that_has_gone);
    if (!m.copy && !attempts_[index(m.attempt_id)].kind.named)
      must_be_given_back(m.attempt_id);  // nobody can know of a copy; it lives until its ttl
  }
  if (attempts_[index(m.attempt_id)].closed) {
    context_.violated("no ghost leases",
                      who + " was granted after its acquires were void and its release had arrived");
  }
  leave(row, process);  // a grant that is only repeated leaves the place to others of that process
  row.by_copy = m.copy;
  row.owner = m.attempt_id;
  row.token = row.last = reply.token;
}

// Whoever lives and is awake knows that an acquire of it is still under way, and comes back to it.
void Ledger::must_be_given_back(AttemptId attempt_id) {
  const True granted = context_.now();
  const Timeline::Owner process = attempts_[index(attempt_id)].process;
  context_.timeline.at(granted + coming_back, Timeline::world, [this, attempt_id, granted, process] {
    const bool awake = context_.timeline.running(process) && context_.timeline.went_on(process) < granted;
    if (!awake || attempts_[index(attempt_id)].release_sent >= granted) return;
    if (attempts_[index(attempt_id)].freed >= granted) return;
    context_.violated("no ghost leases",
                      "attempt " + std::to_string(attempt_id) +
                          " was granted after its caller had given up, and nobody released it");
  });
}

void Ledger::turned_away(const Message& m, Row& row, Timeline::Owner process, Micros now) {
  const bool free = row.owner == nobody || row.until <= now - grain;
  if (free && (row.queue.empty() || row.queue.front().process == process)) {
    context_.violated("a free key is granted", text_of(m.key, m.attempt_id) + " was told that it is busy");
  }
  const auto mine =
      std::find_if(row.queue.begin(), row.queue.end(), [&](const Ticket& t) { return t.process == process; });
  auto& without = attempts_[index(m.attempt_id)].without_place_since;
  if (m.place > Millis::zero() || mine != row.queue.end()) without.reset();
  if (m.place == Millis::zero()) {
    const AttemptState& attempt = attempts_[index(m.attempt_id)];
    if (mine != row.queue.end() || !attempt.kind.queues || attempt.over || m.copy) return;
    if (!without) without = context_.now();
    if (m.sent - *without > context_.plan.place)
      context_.violated("waiters have a place", text_of(m.key, m.attempt_id) + " waits without one");
    return;
  }
  if (mine == row.queue.end()) {
    row.queue.push_back({process, now + m.place});
  } else {
    mine->until = now + m.place;
    context_.sometimes(Sometimes::place_refreshed);
  }
}

void Ledger::renewed(const Message& m, Row& row, const Reply& reply, Micros now) {
  if (reply.verdict != Verdict::granted) return;
  if (row.owner != m.attempt_id || (m.token != no_token && m.token != row.token)) {
    context_.violated(
        "only the holder renews and releases",
        "a renewal of " + text_of(m.key, m.attempt_id) + " by \"" + m.owner + "\" renewed another's grant");
  }
  row.until = end_of(now, reply);
}

void Ledger::released(const Message& m, Row& row, Timeline::Owner process, const Reply& reply, Micros now) {
  drop_expired(row, now);
  if (m.place > Millis::zero() && leave(row, process)) context_.sometimes(Sometimes::left_the_queue);
  if (m.attempt_id == no_attempt) return;  // it only leaves the queue
  AttemptState& attempt = attempts_[index(m.attempt_id)];
  if (attempt.over && now > attempt.void_at) attempt.closed = true;
  if (reply.verdict != Verdict::released) return;
  if (row.owner != m.attempt_id || (m.token != no_token && m.token != row.token)) {
    context_.violated("only the holder renews and releases", "a release of " + text_of(m.key, m.attempt_id) +
                                                                 " freed the lease of attempt " +
                                                                 std::to_string(row.owner));
  }
  if (m.token == no_token) context_.sometimes(Sometimes::tidying_gave_back_a_grant);
  attempts_[index(m.attempt_id)].freed = context_.now();
  row.owner = nobody;
}

// Whether somebody dead was first.
bool Ledger::drop_expired(Row& row, Micros now) {
  const bool dead_first = !row.queue.empty() && row.queue.front().until <= now &&
                          context_.timeline.dead(row.queue.front().process);
  std::erase_if(row.queue, [&](const Ticket& t) { return t.until <= now; });
  return dead_first;
}

bool Ledger::leave(Row& row, Timeline::Owner process) {
  return std::erase_if(row.queue, [&](const Ticket& t) { return t.process == process; }) != 0;
}

}  // namespace holdfast::sim
