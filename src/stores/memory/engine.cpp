// SPDX-License-Identifier: Apache-2.0
#include "stores/memory/engine.h"

#include <algorithm>

namespace holdfast::memory {
namespace {

bool is_in(std::span<const std::string> queues, const std::string& queue) {
  return std::find(queues.begin(), queues.end(), queue) != queues.end();
}

bool matches(const JobRow& row, const JobQuery& q) {
  return (q.id == no_job || row.id == q.id) && (q.key.empty() || row.key == q.key) &&
         (q.name.empty() || row.name == q.name) && (q.queue.empty() || row.queue == q.queue) &&
         (!q.state || row.state == *q.state) && (q.before == no_job || row.id < q.before);
}

}  // namespace

void MemoryEngine::transact(Access, Instant until, const std::function<void()>& work) {
  const std::lock_guard lock(database_->mutex());
  if (database_->now() > until.time_since_epoch())
    throw_failure({Errc::unavailable, "timed out before the request could be applied"});
  work();
}

core::JobMoment MemoryEngine::moment() { return {.now = database_->now(), .wall = database_->wall()}; }

std::optional<core::JobRecord> MemoryEngine::job(JobId id) {
  const auto found = database_->jobs().find(id);
  return found == database_->jobs().end() ? std::nullopt : std::optional(found->second);
}

template <class Wanted>
std::optional<core::JobRecord> MemoryEngine::first(const Wanted& wanted) {
  const Record* best = nullptr;
  for (const auto& [id, record] : database_->jobs()) {
    if (wanted(record) && (best == nullptr || core::before(record.row, best->row))) best = &record;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

std::optional<core::JobRecord> MemoryEngine::in_slot(std::string_view slot) {
  return first([&](const Record& r) { return r.row.slotted && core::slot_of(r.row.key) == slot; });
}

std::optional<core::JobRecord> MemoryEngine::next_due(Queues queues, Moment wall) {
  return first([&](const Record& r) {
    return r.row.state == JobState::queued && r.row.due_at <= wall && is_in(queues, r.row.queue);
  });
}

std::optional<core::JobRecord> MemoryEngine::next_expired(Queues queues, Micros now) {
  return first([&](const Record& r) {
    return r.row.state == JobState::running && r.claim_until <= now && is_in(queues, r.row.queue);
  });
}

std::optional<core::JobRecord> MemoryEngine::first_parked(std::string_view key, Moment wall) {
  return first([&](const Record& r) { return r.row.parked && r.row.key == key && r.row.due_at > wall; });
}

template <class Time, class Wanted>
std::optional<Time> MemoryEngine::earliest(Queues queues, const Wanted& wanted) {
  std::optional<Time> best;
  for (const auto& [id, record] : database_->jobs()) {
    const std::optional<Time> at = is_in(queues, record.row.queue) ? wanted(record) : std::nullopt;
    if (at && (!best || *at < *best)) best = at;
  }
  return best;
}

std::optional<Moment> MemoryEngine::earliest_due(Queues queues) {
  return earliest<Moment>(queues, [](const Record& r) {
    return r.row.state == JobState::queued ? std::optional(r.row.due_at) : std::nullopt;
  });
}

std::optional<Micros> MemoryEngine::earliest_claim_end(Queues queues) {
  return earliest<Micros>(queues, [](const Record& r) {
    return r.row.state == JobState::running ? std::optional(r.claim_until) : std::nullopt;
  });
}

JobId MemoryEngine::insert(const Record& job) {
  Record made = job;
  made.row.id = database_->next_job();
  return database_->jobs().emplace(made.row.id, std::move(made)).first->first;
}

void MemoryEngine::update(const Record& job) { database_->jobs()[job.row.id] = job; }

void MemoryEngine::erase(JobId id) { database_->jobs().erase(id); }

std::vector<core::JobRecord> MemoryEngine::find(const JobQuery& query) {
  std::vector<Record> found;
  const auto& jobs = database_->jobs();
  for (auto it = jobs.rbegin(); it != jobs.rend() && found.size() < query.limit; ++it) {
    if (matches(it->second.row, query)) found.push_back(it->second);
  }
  return found;
}

std::uint64_t MemoryEngine::erase_over(Moment finished_before, std::size_t limit) {
  std::uint64_t gone = 0;
  std::erase_if(database_->jobs(), [&](const auto& entry) {
    const JobRow& row = entry.second.row;
    const bool over =
        row.state == JobState::done || row.state == JobState::dropped || row.state == JobState::cancelled;
    return over && row.finished_at <= finished_before && gone < limit && ++gone != 0;
  });
  return gone;
}

Reply MemoryEngine::lease(const Request& request) { return database_->apply(request, client_); }

std::string MemoryEngine::lock_owner(Key lock) {
  const Page page = database_->list({.prefix = lock.text, .exact = true});
  const bool held = !page.leases.empty() && page.leases.front().remaining > Millis::zero();
  return held ? page.leases.front().owner : std::string();
}

std::optional<rows::TickRecord> MemoryEngine::tick_of(std::string_view name) {
  const auto found = database_->ticks().find(name);
  return found == database_->ticks().end() ? std::nullopt : std::optional(found->second);
}

void MemoryEngine::put_tick(std::string_view name, const rows::TickRecord& tick) {
  database_->ticks()[std::string(name)] = tick;
}

void MemoryEngine::erase_ticks(Micros until_before) {
  std::erase_if(database_->ticks(), [&](const auto& entry) {
    return entry.second.until != Micros::zero() && entry.second.until <= until_before;
  });
}

}  // namespace holdfast::memory
