// SPDX-License-Identifier: Apache-2.0
// store_connection.h - leases in MariaDB and MySQL.
//
// A batch of one is one text of statements that settles every uncontended request: settle().  What that does
// not settle, and every larger batch, is one transaction in two round trips: send_key_batch() locks and reads
// the rows, core/rule.h decides, and what it changed is written.  Keys in bytewise order, each once; a key
// that comes twice travels in a second key batch.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/timing.h"
#include "holdfast/spi/store.h"
#include "rows/row_store.h"
#include "stores/mariadb/config.h"
#include "stores/mariadb/connection.h"
#include "stores/mariadb/probe.h"

namespace holdfast::mariadb {

class Writes;

class MariaStoreConnection final : public rows::RowStoreConnection {
 public:
  // Throws Failure.
  MariaStoreConnection(std::shared_ptr<const StoreConfig> config, Instant until);

  Result<Page> list(const Query& query, Instant until) override;
  Result<Traits> examine(Instant until) override;

 private:
  using Indices = core::KeyBatch;
  void connect(Instant until) override;
  bool ended() const override { return connection_->ended(); }
  std::optional<Error> misfit(const Request& request) const override;
  std::vector<core::KeyBatch> key_batches_of(std::span<const Request> requests) const override;
  bool settles_alone() const override { return tables_.foreign() == nullptr; }
  std::string where() const override { return config_->name; }

  Settled send_key_batch(Call& call, Indices& key_batch, Millis patience, Locked locked) override;
  // Reads the rows of the key batch, with their locks.
  Answers begin(const Call& call, const Indices& key_batch, Millis patience, Locked locked);
  Settled end(const Writes& writes, Instant until);
  void roll_back(Instant until);
  void remember(const Request& request, const Reply& reply);

  Settled settle(Call& call, std::size_t i, Millis patience) override;
  Settled take(const Request& request, Reply& reply, const Answers& answers);
  // The statements that settle a request if nothing is in its way, up to read_lease; empty: only a
  // transaction can.
  std::string statements_for(const Request& request, const Values& values) const;
  void answer_locked(Call& call, std::size_t i) override;

  // Settled::yes: there was none.  Throws for what no second attempt mends.
  Settled check(const std::optional<Trouble>& trouble) const;
  // On the server's clock.
  std::int64_t void_after(Instant until) const { return offset_.at_least(until).count(); }

  const std::shared_ptr<const StoreConfig> config_;
  Tables tables_;  // as this connection has found them
  std::unique_ptr<Connection> connection_;
  ServerProbe probe_;
  core::StoreOffset offset_;
  // Keys in whose queue we probably are, and keys that have a row: what to try first.
  using Keys = std::set<std::string, std::less<>>;
  static void put(Keys& keys, std::string_view key);
  Keys waited_for_, known_;
};

}  // namespace holdfast::mariadb
