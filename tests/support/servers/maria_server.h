// SPDX-License-Identifier: Apache-2.0
// maria_server.h - a real MariaDB, or a real MySQL, for one test or for a run of tests.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/scratch.h"
#include "tests/support/servers/certificates.h"
#include "tests/support/servers/guarded.h"
#include "tests/support/servers/maria_address.h"

namespace holdfast::test {

struct MariaOptions {
  std::vector<std::string> lines{};  // of the section [mysqld] of my.cnf, after ours
  std::string password{};            // of `app`, over TCP
  std::optional<Certificate> tls{};  // speaks TLS too, on the same port
  bool mysql = false;                // MySQL, as engines/fetch.sh fetched it
  bool fsync = true;
  int port = 0;  // zero: a free one
};

// Listens on a loopback port and on a Unix socket in its folder; runs as ourselves.  Every function throws
// std::runtime_error with the end of the server's log.  When a function returns, it has happened.
class MariaServer : public MariaAddress {
 public:
  explicit MariaServer(MariaOptions options = {});
  ~MariaServer();

  using MariaAddress::url;
  std::string url() const { return url("app", "app", options_.password); }
  const std::string& folder() const noexcept { return folder_.path(); }
  std::string data() const { return folder_.path() + "/data"; }
  std::string log() const { return folder_.path() + "/log"; }
  int pid() const noexcept { return running_ ? running_->pid() : -1; }

  void stop();   // SIGTERM: in order
  void kill();   // SIGKILL
  void start();  // again, on the same port and data; it has recovered and answers
  void pause();  // SIGSTOP: connections stay, nothing is answered
  void resume();

 private:
  bool launch();  // false: the port was taken
  void configure() const;

  const MariaOptions options_;
  const Scratch folder_;
  std::unique_ptr<Guarded> running_;
};

// What mariadb-install-db makes, to be copied: it takes a second.  That of MySQL was fetched with it.
class MariaTemplate {
 public:
  MariaTemplate();
  std::string data() const { return folder_.path() + "/data"; }

 private:
  const Scratch folder_;
};

// Empty, or what to install.
std::string mariadb_missing();
std::string mysql_missing();

}  // namespace holdfast::test
