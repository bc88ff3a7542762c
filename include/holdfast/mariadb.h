// SPDX-License-Identifier: Apache-2.0
// mariadb.h - leases in MariaDB or MySQL, for processes on any number of machines.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/spi/store.h"

namespace holdfast::mariadb {

enum class Layout : std::uint8_t {
  own,    // a table as on PostgreSQL
  darwin  // beside Java nodes with Darwin's Locker, on its table; its limits: docs/stores/mariadb.md
};

struct Options {
  std::string host = "localhost";  // a name or an address; always by TCP
  std::uint16_t port = 3306;
  std::string socket{};  // the path of a Unix socket, in place of host and port
  std::string user{};
  std::string password{};
  std::string database{};
  std::string table{};  // empty: "locks", or "DARWIN_LOCK" in that layout
  Layout layout = Layout::own;
  // If the host is not this machine, TLS is always required, and the server's certificate is checked.
  bool tls = false;      // also for this machine; `tls=require` in a URL
  std::string ssl_ca{};  // PEM file of the authority that signed the server's certificate; empty: the
                         // system's authorities
  std::string ssl_cert{}, ssl_key{};
  // Accepts everything that examine() can find: no warning when the store is opened.  `unsafe=allow` in a
  // URL.
  bool allow_unsafe = false;
  // Accepts findings of examine() and `holdfast doctor` by topic: with "mariadb.replica" a replica is used.
  // Other findings are not affected.  `accept=TOPIC[,TOPIC]` in a URL.
  std::vector<std::string> accept{};
  bool mysql = false;  // messages write mysql://, as the URL did
};

// A new client of that database.  Connecting does not create the tables: StoreAdmin::init() and
// `holdfast init` do.  If one is missing, the error is Errc::unprepared.
//
// Expiry is measured on the server's clock.  The client opens its own connections.  Waiters poll, because the
// database cannot notify.
HOLDFAST_API Result<std::shared_ptr<Store>> store(Options options);

}  // namespace holdfast::mariadb
