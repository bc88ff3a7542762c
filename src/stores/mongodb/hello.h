// SPDX-License-Identifier: Apache-2.0
// hello.h - what a server says about itself and the collection, and whether leases can be trusted to it.
#pragma once
#include <string>

#include "holdfast/store.h"
#include "stores/mongodb/connection.h"

namespace holdfast::mongodb {

struct Hello {
  Instant asked{}, answered{};
  Micros now{};                      // the server's clock in between
  std::string set = {};              // the replica set; empty: a server alone
  bool router = false;               // mongos
  std::string vanishing_index = {};  // a TTL index on our documents: it would take tokens away
  std::int64_t purged = 0;           // how far the tokens of purged keys had come

  bool streams() const { return router || !set.empty(); }
};

// Throws Failure for a server or a collection in which no lease can be kept.
Hello say_hello(Connection& connection, Instant until);

bool collection_exists(Connection& connection, const std::string& name, Instant until);
std::int64_t purged_token(Connection& connection, Instant until);
Micros server_time(Connection& connection, Instant until);

// Throws Failure for one that keeps leases badly, unless the site allows it.
void require_safe(const Hello& hello, const Site& site);

Traits traits_of(const Hello& hello, const Site& site);

}  // namespace holdfast::mongodb
