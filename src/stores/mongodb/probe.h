// SPDX-License-Identifier: Apache-2.0
// probe.h - what a server says about itself and the collection, and whether leases are safe there.
#pragma once
#include <optional>
#include <string>

#include "holdfast/spi/store.h"
#include "stores/mongodb/connection.h"

namespace holdfast::mongodb {

struct ServerProbe {
  Instant sent{}, received{};
  Micros now{};                      // the server's clock in between
  std::string set = {};              // the replica set; empty: a standalone server
  bool router = false;               // mongos
  bool old = false;                  // before MongoDB 5.0
  bool secondary = false;            // not the primary
  std::string elsewhere = {};        // a member of the set on another machine, that we may talk to
  bool has_collection = false;       // of leases
  std::string odd = {};              // why no lease can be kept in the collection: "is a view"
  std::string vanishing_index = {};  // a TTL index on documents of leases: it would delete tokens
  std::int64_t purged = 0;           // how far the tokens of purged keys had come
  std::int64_t needs = 0;            // a Holdfast that knows only older documents must not use these

  bool streams() const { return router || !set.empty(); }
};

// What the server says of itself, also if no lease can be kept there.  Throws Failure if nobody answers.
ServerProbe read_hello(Connection& connection, Instant until);
// Adds what the server says of the collection.
void read_collection(Connection& connection, ServerProbe& probe, Instant until);
// Why no lease can be kept in that collection; empty: it can; none: there is no such collection yet.
std::optional<std::string> oddity_of(Connection& connection, const std::string& collection, Instant until);

// Both.  Throws Failure for a server or a collection in which no lease can be kept.
ServerProbe probe_server(Connection& connection, Instant until);

bool collection_exists(Connection& connection, const std::string& name, Instant until);
// Adds what stands beside the leases: `purged` and `needs`.
void read_state(Connection& connection, ServerProbe& probe, Instant until);
Micros server_time(Connection& connection, Instant until);

// Throws Failure if leases are not safe there, unless the configuration accepts that.
void require_safe(const ServerProbe& probe, const StoreConfig& config);

Traits traits_of(const ServerProbe& probe, const StoreConfig& config);

}  // namespace holdfast::mongodb
