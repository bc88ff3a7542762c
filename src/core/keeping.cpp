// SPDX-License-Identifier: Apache-2.0
#include "core/keeping.h"

#include <algorithm>
#include <cassert>

#include "core/deadline.h"

namespace holdfast::core {

void Keeping::add(Id id, Belief belief) {
  const auto [it, added] = entries_.emplace(id, Entry{belief});
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
  entry.alarm = entry.in_jeopardy ? entry.belief.deadline() : entry.belief.jeopardy_at();
  if (entry.renewal != Instant::max()) renewals_.emplace(entry.renewal, id);
  if (entry.alarm != Instant::max()) alarms_.emplace(entry.alarm, id);
}

void Keeping::unindex(Id id, const Entry& entry) {
  renewals_.erase({entry.renewal, id});
  alarms_.erase({entry.alarm, id});
}

std::vector<Keeping::Id> Keeping::due(Instant now) {
  std::vector<Id> due;
  if (next_renewal() > now) return due;
  // A little early costs a lease nothing, and makes fewer, larger batches.
  for (const auto& [at, id] : renewals_) {
    const Entry& entry = entries_.at(id);
    if (at <= after(now, entry.belief.early()))
      due.push_back(id);
    else if (at > now + std::chrono::hours(1))
      break;
  }
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
  if (it == entries_.end()) return;
  Entry& entry = it->second;
  unindex(id, entry);
  entry.in_flight = false;
  entry.belief.failed(now, jitter);
  index(id, entry);
}

void Keeping::set_ttl(Id id, Millis ttl) {
  if (const auto it = entries_.find(id); it != entries_.end()) it->second.belief.set_ttl(ttl);
}

void Keeping::stop_renewing(Id id) {
  const auto it = entries_.find(id);
  if (it == entries_.end()) return;
  unindex(id, it->second);
  it->second.in_flight = false;
  it->second.belief.stop_renewing();
  index(id, it->second);
}

std::vector<Keeping::Alarm> Keeping::look(Instant now) {
  std::vector<Alarm> happened;
  while (!alarms_.empty() && alarms_.begin()->first <= now) {
    const Id id = alarms_.begin()->second;
    Entry& entry = entries_.at(id);
    // Whoever is both is told of the loss only, and in its turn.
    const bool lost = entry.alarm == entry.belief.deadline();
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
  return std::max(next_renewal(), after(now, shortest_attempt));
}

Instant Keeping::next_renewal() const {
  return renewals_.empty() ? Instant::max() : renewals_.begin()->first;
}

Instant Keeping::next_alarm() const { return alarms_.empty() ? Instant::max() : alarms_.begin()->first; }

}  // namespace holdfast::core
