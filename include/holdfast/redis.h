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
  own,             // a string with the holder in it and PX, as redis_exp_lock writes it: sound
  active_job_lock  // beside Ruby processes with active_job_lock, on its keys; docs/stores/redis.md says what
                   // it cannot
};

struct Options {
  std::string host = "localhost";  // a name or an address
  std::uint16_t port = 6379;
  std::string socket{};  // the path of a Unix socket, in place of host and port
  int db = 0;

  std::string user{};  // empty: Redis's "default"
  std::string password{};

  bool tls = false;      // 1.2 or newer; the server's certificate must be good, and for that host
  std::string cacert{};  // whom to trust, a PEM file; empty: whom the system trusts
  std::string cert{};    // our own certificate, where the server wants one, and its key: PEM files
  std::string key{};

  // Before every key: "locks:" makes the lease on "nightly" the key "locks:nightly".  What we keep beside the
  // leases is apart from that of other prefixes.
  std::string prefix{};
  Layout layout = Layout::own;
  // Also on a server that throws keys away when memory runs short, leases among them; and we know what
  // examine() finds, and need not be told when the store is opened.  `unsafe=allow` in a URL.
  bool allow_unsafe = false;
  // Findings of examine() and `holdfast doctor` that we know and accept, by topic: "redis.eviction" uses a
  // server that evicts, "redis.appendonly" is not told of when the store is opened.  Others count as before.
  // `accept=TOPIC[,TOPIC]` in a URL.
  std::vector<std::string> accept{};
};

// A new client of that server.  A lease is a string key with its holder as value and its ttl as PX: what
// redis_exp_lock writes and reads, so both exclude each other.  Token, note and queue lie in keys that begin
// with "holdfast:"; keys of that name cannot be leased.
//
// Expiry is measured on the server's wall clock.  A grant is as durable as the server: one without
// append-only file forgets its leases when it is restarted, one with replicas may forget the last ones when
// another takes over.  Tokens rise across all of this (docs/stores/redis.md).
HOLDFAST_API Result<std::shared_ptr<Store>> store(Options options);

}  // namespace holdfast::redis
