// SPDX-License-Identifier: Apache-2.0
// pgbouncer.h - a real PgBouncer in transaction mode, in front of a PostgreSQL.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tests/support/scratch.h"
#include "tests/support/servers/guarded.h"
#include "tests/support/servers/postgres_address.h"

namespace holdfast::test {

// It accepts every client, and connects to the server as the superuser.
class PgBouncer {
 public:
  // `lines` are of the section [pgbouncer] of its configuration.
  explicit PgBouncer(const PostgresAddress& behind, std::vector<std::string> lines = {});
  ~PgBouncer();

  std::string url(const std::string& database = "postgres") const;
  int port() const noexcept { return port_; }
  int pid() const noexcept { return running_->pid(); }

 private:
  bool launch();  // false: the port was taken

  const PostgresAddress behind_;
  const std::vector<std::string> lines_;
  const Scratch folder_;
  int port_ = 0;
  std::unique_ptr<Guarded> running_;
};

// Empty, or what to install.
std::string pgbouncer_missing();

}  // namespace holdfast::test
