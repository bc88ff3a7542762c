// SPDX-License-Identifier: Apache-2.0
// store_connection.h - leases in PostgreSQL.
//
// A batch of one is one prepared statement, which settles every uncontended request.  What that does not
// settle, and every larger batch, is one statement over arrays (apply): keys in bytewise order, each
// once; a key that comes twice travels in a second key batch.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/timing.h"
#include "holdfast/spi/store.h"
#include "rows/row_store.h"
#include "stores/postgres/config.h"
#include "stores/postgres/connection.h"
#include "stores/postgres/probe.h"
#include "stores/postgres/shedlock.h"

namespace holdfast::postgres {

class PostgresStoreConnection final : public rows::RowStoreConnection {
 public:
  // Throws Failure.
  PostgresStoreConnection(std::shared_ptr<const StoreConfig> config, Instant until);

  Result<Page> list(const Query& query, Instant until) override;
  Result<Traits> examine(Instant until) override;
  Result<std::unique_ptr<StoreListener>> listener(Instant until) override;

 private:
  using Indices = core::KeyBatch;
  void connect(Instant until) override;
  bool ended() const override { return connection_->ended(); }
  std::optional<Error> misfit(const Request& request) const override;
  Settled send_key_batch(Call& call, Indices& key_batch, Millis patience, Locked) override;
  // Into `unseen` go releases that found no row.
  void take_answers(Call& call, Indices& key_batch, const Answer& answer, Indices& unseen);

  // Beside ShedLock's table only a transaction settles a request.
  bool settles_alone() const override { return !config_->tables.beside_shedlock(); }
  Settled settle(Call& call, std::size_t i, Millis patience) override;
  Settled settle_acquire(const Request& request, Reply& reply, Instant until, Millis patience);
  Settled settle_own(const Request& request, Reply& reply, const Answer& answer, Instant until,
                     Millis patience);
  // Begins the parameters of its statement.
  Parameters& ask_about(const Request& request);
  Answer look(const Request& request, Instant until);
  // For an acquire: what it asks for, or what it asked for when the row was locked.
  Millis place_of(const Request& request) const;
  // A release found no row: makes sure that none is being made.
  Settled make_sure(const Request& request, Instant until, Millis patience);
  void answer_locked(Call& call, std::size_t i) override;
  std::string where() const override { return config_->name(); }

  // Settled::in_the_way if others were; throws for any other trouble.
  Settled check(const Answer& answer) const;
  void learn(Instant sent, const Answer& answer, int column);
  // On the server's clock.
  std::int64_t void_after(Instant until) const;

  const std::shared_ptr<const StoreConfig> config_;
  std::unique_ptr<Connection> connection_;
  ServerProbe probe_;
  Statements statements_;
  std::optional<ShedlockBatch> shedlock_;
  core::StoreOffset offset_;
  Parameters parameters_;
  Instant asked_{};
  // Keys in whose queue we probably are, and keys that we have released last: what to try first.
  static constexpr std::size_t many_keys = 10'000;  // then all are forgotten
  using Keys = std::set<std::string, std::less<>>;
  static void remember(Keys& keys, std::string_view key);
  Keys waited_for_, freed_;
  // Places that were asked for and not kept, as somebody had the row of their key locked.
  std::map<std::string, Millis, std::less<>> unplaced_;
};

}  // namespace holdfast::postgres
