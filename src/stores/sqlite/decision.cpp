// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/decision.h"

#include <algorithm>

#include "core/row.h"

namespace holdfast::sqlite {
namespace {

// A lease that is extended again and again ends at the latest then: far from where 64 bits end.
constexpr std::int64_t latest_end = std::int64_t{1} << 62;

}  // namespace

Reply Decision::answer(Verdict verdict, const Row& row) {
  const Micros now = connection_.boottime();
  return {.verdict = verdict,
          .token = row.token,
          .owner = row.owner,
          .remaining = row.live(now) ? remaining(row.end, now) : Millis::zero(),
          .now = StoreTime{now.count()}};
}

Reply Decision::busy(const Row& row, const std::vector<Place>& queue, const Place* first) {
  Reply reply = answer(Verdict::busy, row);
  const auto ours = std::find_if(queue.begin(), queue.end(), [&](const Place& p) { return is_us(p); });
  reply.ahead = static_cast<std::uint32_t>(ours - queue.begin());
  if (first) {  // free, but not for us
    reply.owner.clear();
    reply.remaining = remaining(first->until, connection_.boottime());
  }
  return reply;
}

Reply Decision::acquire(const Request& r) {
  const Micros now = connection_.boottime();
  rows_.drop_places(r.key);
  Row row = rows_.look(r.key);
  if (row.live(now) && row.owner == r.owner.text) return restart(r, row);

  const bool dead = row.live(now) && is_dead(row);
  const bool taken = row.live(now) && !dead;
  std::vector<Place> queue = rows_.queue(r.key);
  if (!taken) drop_dead(r, queue);
  const auto latest = core::latest_place_end(r, now);
  const auto counts = [&](const Place& p) { return is_us(p) || !latest || p.until <= *latest; };
  const auto first = std::find_if(queue.begin(), queue.end(), counts);
  if (!taken && (first == queue.end() || is_us(*first))) {
    for (const Place& place : queue)
      if (!counts(place)) rows_.leave(r.key, place.client);
    return grant(r, row, dead);
  }
  const Reply reply = busy(row, queue, taken ? nullptr : &*first);
  if (r.place > Millis::zero()) {
    rows_.keep_place(r.key, config_.presence.client(), r.owner, now + r.place);
    config_.waits.await(r.key.text, taken ? row.client : first->client);
  }
  return reply;
}

// Those first in the queue whose process is gone; whoever is first then does not know it yet.
void Decision::drop_dead(const Request& r, std::vector<Place>& queue) {
  const auto live = std::find_if(queue.begin(), queue.end(), [&](const Place& p) {
    return config_.presence.probe(p.client) != Life::dead;
  });
  for (auto place = queue.begin(); place != live; ++place) rows_.leave(r.key, place->client);
  const bool dropped = live != queue.begin();
  queue.erase(queue.begin(), live);
  if (dropped && !queue.empty() && !is_us(queue.front())) freed_.emplace_back(r.key.text);
}

Reply Decision::grant(const Request& r, const Row& row, bool dead) {
  if (!row.owner.empty() && row.owner != r.owner.text) {
    rows_.log(r.key, row,
              {.name = "taken-over", .by = r.owner.text, .reason = dead ? "its process was dead" : ""});
  }
  Row granted{.owner = std::string(r.owner.text), .end = end_of(connection_.boottime(), r.ttl)};
  const auto wall = static_cast<std::uint64_t>(connection_.walltime().count());
  const Token last = row.token == no_token ? rows_.purged_token() : row.token;
  granted.token = Token{std::max(to_number(last) + 1, wall)};
  rows_.grant(r.key, r.owner, granted.end, granted.token);
  if (!is_plain(r)) {
    const std::string_view client = r.detached ? std::string_view{} : config_.presence.client();
    rows_.note_facts(r.key, granted.token, {.client = client, .detached = r.detached, .note = r.note});
  }
  rows_.leave(r.key, config_.presence.client());
  config_.waits.settle(r.key.text);
  if (!r.detached) config_.presence.granted();
  return answer(Verdict::granted, granted);
}

// Our client's place stays: it is for others of us.
Reply Decision::restart(const Request& r, Row& row) {
  const auto end = end_of(connection_.boottime(), r.ttl);
  // An acquire that was held up on its way must not take back what a renewal has given.
  if (row.end && (!end || *end > *row.end)) row.end = end;
  rows_.restart(r.key, row.end);
  share(r, row);
  return answer(Verdict::granted, row);
}

// Several processes may use one holder's name.  Then the death of one of them proves nothing, unless the
// others are dead already.
void Decision::share(const Request& r, const Row& row) {
  const std::string& us = config_.presence.client();
  if (row.client.empty() || (row.client == us && !r.detached)) return;
  const bool alone = !r.detached && is_dead(row);
  rows_.note_client(r.key, row.token, alone ? us : std::string_view{});
}

bool Decision::try_renew(const Request& r, Reply& reply) {
  Cursor cursor = connection_.run(Sql::renew, r.key.text, r.owner.text, to_number(r.token), length_of(r.ttl),
                                  r.extend, latest_end);
  if (cursor.finish() == 0) return false;
  Row row{.owner = std::string(r.owner.text),
          .token = Token{static_cast<std::uint64_t>(connection_.told_number(1))}};
  if (const auto end = connection_.told(0)) row.end = Micros(*end);
  reply = answer(Verdict::granted, row);
  return true;
}

Reply Decision::renew(const Request& r) {
  const Row row = rows_.look(r.key);
  Reply reply;
  if (!try_renew(r, reply)) return answer(Verdict::lost, row);
  share(r, row);
  return reply;
}

bool Decision::try_release(const Request& r, Reply& reply) {
  Cursor cursor = connection_.run(Sql::release, r.key.text, r.owner.text, to_number(r.token),
                                  std::string_view(config_.presence.client()));
  if (cursor.finish() == 0) return false;
  const Row free{.token = Token{static_cast<std::uint64_t>(connection_.told_number(0))}};
  if (connection_.told_number(1) != 0) freed_.emplace_back(r.key.text);
  if (is_ours(r.owner) || connection_.told_number(2) != 0) config_.presence.released();
  reply = answer(Verdict::released, free);
  return true;
}

Reply Decision::release(const Request& r) {
  rows_.drop_places(r.key);
  const std::vector<Place> queue = rows_.queue(r.key);
  if (r.place > Millis::zero()) {
    rows_.leave(r.key, config_.presence.client());
    config_.waits.settle(r.key.text);
  }
  Reply reply;
  if (try_release(r, reply)) return reply;
  const Row row = rows_.look(r.key);
  const bool was_first = !queue.empty() && is_us(queue.front());
  const bool left_it_free = r.place > Millis::zero() && !row.live(connection_.boottime());
  if (was_first && left_it_free) freed_.emplace_back(r.key.text);
  return answer(Verdict::lost, row);
}

Reply Decision::evict(const Request& r) {
  Row row = rows_.look(r.key);
  if (!row.live(connection_.boottime()) || row.token != r.token) return answer(Verdict::lost, row);
  rows_.log(r.key, row, {.name = "broken", .by = r.owner.text, .reason = r.note});
  rows_.evict(r.key);
  row.owner.clear();
  freed_.emplace_back(r.key.text);
  return answer(Verdict::released, row);
}

}  // namespace holdfast::sqlite
