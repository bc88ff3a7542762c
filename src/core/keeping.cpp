// SPDX-License-Identifier: Apache-2.0
#include "core/keeping.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/timing.h"

namespace holdfast::core {
namespace {

// The time limit of a batch is that of its shortest-lived lease, and a batch may fail as a whole.
bool travel_together(const Belief& a, const Belief& b) {
  const Millis call_a = attempt_limit(a.ttl()), call_b = attempt_limit(b.ttl());
  return call_a <= 2 * call_b && call_b <= 2 * call_a && a.failing() == b.failing();
}

template <class Index>
typename Index::node_type new_node() {
  Index made;
  return made.extract(made.emplace().first);
}

template <class Index>
void put(Index& index, typename Index::node_type& node, typename Index::value_type value) {
  node.value() = value;
  index.insert(std::move(node));
}

template <class Index>
void take(Index& index, typename Index::node_type& node, const typename Index::value_type& value) {
  if (auto found = index.extract(value)) node = std::move(found);
}

}  // namespace

void Keeping::add(Id id, Belief belief, Group group) {
  Entry entry{.belief = belief,
              .group = group,
              .in_renewals = new_node<Index>(),
              .in_urgent = new_node<Index>(),
              .in_events = new_node<Index>()};
  const auto [it, added] = entries_.emplace(id, std::move(entry));
  assert(added);
  index(id, it->second);
}

void Keeping::remove(Id id) {
  const auto it = entries_.find(id);
  if (it == entries_.end()) return;
  unindex(id, it->second);
  entries_.erase(it);
}

const Belief* Keeping::find(Id id) const {
  const auto it = entries_.find(id);
  return it == entries_.end() ? nullptr : &it->second.belief;
}

void Keeping::index(Id id, Entry& entry) {
  entry.renewal = entry.in_flight ? Instant::max() : entry.belief.renew_at();
  entry.renew_by = entry.belief.renew_by();
  entry.event = entry.in_jeopardy ? entry.belief.deadline() : entry.belief.jeopardy_at();
  if (entry.renewal != Instant::max()) {
    put(renewals_, entry.in_renewals, {entry.renewal, id});
    put(urgent_, entry.in_urgent, {entry.renew_by, id});
  }
  if (entry.event != Instant::max()) put(events_, entry.in_events, {entry.event, id});
}

void Keeping::unindex(Id id, Entry& entry) {
  take(renewals_, entry.in_renewals, {entry.renewal, id});
  take(urgent_, entry.in_urgent, {entry.renew_by, id});
  take(events_, entry.in_events, {entry.event, id});
}

std::vector<Keeping::Id> Keeping::due(Instant now, std::size_t most) {
  std::vector<Id> due;
  if (next_renewal() > now) return due;
  const Belief* first = nullptr;
  Group group = nullptr;
  for (const auto& [by, id] : urgent_) {
    const Entry& entry = entries_.at(id);
    const Belief& belief = entry.belief;
    // Renewing a little early costs nothing and makes fewer, larger batches.  But the first of a batch must
    // be due: a lease that failed is retried only when its pause is over, and the others come first.
    if (belief.renew_at() > (first == nullptr ? now : clamped_add(now, belief.early()))) {
      if (first != nullptr && by > now + std::chrono::hours(1)) break;
      continue;
    }
    if (first == nullptr) {
      first = &belief;
      group = entry.group;
      if (group != nullptr) most = group->now();
    }
    if (entry.group != group) continue;
    if (due.size() == most || !travel_together(*first, belief)) break;
    due.push_back(id);
  }
  rest_from_ = rest_until_ = now;
  if (first == nullptr) return due;
  // More leases are due than fit into one call.  Spread them over a fifth of their ttl, unless they are later
  // than that already.
  const Millis spread = 2 * first->early();
  if (due.size() == most && now < clamped_add(first->renew_at(), spread))
    rest_until_ += spread * due.size() / renewals_.size();
  for (const Id id : due) {
    Entry& entry = entries_.at(id);
    unindex(id, entry);
    entry.in_flight = true;
    index(id, entry);
  }
  return due;
}

std::optional<Instant> Keeping::renewed(Id id, Instant sent, Millis remaining, Instant now, bool by_hand) {
  return believe(id, [&](Belief& belief) { return belief.renewed(sent, remaining, now, by_hand); });
}

std::optional<Instant> Keeping::extended(Id id, Millis more, Instant sent, Millis remaining, Instant now) {
  return believe(id, [&](Belief& belief) { return belief.extended(more, sent, remaining, now); });
}

template <class Change>
std::optional<Instant> Keeping::believe(Id id, Change change) {
  const auto it = entries_.find(id);
  if (it == entries_.end()) return std::nullopt;
  Entry& entry = it->second;
  unindex(id, entry);
  entry.in_flight = false;
  const bool believed = change(entry.belief);
  if (believed) entry.in_jeopardy = false;
  index(id, entry);
  if (!believed) return std::nullopt;
  return entry.belief.deadline();
}

void Keeping::failed(Id id, Instant now, double jitter) {
  const auto it = entries_.find(id);
  if (it != entries_.end()) failed(id, it->second, now, jitter);
}

void Keeping::all_failed(Instant now, double jitter) {
  for (auto& [id, entry] : entries_) {
    if (entry.in_flight) failed(id, entry, now, jitter);
  }
}

void Keeping::failed(Id id, Entry& entry, Instant now, double jitter) {
  unindex(id, entry);
  entry.in_flight = false;
  entry.belief.failed(now, jitter);
  index(id, entry);
  if (entry.belief.renew_at() == Instant::max()) return;
  rest_from_ = now;
  rest_until_ = now + (entry.belief.renew_at() - now) /
                          2;  // shorter than the pause of this lease, so that the others come first
}

void Keeping::set_ttl(Id id, Millis ttl) {
  const auto it = entries_.find(id);
  if (it == entries_.end()) return;
  unindex(id, it->second);
  it->second.belief.set_ttl(ttl);
  index(id, it->second);
}

void Keeping::stop_renewing(Id id) {
  const auto it = entries_.find(id);
  if (it == entries_.end()) return;
  unindex(id, it->second);
  it->second.in_flight = false;
  it->second.belief.stop_renewing();
  index(id, it->second);
}

std::vector<Keeping::Event> Keeping::take_events(Instant now, std::size_t most) {
  std::vector<Event> happened;
  std::size_t room = 0;
  for (auto it = events_.begin(); room < most && it != events_.end() && it->first <= now; ++it) ++room;
  happened.reserve(room);
  while (happened.size() < most && !events_.empty() && events_.begin()->first <= now) {
    const Id id = events_.begin()->second;
    Entry& entry = entries_.at(id);
    // A lease that is in jeopardy and lost at the same time yields the loss only, in order of its deadline.
    const bool lost = entry.event == entry.belief.deadline();
    if (lost || entry.belief.deadline() > now) happened.push_back({id, lost});
    unindex(id, entry);
    if (lost) {
      entries_.erase(id);
      continue;
    }
    entry.in_jeopardy = true;
    index(id, entry);
  }
  return happened;
}

Instant Keeping::time_for_a_call(Instant now) const {
  if (urgent_.empty()) return Instant::max();
  const Belief& next = entries_.at(urgent_.begin()->second).belief;
  return clamped_add(std::max(now, next.renew_at()), attempt_limit(next.ttl()));
}

Instant Keeping::next_renewal() const {
  if (renewals_.empty()) return Instant::max();
  return std::max(renewals_.begin()->first, std::min(rest_until_, time_for_a_call(rest_from_)));
}

Instant Keeping::next_event() const { return events_.empty() ? Instant::max() : events_.begin()->first; }

}  // namespace holdfast::core
