// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/store.h"

#include <cassert>

#include "stores/sqlite/database.h"

namespace holdfast::sqlite {

SqliteStore::SqliteStore(std::shared_ptr<Site> site, Instant until)
    : site_(std::move(site)),
      connection_(site_->path, site_->tables, site_->machine),
      leases_(*site_, connection_),
      upkeep_(connection_, site_->presence) {
  connection_.set_end(until);
  open_database(connection_, site_->presence);
}

Status SqliteStore::apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) {
  assert(requests.size() == replies.size());
  if (requests.empty()) return ok();
  try {
    leases_.start(until);
    requests.size() == 1 ? apply_one(requests.front(), replies.front()) : apply_many(requests, replies);
  } catch (const Failure& failure) {
    return failure.error();
  }
  leases_.ring_waiters();
  upkeep_.tend();
  return ok();
}

void SqliteStore::apply_one(const Request& request, Reply& reply) {
  if (leases_.settle(request, reply) || leases_.settle_busy(request, reply)) return;
  apply_many({&request, 1}, {&reply, 1});
}

void SqliteStore::apply_many(std::span<const Request> requests, std::span<Reply> replies) {
  Transaction transaction(connection_);
  for (std::size_t i = 0; i < requests.size(); ++i) replies[i] = leases_.decide(requests[i]);
  transaction.commit();
}

std::unique_ptr<Bell> SqliteStore::bell() {
  return std::make_unique<FifoBell>(std::shared_ptr<Waits>(site_, &site_->waits));
}

}  // namespace holdfast::sqlite
