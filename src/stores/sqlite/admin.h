// SPDX-License-Identifier: Apache-2.0
// admin.h - the tables, made and tidied by hand, and kept small in passing.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/findings.h"
#include "holdfast/spi/store.h"
#include "stores/sqlite/connection.h"
#include "stores/sqlite/listener.h"
#include "stores/sqlite/probe.h"
#include "stores/sqlite/tables.h"

namespace holdfast::sqlite {

// Takes away what nobody needs any more, a part of the table at a time.
class Sweep {
 public:
  explicit Sweep(Connection& connection) : connection_(connection) {}

  // Sweeps the part behind the one that any process has swept last, going round; keeps the log short.
  // REQUIRES: inside a Transaction.
  void next_part();

  // Sweeps the whole table, each part in a transaction of its own, and calls `between` after each.
  Purged all(const Purge& what, const std::function<void()>& between);

 private:
  struct Part {
    std::string behind, up_to;
    bool last = false;  // of the table
  };
  Part part_behind(std::string key);
  Purged sweep(const Part& part, Millis free_for);

  Connection& connection_;
};

// Keeps the file and its log small, in passing.
//
// SQLite before 3.51.3 can lose a commit when a checkpoint meets a writer that starts the log anew.  So no
// connection of ours ever checkpoints by itself: a second connection takes the write lock, and while it
// does, the first one checkpoints.
class Upkeep {
 public:
  Upkeep(Connection& connection, const Presence& presence)
      : connection_(connection), presence_(presence), jitter_(random_bits()) {}

  // When the log has grown long: checkpoints, sweeps a part of the tables, and forgets
  // clients that died.  Never fails: what cannot be done now is done later, by us or by somebody else.
  // REQUIRES: called outside a transaction.
  void tend();

 private:
  bool grown_by(int pages) noexcept;
  void checkpoint(Instant lock_until);
  void sweep();
  void forget_the_dead();

  Connection& connection_;
  const Presence& presence_;
  std::unique_ptr<Connection> second_;
  Jitter jitter_;
  int pages_done_ = 0;  // how long the log was when we last tended it
};

// What people do by hand.
class SqliteStoreAdmin final : public StoreAdmin {
 public:
  // `store` is that of the file and its table.
  SqliteStoreAdmin(std::shared_ptr<Store> store, std::string path, Tables tables, Machine machine,
                   core::Accepted accepted)
      : store_(std::move(store)),
        path_(std::move(path)),
        tables_(std::move(tables)),
        machine_(std::move(machine)),
        accepted_(std::move(accepted)) {}

  Result<std::vector<std::string>> plan(Instant until) override;
  Result<std::vector<std::string>> init(Instant until) override;
  std::string statements() const override;
  Result<Purged> purge(const Purge& what, Instant until) override;
  Result<Diagnosis> diagnose(Instant until) override;

 private:
  std::vector<std::string> schema(bool new_file) const;
  std::vector<std::string> migration() const;

  const std::shared_ptr<Store> store_;
  const std::string path_;
  const Tables tables_;
  const Machine machine_;
  const core::Accepted accepted_;
};

}  // namespace holdfast::sqlite
