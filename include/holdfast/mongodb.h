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
  own,        // one document for each key: keeps all promises
  mongo_lock  // beside the Ruby gem mongo-lock, on its documents; its limits: docs/stores/mongodb.md
};

struct Options {
  // A URI of libmongoc: "mongodb://db.example/app?replicaSet=rs0&tls=true".  The database is required.
  std::string uri;
  std::string collection = "locks";
  // Short names for other collections: with {{"other", "other_locks"}}, in("other") uses other_locks.
  std::map<std::string, std::string> collections{};
  Layout layout = Layout::own;
  // Accepts everything that examine() can find: no warning when the store is opened.  Also accepts what is
  // refused otherwise: a collection with a TTL index, a router (mongos), another machine if the URL does not
  // mention TLS.  `unsafe=allow` in a URL.
  bool allow_unsafe = false;
  // Accepts findings of examine() and `holdfast doctor` by topic: with "mongodb.ttl-index" such a collection
  // is used.  Other findings are not affected.  `accept=TOPIC[,TOPIC]` in a URL.
  std::vector<std::string> accept{};
};

// A new client of that database.  Nothing has to be created: a key is one document, which its first acquire
// creates.
//
// Expiry is measured on the primary's clock.  A grant is reported when a majority of the replica set, or the
// standalone server, has it in its journal.  On a replica set a change stream wakes waiters; elsewhere they
// poll.
HOLDFAST_API Result<std::shared_ptr<Store>> store(Options options);

}  // namespace holdfast::mongodb
