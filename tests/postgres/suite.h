// SPDX-License-Identifier: Apache-2.0
// suite.h - stores of ours and connections of somebody else on one table of a real server.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "holdfast/client.h"
#include "holdfast/spi/store.h"
#include "stores/postgres/driver.h"
#include "tests/support/await.h"
#include "tests/support/caller.h"
#include "tests/support/servers/postgres_server.h"
#include "tests/support/servers/shared.h"

namespace holdfast::test {

using namespace std::chrono_literals;

// A plain connection of another program: each statement is a transaction of its own unless it says BEGIN.
class Psql {
 public:
  explicit Psql(const std::string& url) {
    postgres::load_libpq().value();  // its owners free by it
    connection_.reset(PQconnectdb(url.c_str()));
    if (PQstatus(connection_.get()) != CONNECTION_OK)
      throw std::runtime_error(PQerrorMessage(connection_.get()));
  }
  // The number of rows that it changed or found.
  int run(const std::string& sql, const std::vector<std::string>& parameters = {}) {
    const postgres::OwnedResult result = ask(sql, parameters);
    const char* changed = PQcmdTuples(result.get());
    return *changed != '\0' ? std::stoi(changed) : PQntuples(result.get());
  }
  // The first field; "(null)" for NULL, empty without a row.
  std::string value(const std::string& sql, const std::vector<std::string>& parameters = {}) {
    const postgres::OwnedResult result = ask(sql, parameters);
    if (PQntuples(result.get()) == 0) return "";
    return PQgetisnull(result.get(), 0, 0) == 1 ? "(null)" : PQgetvalue(result.get(), 0, 0);
  }
  // By the protocol, which, unlike PREPARE, takes any statement.
  void prepare(const std::string& sql) {
    check(postgres::OwnedResult(PQprepare(connection_.get(), "", sql.c_str(), 0, nullptr)));
  }
  int backend() const { return PQbackendPID(connection_.get()); }

 private:
  static postgres::OwnedResult check(postgres::OwnedResult result) {
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
      throw std::runtime_error(PQresultErrorMessage(result.get()));
    return result;
  }
  postgres::OwnedResult ask(const std::string& sql, const std::vector<std::string>& parameters) {
    std::vector<const char*> values;
    for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
    // Several statements at once go only without parameters.
    return check(postgres::OwnedResult(values.empty() ? PQexec(connection_.get(), sql.c_str())
                                                      : PQexecParams(connection_.get(), sql.c_str(),
                                                                     static_cast<int>(values.size()), nullptr,
                                                                     values.data(), nullptr, nullptr, 0)));
  }
  postgres::OwnedConnection connection_;
};

// The server process of the client of ours that asked last.
inline int backend(Psql& psql) {
  return std::stoi(
      psql.value("SELECT pid FROM pg_stat_activity WHERE application_name = 'holdfast' AND pid <> "
                 "pg_backend_pid() ORDER BY query_start DESC LIMIT 1"));
}

// A schema of its own in the server that the tests share.
class PostgresTest : public ::testing::Test {
 protected:
  PostgresTest() { shared_postgres().execute("CREATE SCHEMA " + schema_); }
  ~PostgresTest() override {
    try {
      shared_postgres().execute("DROP SCHEMA " + schema_ + " CASCADE");
    } catch (const std::exception&) {
      // It goes with the server.
    }
  }
  std::string url() const { return shared_postgres().url() + "?table=" + schema_ + ".locks"; }
  // As somebody else connects, with our schema in sight.
  std::unique_ptr<Psql> psql() const {
    auto connection = std::make_unique<Psql>(shared_postgres().url());
    connection->run("SET search_path = " + schema_);
    return connection;
  }

  const std::string schema_ = "t_" + random_hex(16);
};

// A database of its own, whose encoding lacks most letters.
class LatinDatabase {
 public:
  LatinDatabase() {
    shared_postgres().execute("CREATE DATABASE " + name_ +
                              " TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'");
    make_tables(url());
  }
  LatinDatabase(const LatinDatabase&) = delete;
  LatinDatabase& operator=(const LatinDatabase&) = delete;
  ~LatinDatabase() {
    try {
      shared_postgres().execute("DROP DATABASE " + name_ + " WITH (FORCE)");
    } catch (const std::exception&) {
      // It goes with the server.
    }
  }
  std::string url() const { return shared_postgres().url(PostgresAddress::superuser, name_); }

 private:
  const std::string name_ = "latin_" + random_hex(16);
};

}  // namespace holdfast::test
