// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/decision.h"

#include <algorithm>

namespace holdfast::sqlite {

using core::Outcome;
using core::Place;
using core::Record;

Reply Decision::answer(Verdict verdict, const Row& row) {
  Reply reply;
  core::answer(reply, verdict,
               {.token = static_cast<std::int64_t>(to_number(row.token)),
                .owner = row.owner,
                .end = row.end,
                .now = connection_.boottime()});
  return reply;
}

Outcome Decision::judge(const Request& r, Record& record, Token purged) {
  return core::decide(r, config_.presence.client(), record,
                      {.now = connection_.boottime(), .wall = connection_.walltime(), .purged = purged});
}

Reply Decision::look(const Request& r, const Row& row) {
  Record record = row.record(rows_.queue(r.key));
  return judge(r, record).reply;
}

Reply Decision::acquire(const Request& r) {
  const Micros now = connection_.boottime();
  rows_.drop_places(r.key);
  const Row row = rows_.look(r.key);
  const bool again = row.live(now) && row.owner == r.owner.text;
  const bool dead = row.live(now) && !again && is_dead(row);
  // Who has the key already does not stand in its queue.
  Record record = row.record(again ? std::vector<Place>() : rows_.queue(r.key));
  if (dead) record.end = core::last_end_before(now);
  if (!record.live(now)) drop_dead(r, record.queue);

  const std::vector<Place> queue = record.queue;
  Outcome outcome = judge(r, record, row.token == no_token ? rows_.purged_token() : no_token);
  if (again) {
    rows_.restart(r.key, record.end);
    share(r, row);
  } else if (outcome.changed) {
    if (outcome.log && dead) outcome.log->reason = "its process was dead";
    if (outcome.log) rows_.log(r.key, *outcome.log);
    grant(r, record);
    leave(r, queue, record.queue);
  } else if (outcome.place == Outcome::Place::kept) {
    keep_place(r, row, record, queue);
  }
  return std::move(outcome.reply);
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

void Decision::grant(const Request& r, const Record& record) {
  rows_.grant(r.key, r.owner, record.end, record.token);
  if (!is_plain(r)) {
    const std::string_view client = r.detached ? std::string_view{} : config_.presence.client();
    rows_.note_facts(r.key, record.token, {.client = client, .detached = r.detached, .note = r.note});
  }
  config_.waits.settle(r.key.text);
  if (!r.detached) config_.presence.granted();
}

void Decision::leave(const Request& r, const std::vector<Place>& before, const std::vector<Place>& after) {
  for (const Place& place : before) {
    const bool stays = std::any_of(after.begin(), after.end(),
                                   [&](const Place& kept) { return kept.client == place.client; });
    if (!stays) rows_.leave(r.key, place.client);
  }
}

// `queue`: without ours, if it is new.
void Decision::keep_place(const Request& r, const Row& row, const Record& record,
                          const std::vector<Place>& queue) {
  const Micros now = connection_.boottime();
  const std::string& us = config_.presence.client();
  rows_.keep_place(r.key, us, r.owner, now + r.place);
  if (record.live(now)) return config_.waits.await(r.key.text, row.client);
  const auto latest = core::latest_place_end(r, now);
  const auto first =
      std::find_if(queue.begin(), queue.end(), [&](const Place& p) { return p.counts(us, latest); });
  config_.waits.await(r.key.text, first->client);
}

// Several processes may use one holder's name.  Then the death of one of them proves nothing, unless the
// others are dead already.
void Decision::share(const Request& r, const Row& row) {
  const std::string& us = config_.presence.client();
  if (row.client.empty() || (row.client == us && !r.detached)) return;
  const bool alone = !r.detached && is_dead(row);
  rows_.note_client(r.key, row.token, alone ? us : std::string_view{});
}

Reply Decision::renew(const Request& r) {
  const Row row = rows_.look(r.key);
  Record record = row.record();
  const Outcome outcome = judge(r, record);
  if (outcome.changed) {
    rows_.restart(r.key, record.end);
    share(r, row);
  }
  return outcome.reply;
}

Reply Decision::release(const Request& r) {
  rows_.drop_places(r.key);
  const Row row = rows_.look(r.key);
  Record record = row.record(rows_.queue(r.key));
  const Outcome outcome = judge(r, record);
  if (r.place > Millis::zero()) config_.waits.settle(r.key.text);
  if (outcome.place == Outcome::Place::left) rows_.leave(r.key, config_.presence.client());
  if (outcome.changed) {
    rows_.free(r.key);
    if (is_ours(r.owner) || row.client == config_.presence.client()) config_.presence.released();
  }
  if (outcome.ring) freed_.emplace_back(r.key.text);
  return outcome.reply;
}

Reply Decision::evict(const Request& r) {
  Record record = rows_.look(r.key).record();
  const Outcome outcome = judge(r, record);
  if (!outcome.changed) return outcome.reply;
  rows_.log(r.key, *outcome.log);
  rows_.free(r.key);
  freed_.emplace_back(r.key.text);
  return outcome.reply;
}

bool Decision::try_renew(const Request& r, Reply& reply) {
  Cursor cursor = connection_.run(Sql::renew, r.key.text, r.owner.text, to_number(r.token),
                                  core::length_of(r.ttl), r.extend, core::latest_end);
  if (cursor.finish() == 0) return false;
  Row row{.owner = std::string(r.owner.text),
          .token = Token{static_cast<std::uint64_t>(connection_.told_number(1))}};
  if (const auto end = connection_.told(0)) row.end = Micros(*end);
  reply = answer(Verdict::granted, row);
  return true;
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

}  // namespace holdfast::sqlite
