// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/store_connection.h"

#include <cassert>

#include "stores/sqlite/database.h"

namespace holdfast::sqlite {

SqliteStoreConnection::SqliteStoreConnection(std::shared_ptr<StoreConfig> config, Instant until)
    : config_(std::move(config)),
      connection_(config_->path, config_->tables, config_->machine),
      leases_(*config_, connection_),
      upkeep_(connection_, config_->presence) {
  connection_.set_end(until);
  open_database(connection_, config_->presence);
}

Status SqliteStoreConnection::apply(std::span<const Request> requests, std::span<Reply> replies,
                                    Instant until) {
  assert(requests.size() == replies.size());
  if (requests.empty()) return Status{};
  try {
    leases_.start(until);
    requests.size() == 1 ? apply_one(requests.front(), replies.front()) : apply_many(requests, replies);
  } catch (const Failure& failure) {
    return failure.error();
  }
  leases_.notify_waiters();
  upkeep_.tend();
  return Status{};
}

void SqliteStoreConnection::apply_one(const Request& request, Reply& reply) {
  if (leases_.settle(request, reply) || leases_.settle_busy(request, reply)) return;
  Transaction transaction(connection_);
  reply = leases_.decide(request);
  transaction.commit();
}

void SqliteStoreConnection::apply_many(std::span<const Request> requests, std::span<Reply> replies) {
  Transaction transaction(connection_);
  for (std::size_t i = 0; i < requests.size(); ++i) replies[i] = decide_apart(requests[i]);
  transaction.commit();
}

// A row that somebody has damaged is refused when it is read, and harms no other request of the batch.
Reply SqliteStoreConnection::decide_apart(const Request& request) {
  const std::int64_t before = connection_.changes();
  try {
    return leases_.decide(request);
  } catch (const Failure& failure) {
    if (failure.error().code != Errc::refused || connection_.changes() != before) throw;
    return {.error = failure.error()};
  }
}

Result<std::unique_ptr<StoreListener>> SqliteStoreConnection::listener(Instant) {
  return std::unique_ptr<StoreListener>(
      std::make_unique<FifoListener>(std::shared_ptr<Waits>(config_, &config_->waits)));
}

}  // namespace holdfast::sqlite
