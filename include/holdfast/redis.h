// SPDX-License-Identifier: Apache-2.0
// redis.h - leases in Redis or Valkey, for processes on any number of machines.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/spi/store.h"

namespace holdfast::redis {

enum class Layout : std::uint8_t {
  own,             // a string with the owner as value and PX, as redis_exp_lock writes it: keeps all promises
  active_job_lock  // beside Ruby processes with active_job_lock, on its keys; its limits:
                   // docs/stores/redis.md
};

struct Options {
  std::string host = "localhost";  // a name or an address
  std::uint16_t port = 6379;
  std::string socket{};  // the path of a Unix socket, in place of host and port
  int db = 0;

  std::string user{};  // empty: Redis's "default"
  std::string password{};

  bool tls = false;      // TLS 1.2 or newer; the server's certificate must be valid for that host
  std::string cacert{};  // PEM file of the authority to trust; empty: the system's authorities
  std::string cert{};    // the client's certificate, if the server wants one, and its key: PEM files
  std::string key{};

  // Stands before every key: with "locks:" the lease on "nightly" is the Redis key "locks:nightly".  Queues,
  // tokens and log of different prefixes are separate.
  std::string prefix{};
  Layout layout = Layout::own;
  // Accepts everything that examine() can find: no warning when the store is opened.  Also accepts a server
  // that evicts keys, and so leases, when its memory is full.  `unsafe=allow` in a URL.
  bool allow_unsafe = false;
  // Accepts findings of examine() and `holdfast doctor` by topic: with "redis.eviction" a server that evicts
  // is used; with "redis.appendonly" there is no warning about that when the store is opened.  Other findings
  // are not affected.  `accept=TOPIC[,TOPIC]` in a URL.
  std::vector<std::string> accept{};
};

// A new client of that server.  A lease is a string key with the owner as value and the ttl as PX.
// redis_exp_lock writes and reads the same, so both exclude each other.  Token, note and queue are in keys
// that begin with "holdfast:"; such keys cannot be leased.
//
// Expiry is measured on the server's wall clock.  A grant is as durable as the server: a server without an
// append-only file loses its leases at a restart, and a failover to a replica may lose the last ones.  Tokens
// still rise after both (docs/stores/redis.md).
HOLDFAST_API Result<std::shared_ptr<Store>> store(Options options);

}  // namespace holdfast::redis
