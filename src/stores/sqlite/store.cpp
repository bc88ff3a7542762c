// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/store.h"

#include <cassert>

#include "stores/sqlite/database.h"

namespace holdfast::sqlite {

SqliteStore::SqliteStore(std::shared_ptr<Site> site, Instant until)
    : site_(std::move(site)),
      connection_(site_->path, site_->tables, site_->machine),
      rows_(connection_),
      decision_(*site_, connection_, freed_),
      upkeep_(connection_, site_->presence) {
  connection_.set_end(until);
  open_database(connection_, site_->presence);
}

void SqliteStore::start(Instant until) {
  connection_.set_end(until);
  freed_.clear();
  connection_.require_time();
  // Others who open the path now would find another file, and hold the same keys there.
  if (!connection_.has_moved()) return;
  raise({Errc::unavailable, site_->path + " was removed or replaced; it has to be opened anew"});
}

Status SqliteStore::apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) {
  assert(requests.size() == replies.size());
  if (requests.empty()) return ok();
  try {
    start(until);
    requests.size() == 1 ? apply_one(requests.front(), replies.front()) : apply_many(requests, replies);
  } catch (const Failure& failure) {
    return failure.error();
  }
  ring_waiters();
  upkeep_.tend();
  return ok();
}

void SqliteStore::apply_one(const Request& request, Reply& reply) {
  if (settle(request, reply) || settle_busy(request, reply)) return;
  apply_many({&request, 1}, {&reply, 1});
}

void SqliteStore::apply_many(std::span<const Request> requests, std::span<Reply> replies) {
  Transaction transaction(connection_);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request& r = requests[i];
    if (settle(r, replies[i])) continue;
    switch (r.verb) {
      case Verb::acquire: replies[i] = decision_.acquire(r); break;
      case Verb::renew: replies[i] = decision_.renew(r); break;
      case Verb::release: replies[i] = decision_.release(r); break;
      case Verb::evict: replies[i] = decision_.evict(r); break;
    }
  }
  transaction.commit();
}

bool SqliteStore::settle(const Request& request, Reply& reply) {
  switch (request.verb) {
    case Verb::acquire: return settle_acquire(request, reply);
    case Verb::renew: return settle_renew(request, reply);
    case Verb::release: return settle_release(request, reply);
    case Verb::evict: return false;
  }
  return false;
}

bool SqliteStore::settle_acquire(const Request& r, Reply& reply) {
  // Where we have a place somebody waits: we do.
  if (!decision_.is_plain(r) || site_->waits.waiting(r.key.text)) return false;
  Cursor cursor = connection_.run(Sql::acquire, r.key.text, r.holder.text, length_of(r.ttl));
  if (cursor.finish() == 0) {
    connection_.require_time();
    return false;
  }
  const Token token{static_cast<std::uint64_t>(connection_.told_number(0))};
  site_->presence.granted();
  reply = decision_.answer(
      Verdict::granted,
      {.holder = std::string(r.holder.text), .end = end_of(connection_.boottime(), r.ttl), .token = token});
  return true;
}

bool SqliteStore::settle_renew(const Request& r, Reply& reply) {
  if (!decision_.is_ours(r.holder)) return false;
  if (!decision_.try_renew(r, reply)) reply = decision_.answer(Verdict::lost, rows_.look(r.key));
  return true;
}

bool SqliteStore::settle_release(const Request& r, Reply& reply) {
  if (r.place > Millis::zero() && site_->waits.waiting(r.key.text)) return false;
  if (!decision_.try_release(r, reply)) reply = decision_.answer(Verdict::lost, rows_.look(r.key));
  return true;
}

bool SqliteStore::settle_busy(const Request& r, Reply& reply) {
  if (r.verb != Verb::acquire || r.place > Millis::zero()) return false;
  const Row row = rows_.look(r.key);
  const bool taken =
      row.live(connection_.boottime()) && row.holder != r.holder.text && !decision_.is_dead(row);
  if (!taken) return false;
  reply = decision_.busy(row, rows_.queue(r.key), taken);
  return true;
}

// A hint for whoever waits, so no failure of ours.  The dead cannot be rung; they are taken out of the queue
// by whoever is.
void SqliteStore::ring_waiters() noexcept {
  try {
    for (const std::string& key : freed_) {
      for (const Place& place : rows_.queue({key})) {
        if (site_->presence.ring(place.client) != Life::dead) break;
      }
    }
  } catch (const std::exception&) {
    // Waiters look now and then without being rung.
  }
}

std::unique_ptr<Bell> SqliteStore::bell() {
  return std::make_unique<FifoBell>(std::shared_ptr<Waits>(site_, &site_->waits));
}

}  // namespace holdfast::sqlite
