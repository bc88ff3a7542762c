// SPDX-License-Identifier: Apache-2.0
// mongodb.h - leases in MongoDB, for processes on any number of machines.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/spi/store.h"

namespace holdfast::mongodb {

enum class Layout : std::uint8_t {
  own,         // one document for each key: sound
  mongo_lock,  // the documents of the Ruby gem mongo-lock, beside it; docs/stores/mongodb.md has its limits
  shedlock     // the documents of Java's ShedLock, beside it; docs/migrate/shedlock.md has its limits
};

struct Options {
  // A URI of libmongoc: "mongodb://db.example/app?replicaSet=rs0&tls=true".  It must name the database.
  std::string uri;
  std::string collection{};  // empty: "locks", or the usual one of that layout: "shedLock"
  // Short names of other collections: with {{"other", "other_locks"}}, in("other") is the collection
  // other_locks.
  std::map<std::string, std::string> collections{};
  Layout layout = Layout::own;
  // Allows what is refused otherwise: a collection with a TTL index, a router (mongos), another machine
  // without a TLS option in the URI.  Findings are not reported when the store is opened.  `unsafe=allow` in
  // a URL.
  bool allow_unsafe = false;
  // The topics of findings that you accept: "mongodb.ttl-index" allows a collection with a TTL index.  Other
  // findings are not affected.  `accept=TOPIC[,TOPIC]` in a URL.
  std::vector<std::string> accept{};
};

// A new client of that database.  It needs no init: a key is one document, which its first acquire creates.
//
// Expiry is measured on the primary's clock.  A grant is reported when a majority of the replica set, or a
// single server, has it in its journal.  On a replica set a change stream wakes waiters; elsewhere they poll.
HOLDFAST_API Result<std::shared_ptr<Store>> store(Options options);

}  // namespace holdfast::mongodb
