// SPDX-License-Identifier: Apache-2.0
// upkeep.h - keeps the file and its log small.
//
// SQLite before 3.51.3 can lose a commit when a checkpoint meets a writer that starts the log anew.  So no
// connection of ours ever checkpoints by itself: a second connection takes the write lock, and while it
// does, the first one checkpoints.
#pragma once
#include <memory>

#include "stores/sqlite/connection.h"
#include "stores/sqlite/presence.h"

namespace holdfast::sqlite {

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

}  // namespace holdfast::sqlite
