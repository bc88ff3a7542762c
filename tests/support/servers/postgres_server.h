// SPDX-License-Identifier: Apache-2.0
// postgres_server.h - a real PostgreSQL for one test, or for a run of tests.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/scratch.h"
#include "tests/support/servers/certificates.h"
#include "tests/support/servers/guarded.h"
#include "tests/support/servers/postgres_address.h"

namespace holdfast::test {

struct PostgresOptions {
  // How clients over TCP authenticate: trust, scram-sha-256.  The Unix socket trusts.
  std::string authentication = "scram-sha-256";
  std::vector<std::string> lines{};  // of postgresql.conf, after ours
  std::vector<std::string> hba{};    // of pg_hba.conf, before ours
  std::optional<Certificate> tls{};  // speaks TLS too, on the same port
  bool fsync = true;
  int port = 0;  // zero: a free one
};

// Listens on a loopback port and on a Unix socket in its folder; runs as the user `postgres` if we are
// root.  Every function throws std::runtime_error with the end of the server's log.  When a function
// returns, it has happened.
class PostgresServer : public PostgresAddress {
 public:
  explicit PostgresServer(PostgresOptions options = {});
  ~PostgresServer();

  const std::string& folder() const noexcept { return folder_.path(); }
  std::string data() const { return folder_.path() + "/data"; }
  std::string log() const { return folder_.path() + "/log"; }
  int pid() const noexcept { return running_ ? running_->pid() : -1; }  // of the postmaster

  void stop();   // fast: open transactions are rolled back
  void kill();   // SIGKILL of the postmaster; its children are gone too when this returns
  void start();  // again, on the same port and data
  void pause();  // SIGSTOP of the postmaster and of every process of its
  void resume();
  // One backend, by the pid that pg_backend_pid() returns.
  void pause_backend(int backend);
  void resume_backend(int backend);

 private:
  bool launch();  // false: the port was taken
  void configure() const;

  const PostgresOptions options_;
  const Scratch folder_;
  std::unique_ptr<Guarded> running_;
  std::set<int> paused_;
};

// What initdb makes, to be copied: it takes a second.  Belongs to the server's user.
class PostgresTemplate {
 public:
  PostgresTemplate();
  std::string data() const { return folder_.path() + "/data"; }

 private:
  const Scratch folder_;
};

// Empty, or what to install.
std::string postgres_missing();

}  // namespace holdfast::test
