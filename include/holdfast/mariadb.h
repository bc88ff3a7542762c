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
  own,      // a table as Ruby's locker has it
  darwin,   // the table of Java's Darwin Locker, beside it; docs/migrate/darwin.md has its limits
  shedlock  // the table of Java's ShedLock, beside it; docs/migrate/shedlock.md has its limits
};

struct Options {
  std::string host = "localhost";  // a name or an address; always by TCP
  std::uint16_t port = 3306;
  std::string socket{};  // the path of a Unix socket, in place of host and port
  std::string user{};
  std::string password{};
  std::string database{};
  std::string table{};  // empty: "locks", or the usual one of that layout: "DARWIN_LOCK", "shedlock"
  Layout layout = Layout::own;
  // If the host is not this machine, TLS is always required, and the server's certificate is checked.
  bool tls = false;      // require it also for this machine; `tls=require` in a URL
  std::string ssl_ca{};  // trusted authorities, a PEM file; empty: those of the system
  std::string ssl_cert{}, ssl_key{};
  // Findings are not reported when the store is opened.  `unsafe=allow` in a URL.
  bool allow_unsafe = false;
  // The topics of findings that you accept: "mariadb.replica" allows a replica.  Other findings are not
  // affected. `accept=TOPIC[,TOPIC]` in a URL.
  std::vector<std::string> accept{};
  bool mysql = false;  // the URL was mysql://, and messages call it so
};

// A new client of that database.  Connecting does not create its tables; StoreAdmin::init() or `holdfast
// init` does.  If one is missing, the error is Errc::unprepared.
//
// Expiry is measured on the server's clock.  Connections are the client's own.  Waiters poll, because the
// database cannot notify.
HOLDFAST_API Result<std::shared_ptr<Store>> store(Options options);

}  // namespace holdfast::mariadb
