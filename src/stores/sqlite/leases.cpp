// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/leases.h"

#include <algorithm>
#include <limits>

namespace holdfast::sqlite {

using core::Outcome;
using core::Place;
using core::Record;

namespace {

std::optional<std::int64_t> ttl_in(const Record& record) {
  return record.ttl ? std::optional(record.ttl->count()) : std::nullopt;
}

}  // namespace

bool is_token(std::int64_t number) noexcept {
  return number >= 0 && number < std::numeric_limits<std::int64_t>::max();
}

Row read_row(const Cursor& cursor, int column) {
  Row row;
  row.owner = cursor.text(column);
  if (!cursor.is_null(column + 1)) row.end = Micros(cursor.number(column + 1));
  row.token = Token{static_cast<std::uint64_t>(cursor.number(column + 2))};
  if (!is_token(cursor.number(column + 2)))
    cursor.refuse(" contains an invalid token, which Holdfast did not write");
  if (!row.owner.empty() && row.token == no_token)
    cursor.refuse(" contains an owner without a token, which Holdfast did not write");
  row.client = cursor.is_null(column + 3) ? client_named_in(row.owner) : cursor.text(column + 3);
  return row;
}

Row Rows::read(Key key) {
  Cursor cursor = connection_.run(Sql::lookup, key.text);
  return cursor.next() ? read_row(cursor, 0) : Row{};
}

Token Rows::purged_token() {
  Cursor cursor = connection_.run(Sql::purged_token);
  return Token{cursor.next() ? static_cast<std::uint64_t>(cursor.number(0)) : 0};
}

std::vector<Place> Rows::queue(Key key) {
  std::vector<Place> places;
  Cursor cursor = connection_.run(Sql::queue, key.text);
  while (cursor.next()) {
    const Micros until(cursor.number(1));
    if (core::place_is_live(until, connection_.boottime()))
      places.push_back({.client = std::string(cursor.text(0)), .until = until});
  }
  return places;
}

void Rows::grant(Key key, OwnerView owner, const Record& record) {
  connection_.run(Sql::grant_key, key.text, owner.text, record.end, to_number(record.token), ttl_in(record))
      .finish();
}

void Rows::set_end(Key key, const Record& record) {
  connection_.run(Sql::set_end, key.text, record.end, ttl_in(record)).finish();
}

void Rows::free(Key key) { connection_.run(Sql::free_key, key.text).finish(); }

void Rows::set_facts(Key key, Token token, const Facts& facts) {
  connection_.run(Sql::set_facts, key.text, to_number(token), facts.client, facts.detached, facts.note)
      .finish();
}

void Rows::set_client(Key key, Token token, std::string_view client) {
  connection_.run(Sql::set_client, key.text, to_number(token), client).finish();
}

void Rows::log(Key key, const LogRow& entry) {
  connection_
      .run(Sql::add_to_log, key.text, std::string_view(entry.event), std::string_view(entry.owner),
           to_number(entry.token), std::string_view(entry.by), std::string_view(entry.reason))
      .finish();
}

void Rows::drop_expired_places(Key key) { connection_.run(Sql::drop_expired_places, key.text).finish(); }

void Rows::keep_place(Key key, std::string_view client, OwnerView waiter, Micros until) {
  connection_.run(Sql::keep_place, key.text, client, waiter.text, until).finish();
}

void Rows::leave_queue(Key key, std::string_view client) {
  connection_.run(Sql::leave_queue, key.text, client).finish();
}

void Leases::start(Instant until) {
  connection_.set_end(until);
  freed_.clear();
  connection_.require_time();
  // Others who open the path now would find another file, and hold the same keys there.
  if (!connection_.has_moved()) return;
  throw_failure({Errc::unavailable, config_.path + " was removed or replaced; open the store again"});
}

Reply Leases::decide(const Request& r) {
  Reply reply;
  if (settle(r, reply)) return reply;
  switch (r.verb) {
    case Verb::acquire: return acquire(r);
    case Verb::renew: return renew(r);
    case Verb::release: return release(r);
    case Verb::evict: return evict(r);
  }
  return reply;
}

// -- by one statement

bool Leases::settle(const Request& request, Reply& reply) {
  switch (request.verb) {
    case Verb::acquire: return settle_acquire(request, reply);
    case Verb::renew: return settle_renew(request, reply);
    case Verb::release: return settle_release(request, reply);
    case Verb::evict: return false;
  }
  return false;
}

bool Leases::settle_acquire(const Request& r, Reply& reply) {
  // Where we have a place somebody waits: we do.
  if (!is_plain(r) || config_.waits.waiting(r.key.text)) return false;
  Cursor cursor = connection_.run(Sql::acquire, r.key.text, r.owner.text, core::length_of(r.ttl));
  if (cursor.finish() == 0) {
    connection_.require_time();
    return false;
  }
  const Token token{static_cast<std::uint64_t>(connection_.told_number(0))};
  config_.presence.granted();
  reply = answer(Verdict::granted, {.owner = std::string(r.owner.text),
                                    .end = core::end_after(connection_.boottime(), r.ttl),
                                    .token = token});
  return true;
}

bool Leases::settle_renew(const Request& r, Reply& reply) {
  if (!is_ours(r.owner)) return false;
  if (!try_renew(r, reply)) reply = answer(Verdict::lost, rows_.read(r.key));
  return true;
}

bool Leases::settle_release(const Request& r, Reply& reply) {
  if (r.place > Millis::zero() && config_.waits.waiting(r.key.text)) return false;
  if (!try_release(r, reply)) reply = answer(Verdict::lost, rows_.read(r.key));
  return true;
}

bool Leases::settle_busy(const Request& r, Reply& reply) {
  if (r.verb != Verb::acquire || r.place > Millis::zero()) return false;
  const Row row = rows_.read(r.key);
  const bool taken = row.owner != r.owner.text && is_held(row);
  if (!taken) return false;
  Record record = row.record(rows_.queue(r.key));
  reply = judge(r, record).reply;         // changes nothing; the dead count as if they lived
  return reply.verdict == Verdict::busy;  // else its time came just now
}

Reply Leases::answer(Verdict verdict, const Row& row) {
  Reply reply;
  core::answer(reply, verdict,
               {.token = static_cast<std::int64_t>(to_number(row.token)),
                .owner = row.owner,
                .end = row.end,
                .now = connection_.boottime()});
  return reply;
}

bool Leases::try_renew(const Request& r, Reply& reply) {
  Cursor cursor = connection_.run(Sql::renew, r.key.text, r.owner.text, to_number(r.token),
                                  core::length_of(r.ttl), r.extend, core::latest_end);
  if (cursor.finish() == 0) return false;
  Row row{.owner = std::string(r.owner.text),
          .token = Token{static_cast<std::uint64_t>(connection_.told_number(1))}};
  if (const auto end = connection_.told(0)) row.end = Micros(*end);
  reply = answer(Verdict::granted, row);
  return true;
}

bool Leases::try_release(const Request& r, Reply& reply) {
  Cursor cursor = connection_.run(Sql::release, r.key.text, r.owner.text, to_number(r.token),
                                  std::string_view(config_.presence.client()));
  if (cursor.finish() == 0) return false;
  const Row free{.token = Token{static_cast<std::uint64_t>(connection_.told_number(0))}};
  if (connection_.told_number(1) != 0) freed_.emplace_back(r.key.text);
  if (is_ours(r.owner) || connection_.told_number(2) != 0) config_.presence.released();
  reply = answer(Verdict::released, free);
  return true;
}

// -- by the rule

Outcome Leases::judge(const Request& r, Record& record, Token purged) {
  return core::decide(r, config_.presence.client(), record,
                      {.now = connection_.boottime(), .wall = connection_.walltime(), .purged = purged});
}

Reply Leases::acquire(const Request& r) {
  const Micros now = connection_.boottime();
  const Row row = rows_.read(r.key);  // first: a damaged row is refused before anything is written
  rows_.drop_expired_places(r.key);
  const bool again = row.live(now) && row.owner == r.owner.text;
  const bool dead = row.live(now) && !again && is_dead(row);
  // Who has the key already does not stand in its queue.
  Record record = row.record(again ? std::vector<Place>() : rows_.queue(r.key));
  if (dead) record.end = core::last_end_before(now);
  if (!record.live(now)) drop_dead(r, record.queue);

  const std::vector<Place> queue = record.queue;
  Outcome outcome = judge(r, record, row.token == no_token ? rows_.purged_token() : no_token);
  if (again) {
    rows_.set_end(r.key, record);
    share(r, row);
  } else if (outcome.changed) {
    if (outcome.log && dead) outcome.log->reason = "its process was dead";
    if (outcome.log) rows_.log(r.key, *outcome.log);
    grant(r, record);
    leave_queue(r, queue, record.queue);
  } else if (outcome.place == Outcome::Place::kept) {
    keep_place(r, row, record, queue);
  }
  return std::move(outcome.reply);
}

// Those first in the queue whose process is gone; whoever is first then does not know it yet.
void Leases::drop_dead(const Request& r, std::vector<Place>& queue) {
  const auto live = std::find_if(queue.begin(), queue.end(), [&](const Place& p) {
    return config_.presence.probe(p.client) != Life::dead;
  });
  for (auto place = queue.begin(); place != live; ++place) rows_.leave_queue(r.key, place->client);
  const bool dropped = live != queue.begin();
  queue.erase(queue.begin(), live);
  if (dropped && !queue.empty() && !is_us(queue.front())) freed_.emplace_back(r.key.text);
}

void Leases::grant(const Request& r, const Record& record) {
  rows_.grant(r.key, r.owner, record);
  if (!is_plain(r)) {
    const std::string_view client = r.detached ? std::string_view{} : config_.presence.client();
    rows_.set_facts(r.key, record.token, {.client = client, .detached = r.detached, .note = r.note});
  }
  config_.waits.settle(r.key.text);
  if (!r.detached) config_.presence.granted();
}

void Leases::leave_queue(const Request& r, const std::vector<Place>& before,
                         const std::vector<Place>& after) {
  for (const Place& place : before) {
    const bool stays = std::any_of(after.begin(), after.end(),
                                   [&](const Place& kept) { return kept.client == place.client; });
    if (!stays) rows_.leave_queue(r.key, place.client);
  }
}

// `queue`: without ours, if it is new.
void Leases::keep_place(const Request& r, const Row& row, const Record& record,
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
void Leases::share(const Request& r, const Row& row) {
  const std::string& us = config_.presence.client();
  if (row.client.empty() || (row.client == us && !r.detached)) return;
  const bool alone = !r.detached && is_dead(row);
  rows_.set_client(r.key, row.token, alone ? us : std::string_view{});
}

Reply Leases::renew(const Request& r) {
  const Row row = rows_.read(r.key);
  Record record = row.record();
  const Outcome outcome = judge(r, record);
  if (outcome.changed) {
    rows_.set_end(r.key, record);
    share(r, row);
  }
  return outcome.reply;
}

Reply Leases::release(const Request& r) {
  const Row row = rows_.read(r.key);  // first: a damaged row is refused before anything is written
  rows_.drop_expired_places(r.key);
  Record record = row.record(rows_.queue(r.key));
  const Outcome outcome = judge(r, record);
  if (r.place > Millis::zero()) config_.waits.settle(r.key.text);
  if (outcome.place == Outcome::Place::left) rows_.leave_queue(r.key, config_.presence.client());
  if (outcome.changed) {
    rows_.free(r.key);
    if (is_ours(r.owner) || row.client == config_.presence.client()) config_.presence.released();
  }
  if (outcome.ring) freed_.emplace_back(r.key.text);
  return outcome.reply;
}

Reply Leases::evict(const Request& r) {
  Record record = rows_.read(r.key).record();
  const Outcome outcome = judge(r, record);
  if (!outcome.changed) return outcome.reply;
  rows_.log(r.key, *outcome.log);
  rows_.free(r.key);
  freed_.emplace_back(r.key.text);
  return outcome.reply;
}

// -- who has a key, who waits for it

std::string Leases::owner_of(Key key) {
  Row row = rows_.read(key);
  return is_held(row) ? std::move(row.owner) : std::string();
}

// A hint for whoever waits, so no failure of ours.  The dead cannot be notified; they are taken out of the
// queue by whoever is.
void Leases::notify_waiters() noexcept {
  try {
    for (const std::string& key : freed_) {
      for (const Place& place : rows_.queue({key})) {
        if (config_.presence.notify(place.client) != Life::dead) break;
      }
    }
  } catch (const std::exception&) {
    // Waiters look now and then without being notified.
  }
}

}  // namespace holdfast::sqlite
