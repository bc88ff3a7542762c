// SPDX-License-Identifier: Apache-2.0
#include "stores/memory/database.h"

#include <sys/eventfd.h>

namespace holdfast::memory {
namespace {

constexpr Micros without_end = Micros::max();

Micros later(Micros now, Millis by) { return by == never ? without_end : now + by; }

// `now - by`, or the beginning of time.
Micros earlier(Micros now, Millis by) {
  return by >= std::chrono::floor<Millis>(now) ? Micros::zero() : now - by;
}

}  // namespace

Reply Database::answer(const Row& row, Verdict verdict, Micros now) const {
  Reply reply{.verdict = verdict, .token = row.token, .holder = row.holder, .now = StoreTime{now.count()}};
  if (live(row, now)) {
    reply.remaining =
        row.until == without_end ? never : std::max(std::chrono::floor<Millis>(row.until - now), Millis(1));
  }
  return reply;
}

Reply Database::apply(const Request& request, const std::string& client) {
  const Micros now = clocks_.expiry();
  auto it = rows_.find(request.key.text);
  if (it == rows_.end()) {
    if (request.verb != Verb::acquire) return {.verdict = Verdict::lost, .now = StoreTime{now.count()}};
    it = rows_.emplace(std::string(request.key.text), Row{}).first;
  }
  Row& row = it->second;
  switch (request.verb) {
    case Verb::acquire: return acquire(row, request, client, now);
    case Verb::renew: return renew(row, request, now);
    case Verb::release: return release(row, request, client, now);
    case Verb::evict: return evict(row, request, now);
  }
  return {};
}

Reply Database::acquire(Row& row, const Request& r, const std::string& client, Micros now) {
  drop_dead_places(row, now);
  if (live(row, now) && row.holder == r.holder.text) {
    row.until = std::max(row.until, later(now, r.ttl));
    return answer(row, Verdict::granted, now);
  }
  const bool first = row.queue.empty() || row.queue.front().client == client;
  if (live(row, now) || !first) {
    auto mine =
        std::find_if(row.queue.begin(), row.queue.end(), [&](const Place& p) { return p.client == client; });
    if (r.place > Millis::zero()) {
      if (mine == row.queue.end()) mine = row.queue.insert(row.queue.end(), {client, {}, {}});
      mine->holder = r.holder.text;
      mine->until = now + r.place;
    }
    Reply reply = answer(row, Verdict::busy, now);
    reply.ahead = static_cast<std::uint32_t>(mine - row.queue.begin());
    if (!live(row, now)) {
      reply.holder.clear();
      reply.remaining = std::max(std::chrono::floor<Millis>(row.queue.front().until - now), Millis(1));
    }
    return reply;
  }
  if (!row.holder.empty() && row.holder != r.holder.text) log(row, r, "taken-over");
  leave_queue(row, client);
  row.holder = r.holder.text;
  const Token last = row.token == no_token ? purged_ : row.token;
  row.token = std::max(Token{number(last) + 1}, Token{static_cast<std::uint64_t>(clocks_.wall().count())});
  row.until = later(now, r.ttl);
  row.since = clocks_.wall();
  row.note = r.note;
  row.detached = r.detached;
  return answer(row, Verdict::granted, now);
}

Reply Database::renew(Row& row, const Request& r, Micros now) {
  if (!matches(row, r, now)) return answer(row, Verdict::lost, now);
  if (row.until != without_end)
    row.until = r.extend ? later(row.until, r.ttl) : std::max(row.until, later(now, r.ttl));
  return answer(row, Verdict::granted, now);
}

Reply Database::release(Row& row, const Request& r, const std::string& client, Micros now) {
  drop_dead_places(row, now);
  const bool was_first = !row.queue.empty() && row.queue.front().client == client;
  const bool left = r.place > Millis::zero() && leave_queue(row, client);
  if (!matches(row, r, now)) {
    const Reply reply = answer(row, Verdict::lost, now);
    if (left && was_first && !live(row, now)) ring_first(row, r.key.text);  // a free key waits for its next
    return reply;
  }
  row.holder.clear();
  row.until = now;
  ring_first(row, r.key.text);
  return answer(row, Verdict::released, now);
}

Reply Database::evict(Row& row, const Request& r, Micros now) {
  if (!live(row, now) || row.token != r.token) return answer(row, Verdict::lost, now);
  log(row, r, "broken");
  row.holder.clear();
  row.until = now;
  drop_dead_places(row, now);
  ring_first(row, r.key.text);
  return answer(row, Verdict::released, now);
}

void Database::log(const Row& row, const Request& r, const char* event) {
  log_.push_back({clocks_.wall(), std::string(r.key.text), event, row.holder, row.token,
                  std::string(r.holder.text), r.verb == Verb::evict ? std::string(r.note) : std::string()});
}

void Database::ring_first(const Row& row, std::string_view key) {
  if (row.queue.empty()) return;
  const std::string& client = row.queue.front().client;
  if (ring_) return ring_(client, std::string(key));
  if (const auto bell = bells_.find(client); bell != bells_.end()) eventfd_write(bell->second, 1);
}

Page Database::list(const Query& q) {
  const Micros now = clocks_.expiry();
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
  for (auto& [key, row] : rows_) {
    if (!wanted(key) || key <= q.after) continue;
    drop_dead_places(row, now);
    if (q.what == Query::What::places) {
      for (const Place& p : row.queue) {
        if (page.places.size() == q.limit) return page;
        page.places.push_back(
            {key, p.client, p.holder, std::max(std::chrono::floor<Millis>(p.until - now), Millis(1))});
      }
      continue;
    }
    const Reply r = answer(row, Verdict::busy, now);
    page.leases.push_back({key, row.holder, row.token, r.remaining, row.since, row.note, row.detached,
                           static_cast<std::uint32_t>(row.queue.size())});
    if (page.leases.size() == q.limit) break;
  }
  return page;
}

Purged Database::purge(const Purge& what) {
  const Micros now = clocks_.expiry(), wall = clocks_.wall();
  Purged purged;
  for (auto& [key, row] : rows_) {
    const std::size_t before = row.queue.size();
    drop_dead_places(row, now);
    purged.places += before - row.queue.size();
  }
  purged.keys = std::erase_if(rows_, [&](const auto& entry) {
    const Row& row = entry.second;
    // Not one whose token is ahead of the clock: all new keys would have to start behind it.
    const bool behind = number(row.token) < static_cast<std::uint64_t>(wall.count());
    const bool goes = row.until <= earlier(now, what.free_for) && row.queue.empty() && behind;
    if (goes) purged_ = std::max(purged_, row.token);
    return goes;
  });
  purged.log = std::erase_if(
      log_, [&](const LogRow& entry) { return entry.at <= earlier(wall, what.log_older_than); });
  return purged;
}

}  // namespace holdfast::memory
