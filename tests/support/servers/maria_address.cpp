// SPDX-License-Identifier: Apache-2.0
#include "tests/support/servers/maria_address.h"

#include <mysql.h>

#include <csignal>
#include <mutex>
#include <stdexcept>

namespace holdfast::test {
namespace {

using MariaConnection = std::unique_ptr<MYSQL, decltype(&mysql_close)>;

// Null and the reason in `why` if nobody answers.
MariaConnection try_connect(const std::string& socket, const std::string& database, std::string& why) {
  // mysql_init() of several threads at once would race in the library's first set-up.
  static std::once_flag once;
  std::call_once(once, [] {
    // It ignores SIGPIPE for the whole process, which whatever a test starts would inherit.
    struct sigaction before {};
    ::sigaction(SIGPIPE, nullptr, &before);
    (void)mysql_library_init(0, nullptr, nullptr);
    ::sigaction(SIGPIPE, &before, nullptr);
  });
  MariaConnection connection(mysql_init(nullptr), mysql_close);
  const unsigned int patience_s = 20;
  mysql_options(connection.get(), MYSQL_OPT_CONNECT_TIMEOUT, &patience_s);
  if (mysql_real_connect(connection.get(), nullptr, MariaAddress::superuser, "",
                         database.empty() ? nullptr : database.c_str(), 0, socket.c_str(),
                         CLIENT_MULTI_STATEMENTS) != nullptr)
    return connection;
  why = mysql_error(connection.get());
  return {nullptr, mysql_close};
}

MariaConnection connect(const MariaAddress& address, const std::string& database) {
  std::string why;
  MariaConnection connection = try_connect(address.socket(), database, why);
  if (connection == nullptr) throw std::runtime_error("cannot connect to MariaDB: " + why);
  return connection;
}

std::string text_of(MYSQL_RES* result) {
  std::string text;
  const unsigned int columns = mysql_num_fields(result);
  for (MYSQL_ROW row = nullptr; (row = mysql_fetch_row(result)) != nullptr;) {
    const unsigned long* sizes = mysql_fetch_lengths(result);
    if (!text.empty()) text += '\n';
    for (unsigned int i = 0; i < columns; ++i)
      text += (i > 0 ? "\t" : "") + (row[i] == nullptr ? "NULL" : std::string(row[i], sizes[i]));
  }
  return text;
}

std::string run(MYSQL* connection, const std::string& sql) {
  const auto refuse = [&] {
    throw std::runtime_error("MariaDB refuses " + sql + ": " + mysql_error(connection));
  };
  std::string text;
  if (mysql_real_query(connection, sql.data(), sql.size()) != 0) refuse();
  for (int more = 0; more == 0; more = mysql_next_result(connection)) {
    const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(mysql_store_result(connection),
                                                                          mysql_free_result);
    if (result != nullptr) text = text_of(result.get());
  }
  if (mysql_errno(connection) != 0) refuse();
  return text;
}

}  // namespace

std::string MariaAddress::url(const std::string& user, const std::string& database,
                              const std::string& password) const {
  const std::string login = password.empty() ? user : user + ":" + password;
  return (mysql_ ? "mysql://" : "mariadb://") + login + "@127.0.0.1:" + std::to_string(port_) + "/" +
         database;
}

std::string MariaAddress::query(const std::string& sql, const std::string& database) const {
  const MariaConnection connection = connect(*this, database);
  return run(connection.get(), sql);
}

std::shared_ptr<void> MariaAddress::leave_open(const std::string& sql, const std::string& database) const {
  MariaConnection connection = connect(*this, database);
  run(connection.get(), sql);
  return {connection.release(), [](void* open) { mysql_close(static_cast<MYSQL*>(open)); }};
}

bool MariaAddress::answers() const {
  std::string ignored;
  return try_connect(socket_, "", ignored) != nullptr;
}

}  // namespace holdfast::test
