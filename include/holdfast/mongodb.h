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
  own,        // one document for each key: sound
  mongo_lock  // beside the Ruby gem mongo-lock, on its documents; docs/stores/mongodb.md says what it cannot
};

struct Options {
  // As libmongoc takes it: "mongodb://db.example/app?replicaSet=rs0&tls=true".  The database has to be named.
  std::string uri;
  std::string collection = "locks";
  // Other collections by a short name of yours: {{"other", "other_locks"}} makes in("other") mean that one.
  std::map<std::string, std::string> collections{};
  Layout layout = Layout::own;
  // Also what is refused otherwise: a collection with a TTL index, a router (mongos), another machine without
  // a word about TLS; and we know what examine() finds, and need not be told.  `unsafe=allow` in a URL.
  bool allow_unsafe = false;
  // Findings of examine() and `holdfast doctor` that we know and accept, by topic: "mongodb.ttl-index" uses
  // such a collection.  Others count as before.  `accept=TOPIC[,TOPIC]` in a URL.
  std::vector<std::string> accept{};
};

// A new client of that database.  Nothing has to be made: a key is one document, which its first acquire
// makes.
//
// Expiry is measured on the primary's clock.  A grant is told when a majority of a replica set, or a server
// alone, has it in its journal.  Waiters are woken by a change stream on a replica set, and poll elsewhere.
HOLDFAST_API Result<std::shared_ptr<Store>> store(Options options);

}  // namespace holdfast::mongodb
