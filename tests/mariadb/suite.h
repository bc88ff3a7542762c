// SPDX-License-Identifier: Apache-2.0
// suite.h - stores of ours and connections of somebody else on one database of a real MariaDB, and of a
// MySQL.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mysql.h>

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "holdfast/client.h"
#include "holdfast/spi/store.h"
#include "tests/support/await.h"
#include "tests/support/caller.h"
#include "tests/support/servers/maria_server.h"
#include "tests/support/servers/shared.h"

namespace holdfast::test {

using namespace std::chrono_literals;

// A plain connection of another program: each statement is a transaction of its own unless it says BEGIN.
// Like Java's driver it counts the rows that a statement finds.
class Stranger {
 public:
  Stranger(const MariaAddress& server, const std::string& database) {
    if (mysql_real_connect(handle_.get(), nullptr, MariaAddress::superuser, "", database.c_str(), 0,
                           server.socket().c_str(), CLIENT_FOUND_ROWS) == nullptr)
      throw std::runtime_error(mysql_error(handle_.get()));
  }
  // How many rows it found or changed.
  std::uint64_t run(const std::string& sql) {
    if (mysql_real_query(handle_.get(), sql.data(), sql.size()) != 0)
      throw std::runtime_error(mysql_error(handle_.get()));
    const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> rows(mysql_store_result(handle_.get()),
                                                                        mysql_free_result);
    return mysql_affected_rows(handle_.get());
  }
  // The number of its last error; zero: it was done.
  unsigned error_of(const std::string& sql) {
    const int failed = mysql_real_query(handle_.get(), sql.data(), sql.size());
    return failed == 0 ? 0 : mysql_errno(handle_.get());
  }

 private:
  const std::unique_ptr<MYSQL, decltype(&mysql_close)> handle_{mysql_init(nullptr), mysql_close};
};

// Asks again if a server whose disk is slow ended a statement as if its row were locked: nothing was done
// then.
class MariaCaller : public Caller {
 public:
  using Caller::Caller;

  Reply ask(const Request& request) override {
    for (const Instant until = soon();;) {
      Result<Reply> reply = try_ask(request);
      if (reply || reply.error().code != Errc::unavailable || BootClock::now() >= until)
        return std::move(reply).value();
    }
  }
};

// The error of connecting.
inline Error refused(const std::string& url) {
  const auto connected = try_store(url).value()->connect(soon());
  EXPECT_FALSE(connected);
  return connected ? Error{Errc::busy, ""} : connected.error();
}

// On MariaDB, and on MySQL: a database of its own in the server that the tests share.
class MariaTest : public ::testing::TestWithParam<bool> {
 protected:
  MariaTest() {
    if (const std::string why = mysql() ? mysql_missing() : mariadb_missing(); !why.empty())
      throw std::runtime_error(why);
    server().query("CREATE DATABASE " + database_);
  }
  ~MariaTest() override {
    try {
      server().query("DROP DATABASE " + database_);
    } catch (const std::exception&) {
      // It goes with the server.
    }
  }
  bool mysql() const { return GetParam(); }
  const MariaAddress& server() const { return mysql() ? shared_mysql() : shared_mariadb(); }
  std::string url() const { return server().url("app", database_); }
  std::string query(const std::string& sql) const { return server().query(sql, database_); }
  std::unique_ptr<Stranger> stranger() const { return std::make_unique<Stranger>(server(), database_); }
  // A call of ours in this database is under way, and somebody waits for a row: that call, or on a server
  // with other tests a call of theirs, so a scene may come too early and has to be played again.  Not by
  // INNODB_TRX: that is a copy, which is refreshed only when nobody has read it for 100 ms, so never while a
  // test polls it.
  bool somebody_waits() const {
    return asking() != "0" &&
           !query("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'").ends_with("\t0");
  }
  // The number of our connection that asks something just now, as KILL takes it; "0": none does.
  std::string asking() const {
    return query(
        "SELECT COALESCE(MAX(ID), 0) FROM information_schema.PROCESSLIST WHERE USER = 'app' AND COMMAND = "
        "'Query' "
        "AND DB = '" +
        database_ + "'");
  }

  const std::string database_ = "t_" + random_hex(16);
};

}  // namespace holdfast::test

#define HOLDFAST_ON_BOTH(Suite)                          \
  INSTANTIATE_TEST_SUITE_P(On, Suite, ::testing::Bool(), \
                           [](const auto& p) { return std::string(p.param ? "mysql" : "mariadb"); })
