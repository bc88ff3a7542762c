// SPDX-License-Identifier: Apache-2.0
// sweep.h - takes away what nobody needs any more, a part of the table at a time.
#pragma once
#include <functional>
#include <string>

#include "holdfast/spi/store.h"
#include "stores/sqlite/connection.h"

namespace holdfast::sqlite {

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

}  // namespace holdfast::sqlite
