// SPDX-License-Identifier: Apache-2.0
// maria_address.h - where a MariaDB or a MySQL listens, and how a test talks to it as its superuser.
#pragma once
#include <memory>
#include <string>

namespace holdfast::test {

// `root` comes over the Unix socket without a password.  `app` owns the database `app` and may make others.
class MariaAddress {
 public:
  static constexpr const char* superuser = "root";

  MariaAddress() = default;
  MariaAddress(bool mysql, int port, std::string socket)
      : mysql_(mysql), port_(port), socket_(std::move(socket)) {}

  int port() const noexcept { return port_; }
  const std::string& socket() const noexcept { return socket_; }

  // mariadb://USER[:PASSWORD]@127.0.0.1:PORT/DATABASE, or mysql://
  std::string url(const std::string& user, const std::string& database,
                  const std::string& password = "") const;

  // Any statements, as the superuser.  The rows of the last one that has some: a line each, with a tab
  // between fields, NULL as NULL.  Throws std::runtime_error with the server's message.
  std::string query(const std::string& sql, const std::string& database = "") const;
  // The same on a connection that stays open, with whatever it has locked, until what it returns is gone.
  std::shared_ptr<void> leave_open(const std::string& sql, const std::string& database = "") const;
  bool answers() const;

 protected:
  bool mysql_ = false;
  int port_ = 0;
  std::string socket_{};
};

}  // namespace holdfast::test
