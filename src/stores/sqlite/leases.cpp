// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/leases.h"

namespace holdfast::sqlite {

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
    case Verb::acquire: return decision_.acquire(r);
    case Verb::renew: return decision_.renew(r);
    case Verb::release: return decision_.release(r);
    case Verb::evict: return decision_.evict(r);
  }
  return reply;
}

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
  if (!decision_.is_plain(r) || config_.waits.waiting(r.key.text)) return false;
  Cursor cursor = connection_.run(Sql::acquire, r.key.text, r.owner.text, core::length_of(r.ttl));
  if (cursor.finish() == 0) {
    connection_.require_time();
    return false;
  }
  const Token token{static_cast<std::uint64_t>(connection_.told_number(0))};
  config_.presence.granted();
  reply = decision_.answer(Verdict::granted, {.owner = std::string(r.owner.text),
                                              .end = core::end_after(connection_.boottime(), r.ttl),
                                              .token = token});
  return true;
}

bool Leases::settle_renew(const Request& r, Reply& reply) {
  if (!decision_.is_ours(r.owner)) return false;
  if (!decision_.try_renew(r, reply)) reply = decision_.answer(Verdict::lost, rows_.look(r.key));
  return true;
}

bool Leases::settle_release(const Request& r, Reply& reply) {
  if (r.place > Millis::zero() && config_.waits.waiting(r.key.text)) return false;
  if (!decision_.try_release(r, reply)) reply = decision_.answer(Verdict::lost, rows_.look(r.key));
  return true;
}

bool Leases::settle_busy(const Request& r, Reply& reply) {
  if (r.verb != Verb::acquire || r.place > Millis::zero()) return false;
  const Row row = rows_.look(r.key);
  const bool taken = row.owner != r.owner.text && is_held(row);
  if (!taken) return false;
  reply = decision_.look(r, row);
  return reply.verdict == Verdict::busy;  // else its time came just now
}

std::string Leases::owner_of(Key key) {
  Row row = rows_.look(key);
  return is_held(row) ? std::move(row.owner) : std::string();
}

// A hint for whoever waits, so no failure of ours.  The dead cannot be notified; they are taken out of the
// queue by whoever is.
void Leases::ring_waiters() noexcept {
  try {
    for (const std::string& key : freed_) {
      for (const core::Place& place : rows_.queue({key})) {
        if (config_.presence.ring(place.client) != Life::dead) break;
      }
    }
  } catch (const std::exception&) {
    // Waiters look now and then without being notified.
  }
}

}  // namespace holdfast::sqlite
