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
  own,             // a string with the owner and PX, as redis_exp_lock writes it: sound
  active_job_lock  // the keys of the Ruby gem active_job_lock, beside it; docs/stores/redis.md has its limits
};

struct Options {
  std::string host = "localhost";  // a name or an address
  std::uint16_t port = 6379;
  std::string socket{};  // the path of a Unix socket, in place of host and port
  int db = 0;

  std::string user{};  // empty: Redis's "default"
  std::string password{};

  bool tls = false;      // 1.2 or newer; the server's certificate must be valid for that host
  std::string cacert{};  // trusted authorities, a PEM file; empty: those of the system
  std::string cert{};    // the client's certificate, if the server requires one, and its key: PEM files
  std::string key{};

  // Prepended to every key: with "locks:" the lease on "nightly" is the key "locks:nightly".  Tokens and
  // queues of different prefixes are separate.
  std::string prefix{};
  Layout layout = Layout::own;
  // Allows a server that evicts keys, and leases among them, when memory runs short.  Findings are not
  // reported when the store is opened.  `unsafe=allow` in a URL.
  bool allow_unsafe = false;
  // The topics of findings that you accept: "redis.eviction" allows a server that evicts; "redis.appendonly"
  // is then not reported when the store is opened.  Other findings are not affected.  `accept=TOPIC[,TOPIC]`
  // in a URL.
  std::vector<std::string> accept{};
};

// A new client of that server.  A lease is a string key with its owner as value and its ttl as PX, like those
// of redis_exp_lock, so both exclude each other.  Token, note and queue are in keys that begin with
// "holdfast:"; such keys cannot be leased.
//
// Expiry is measured on the server's wall clock.  A grant is as durable as the server: without an append-only
// file it forgets its leases when it is restarted; with replicas a fail-over may lose the last ones.  Tokens
// still rise (docs/stores/redis.md).
HOLDFAST_API Result<std::shared_ptr<Store>> store(Options options);

}  // namespace holdfast::redis
