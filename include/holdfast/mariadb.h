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
  darwin  // beside Java nodes with Darwin's Locker, on its table; docs/stores/mariadb.md says what it cannot
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
  // TLS is always required, and the server's certificate checked, where the host is not this machine.
  bool tls = false;      // also here; `tls=require` in a URL
  std::string ssl_ca{};  // PEM: who signs the server's certificate; empty: the system's authorities
  std::string ssl_cert{}, ssl_key{};
  // We know what examine() finds, and need not be told when the store is opened.  `unsafe=allow` in a URL.
  bool allow_unsafe = false;
  // Findings of examine() and `holdfast doctor` that we know and accept, by topic: "mariadb.replica" uses a
  // replica.  Others count as before.  `accept=TOPIC[,TOPIC]` in a URL.
  std::vector<std::string> accept{};
  bool mysql = false;  // messages name it mysql://, as whoever wrote the URL did
};

// A new client of that database.  Its tables are not made by connecting but by StoreAdmin::init(), or
// `holdfast init`: one that is missing is Errc::unprepared.
//
// Expiry is measured on the server's clock.  Connections are the client's own.  Waiters poll: the database
// cannot notify.
HOLDFAST_API Result<std::shared_ptr<Store>> store(Options options);

}  // namespace holdfast::mariadb
