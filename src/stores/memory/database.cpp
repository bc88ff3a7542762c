// SPDX-License-Identifier: Apache-2.0
#include "stores/memory/database.h"

#include <sys/eventfd.h>

#include "base/time.h"
#include "core/row.h"

namespace holdfast::memory {
namespace {

using core::Place;
using core::Record;

// `now - by`, or the beginning of time.
Micros earlier(Micros now, Millis by) {
  return by >= std::chrono::floor<Millis>(now) ? Micros::zero() : now - by;
}

std::uint64_t drop_dead_places(Record& record, Micros now) {
  return std::erase_if(record.queue, [&](const Place& p) { return !core::place_is_live(p.until, now); });
}

}  // namespace

Reply Database::apply(const Request& request, const std::string& client) {
  const core::LeaseMoment moment{.now = now(), .wall = wall().time_since_epoch(), .purged = purged_};
  auto it = records_.find(request.key.text);
  if (it == records_.end()) {
    if (request.verb != Verb::acquire)
      return {.verdict = Verdict::lost, .now = StoreTime{moment.now.count()}};
    it = records_.emplace(std::string(request.key.text), Record{}).first;
  }
  core::Outcome outcome = core::decide(request, client, it->second, moment);
  if (outcome.log) log_.push_back(*std::move(outcome.log));
  if (outcome.ring) ring(*outcome.ring, request.key.text);
  return std::move(outcome.reply);
}

void Database::ring(const std::string& client, std::string_view key) {
  if (ring_) return ring_(client, std::string(key));
  if (const auto listener = listeners_.find(client); listener != listeners_.end())
    eventfd_write(listener->second, 1);
}

Page Database::list(const Query& q) {
  const Micros now = this->now();
  Page page;
  const auto wanted = [&](std::string_view key) {
    return q.exact ? key == q.prefix : key.starts_with(q.prefix);
  };
  if (q.what == Query::What::log) {
    for (auto it = log_.rbegin(); it != log_.rend() && page.log.size() < q.limit; ++it) {
      if (wanted(it->key)) page.log.push_back(*it);
    }
    return page;
  }
  for (auto& [key, record] : records_) {
    if (!wanted(key) || key <= q.after) continue;
    drop_dead_places(record, now);
    if (q.what == Query::What::places) {
      for (const Place& p : record.queue) {
        if (page.places.size() == q.limit) return page;
        page.places.push_back({key, p.client, p.owner, core::remaining(p.until, now)});
      }
      continue;
    }
    if (!q.free && !q.exact && record.owner.empty() && record.queue.empty()) continue;
    page.leases.push_back({.key = key,
                           .owner = record.owner,
                           .token = record.token,
                           .remaining = record.live(now) ? core::remaining(record.end, now) : Millis::zero(),
                           .ttl = record.live(now) ? record.ttl : std::nullopt,
                           .since = moment_or_none(record.since),
                           .note = record.note,
                           .detached = record.detached,
                           .waiting = static_cast<std::uint32_t>(record.queue.size())});
    if (page.leases.size() == q.limit) break;
  }
  return page;
}

Purged Database::purge(const Purge& what) {
  const Micros now = this->now(), wall = this->wall().time_since_epoch();
  Purged purged;
  for (auto& [key, record] : records_) purged.places += drop_dead_places(record, now);
  purged.keys = std::erase_if(records_, [&](const auto& entry) {
    const Record& record = entry.second;
    // Not one whose token is ahead of the clock: all new keys would have to start behind it.
    const bool behind = to_number(record.token) < static_cast<std::uint64_t>(wall.count());
    const bool free = !record.live(now) && *record.end <= earlier(now, what.free_for);
    const bool goes = free && record.queue.empty() && behind;
    if (goes) purged_ = std::max(purged_, record.token);
    return goes;
  });
  purged.log = std::erase_if(log_, [&](const LogRow& entry) {
    return entry.at.time_since_epoch() <= earlier(wall, what.log_older_than);
  });
  return purged;
}

}  // namespace holdfast::memory
