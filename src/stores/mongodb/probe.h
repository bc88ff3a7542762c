// SPDX-License-Identifier: Apache-2.0
// probe.h - what a server says about itself and the collection, and whether leases can be trusted to it.
#pragma once
#include <optional>
#include <string>

#include "holdfast/spi/store.h"
#include "stores/mongodb/connection.h"

namespace holdfast::mongodb {

struct ServerProbe {
  Instant asked{}, answered{};
  Micros now{};                      // the server's clock in between
  std::string set = {};              // the replica set; empty: a server alone
  bool router = false;               // mongos
  bool old = false;                  // before MongoDB 5.0
  bool secondary = false;            // not the primary
  std::string elsewhere = {};        // a member of the set on another machine, that we may talk to
  bool has_collection = false;       // of leases
  std::string odd = {};              // why no lease can lie in the collection: "is a view"
  std::string vanishing_index = {};  // a TTL index on our documents: it would take tokens away
  std::int64_t purged = 0;           // how far the tokens of purged keys had come

  bool streams() const { return router || !set.empty(); }
};

// What the server says of itself, whatever that is.  Throws Failure where nobody answers.
ServerProbe greet(Connection& connection, Instant until);
// Fills in what can be said of the collection.
void look_at_collection(Connection& connection, ServerProbe& probe, Instant until);
// Why no lease can lie in such a collection; empty: it can; none: there is no such collection yet.
std::optional<std::string> oddity_of(Connection& connection, const std::string& collection, Instant until);

// All of it.  Throws Failure for a server or a collection in which no lease can be kept.
ServerProbe probe_server(Connection& connection, Instant until);

bool collection_exists(Connection& connection, const std::string& name, Instant until);
std::int64_t purged_token(Connection& connection, Instant until);
Micros server_time(Connection& connection, Instant until);

// Throws Failure for one that keeps leases badly, unless the configuration allows it.
void require_safe(const ServerProbe& probe, const StoreConfig& config);

Traits traits_of(const ServerProbe& probe, const StoreConfig& config);

}  // namespace holdfast::mongodb
