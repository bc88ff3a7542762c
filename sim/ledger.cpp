// SPDX-License-Identifier: Apache-2.0
#include "sim/ledger.h"

#include <algorithm>

namespace holdfast::sim {
namespace {

// The longest attempt, and then two rounds of a keeper whose store hangs.
constexpr Millis coming_back(8000);
constexpr Micros grain(1000);  // what a Reply's `remaining` is rounded down by

std::string named(int key, RunRequest wish) {
  return "k" + std::to_string(key) + ", request " + std::to_string(wish);
}

}  // namespace

RunRequest Ledger::make_wish(Timeline::Owner process) {
  wishes_.push_back({.process = process});
  return static_cast<RunRequest>(wishes_.size() - 1);
}

void Ledger::sent(RunRequest wish, Micros void_at) {
  RequestState& state = wishes_[index(wish)];
  state.void_at = std::max(state.void_at, void_at);
}

void Ledger::over(RunRequest wish, bool gave_up) {
  RequestState& state = wishes_[index(wish)];
  if (!state.over) state.over_since = context_.now();
  state.over = true;
  state.gave_up = gave_up;
}

void Ledger::broken(int key) {
  Row& row = rows_[index(key)];
  if (row.owner == nobody) return;
  wishes_[index(row.owner)].broken = true;
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
  if (row.owner == m.wish && row.token == reply.token) {
    context_.sometimes(Sometimes::same_token_when_the_answer_was_lost);
    if (wishes_[index(m.wish)].closed) {
      context_.violated(
          "no ghost leases",
          named(m.key, m.wish) + ": an acquire took effect after its void time and its release");
    }
  } else {
    granted_anew(m, row, process, reply, now);
  }
  row.until = now + reply.remaining;
}

void Ledger::granted_anew(const Message& m, Row& row, Timeline::Owner process, const Reply& reply,
                          Micros now) {
  const std::string who = named(m.key, m.wish);
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
                      who + " was granted the key while request " + std::to_string(row.owner) + " holds it");
  }
  if (!row.queue.empty() && row.queue.front().process != process) {
    context_.violated("first come, first served", who + " was granted while process " +
                                                      std::to_string(row.queue.front().process) +
                                                      " is first in the queue");
  }
  if (dead_skipped) context_.sometimes(Sometimes::place_of_the_dead_skipped);
  if (row.owner != nobody && row.owner != m.wish) context_.sometimes(Sometimes::taken_over_after_expiry);
  if (wishes_[index(m.wish)].over) {
    context_.sometimes(Sometimes::granted_to_a_caller_that_has_gone);
    if (!m.copy) must_be_given_back(m.wish);  // nobody can know of a copy; it lives until its ttl
  }
  if (wishes_[index(m.wish)].closed) {
    context_.violated("no ghost leases",
                      who + " was granted after its acquires were void and its release had arrived");
  }
  leave(row, process);  // a grant that is only repeated leaves the place to others of that process
  row.by_copy = m.copy;
  row.owner = m.wish;
  row.token = row.last = reply.token;
}

// Whoever lives and is awake knows that an acquire of it is still under way, and comes back to it.
void Ledger::must_be_given_back(RunRequest wish) {
  const True granted = context_.now();
  const Timeline::Owner process = wishes_[index(wish)].process;
  context_.timeline.at(granted + coming_back, Timeline::world, [this, wish, granted, process] {
    const bool awake = context_.timeline.running(process) && context_.timeline.went_on(process) < granted;
    if (!awake || wishes_[index(wish)].release_sent >= granted) return;
    context_.violated("no ghost leases",
                      "request " + std::to_string(wish) +
                          " was granted after its caller had given up, and nobody released it");
  });
}

void Ledger::turned_away(const Message& m, Row& row, Timeline::Owner process, Micros now) {
  const bool free = row.owner == nobody || row.until + grain <= now;
  if (free && (row.queue.empty() || row.queue.front().process == process)) {
    context_.violated("a free key is granted", named(m.key, m.wish) + " was told that it is busy");
  }
  if (m.place == Millis::zero()) return;
  const auto mine =
      std::find_if(row.queue.begin(), row.queue.end(), [&](const Ticket& t) { return t.process == process; });
  if (mine == row.queue.end()) {
    row.queue.push_back({process, now + m.place});
  } else {
    mine->until = now + m.place;
    context_.sometimes(Sometimes::place_refreshed);
  }
}

void Ledger::renewed(const Message& m, Row& row, const Reply& reply, Micros now) {
  if (reply.verdict != Verdict::granted) return;
  if (row.owner != m.wish || row.token != m.token) {
    context_.violated("only the holder renews and releases",
                      "a renewal of " + named(m.key, m.wish) + " renewed another's grant");
  }
  row.until = now + reply.remaining;
}

void Ledger::released(const Message& m, Row& row, Timeline::Owner process, const Reply& reply, Micros now) {
  drop_expired(row, now);
  if (m.place > Millis::zero() && leave(row, process)) context_.sometimes(Sometimes::left_the_queue);
  RequestState& wish = wishes_[index(m.wish)];
  if (wish.over && now > wish.void_at) wish.closed = true;
  if (reply.verdict != Verdict::released) return;
  if (row.owner != m.wish || (m.token != no_token && m.token != row.token)) {
    context_.violated(
        "only the holder renews and releases",
        "a release of " + named(m.key, m.wish) + " freed the lease of request " + std::to_string(row.owner));
  }
  if (m.token == no_token) context_.sometimes(Sometimes::tidying_gave_back_a_grant);
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
