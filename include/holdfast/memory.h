// SPDX-License-Identifier: Apache-2.0
// memory.h - leases inside one process: the executable specification of a store, and a store for tests.
#pragma once
#include <functional>
#include <memory>

#include "holdfast/export.h"
#include "holdfast/spi/store.h"

namespace holdfast::memory {

struct Clocks {
  std::function<Instant()> expiry;  // decides which leases have expired
  std::function<Moment()> wall;     // the clock part of tokens
};

// A database that several clients can share.
class Database;
HOLDFAST_API std::shared_ptr<Database> make_database();               // on the machine's clocks
HOLDFAST_API std::shared_ptr<Database> make_database(Clocks clocks);  // on these clocks, for a simulator

// A new client of that database.
HOLDFAST_API std::shared_ptr<Store> store(std::shared_ptr<Database> database);

}  // namespace holdfast::memory
