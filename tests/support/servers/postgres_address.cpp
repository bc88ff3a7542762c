// SPDX-License-Identifier: Apache-2.0
#include "tests/support/servers/postgres_address.h"

#include <libpq-fe.h>

#include <memory>
#include <stdexcept>

namespace holdfast::test {
namespace {

using PgConnection = std::unique_ptr<PGconn, decltype(&PQfinish)>;

PgConnection connect(const PostgresAddress& address, const std::string& database) {
  const std::string where = address.socket_url(PostgresAddress::superuser, database) +
                            "&password=" + PostgresAddress::superuser_password +
                            "&connect_timeout=20&application_name=test";
  PgConnection connection(PQconnectdb(where.c_str()), PQfinish);
  if (PQstatus(connection.get()) != CONNECTION_OK)
    throw std::runtime_error(std::string("cannot connect to PostgreSQL: ") +
                             PQerrorMessage(connection.get()));
  PQsetNoticeProcessor(
      connection.get(), [](void*, const char*) {}, nullptr);
  return connection;
}

std::string run(PGconn* connection, const std::string& sql) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection, sql.c_str()), PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY)
    throw std::runtime_error("PostgreSQL refuses " + sql + ": " + PQerrorMessage(connection));
  return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}

}  // namespace

std::string PostgresAddress::url(const std::string& user, const std::string& database,
                                 const std::string& password) const {
  const std::string login = password.empty() ? user : user + ":" + password;
  return "postgres://" + login + "@127.0.0.1:" + std::to_string(port) + "/" + database;
}

std::string PostgresAddress::socket_url(const std::string& user, const std::string& database) const {
  return "postgres:///" + database + "?host=" + socket_folder + "&port=" + std::to_string(port) +
         "&user=" + user;
}

std::string PostgresAddress::execute(const std::string& sql, const std::string& database) const {
  const PgConnection connection = connect(*this, database);
  return run(connection.get(), sql);
}

std::shared_ptr<void> PostgresAddress::leave_open(const std::string& sql, const std::string& database) const {
  PgConnection connection = connect(*this, database);
  run(connection.get(), sql);
  return {connection.release(), PQfinish};
}

}  // namespace holdfast::test
