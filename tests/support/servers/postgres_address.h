// SPDX-License-Identifier: Apache-2.0
// postgres_address.h - where a PostgreSQL listens, and how a test talks to it as its superuser.
#pragma once
#include <memory>
#include <string>

namespace holdfast::test {

struct PostgresAddress {
  static constexpr const char* superuser = "postgres";
  static constexpr const char* superuser_password = "superuser-of-a-test";

  int port = 0;
  std::string socket_folder;

  // postgres://USER:PASSWORD@127.0.0.1:PORT/DATABASE
  std::string url(const std::string& user = superuser, const std::string& database = "postgres",
                  const std::string& password = superuser_password) const;
  // postgres:///DATABASE?host=FOLDER&port=PORT&user=USER: over the Unix socket, by trust.
  std::string socket_url(const std::string& user = superuser, const std::string& database = "postgres") const;

  // Any statements, as the superuser; the first field of the last one's first row, empty if it has none.
  // Throws std::runtime_error with the server's message.
  std::string execute(const std::string& sql, const std::string& database = "postgres") const;
  // The same on a connection that stays open, with whatever it has locked, until what it returns is gone.
  std::shared_ptr<void> leave_open(const std::string& sql, const std::string& database = "postgres") const;
};

}  // namespace holdfast::test
