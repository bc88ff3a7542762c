// SPDX-License-Identifier: Apache-2.0
#include "tests/support/servers/maria_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mysql.h>

#include <memory>
#include <thread>

#include "tests/support/servers/process_checks.h"
#include "tests/support/servers/shared.h"

namespace holdfast::test {
namespace {

using testing::HasSubstr;

// MariaDB, and MySQL where it could be fetched.
class Maria : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (const std::string why = mariadb_missing(); !why.empty()) GTEST_SKIP() << why;
  }
  static bool mysql() { return GetParam() == "mysql"; }
};

std::vector<std::string> both() {
  return mysql_missing().empty() ? std::vector<std::string>{"mariadb", "mysql"}
                                 : std::vector<std::string>{"mariadb"};
}

TEST_P(Maria, keeps_its_port_and_its_data_when_it_is_stopped_and_when_it_is_killed) {
  MariaServer server({.mysql = mysql()});
  const int port = server.port();
  server.query("CREATE TABLE t(n int); INSERT INTO t VALUES (1)", "app");
  server.stop();
  server.start();
  server.query("UPDATE t SET n = n + 1", "app");
  server.kill();
  server.start();
  EXPECT_EQ(server.query("SELECT n, NULL FROM t UNION SELECT 7, 'x'", "app"), "2\tNULL\n7\tx");
  EXPECT_EQ(server.query("SELECT @@innodb_flush_log_at_trx_commit"), "1");
  EXPECT_EQ(server.port(), port);
}

TEST_P(Maria, is_what_it_says) {
  const MariaServer server({.mysql = mysql()});
  EXPECT_EQ(server.query("SELECT VERSION() LIKE '%MariaDB%'"), mysql() ? "0" : "1");
  EXPECT_THAT(server.url(), HasSubstr(mysql() ? "mysql://app@127.0.0.1:" : "mariadb://app@127.0.0.1:"));
}

TEST_P(Maria, runs_beside_another_and_leaves_no_process_and_no_folder) {
  auto one = std::make_unique<MariaServer>(MariaOptions{.mysql = mysql(), .fsync = false});
  const MariaServer other({.mysql = mysql(), .fsync = false});
  one->query("CREATE DATABASE mine");
  EXPECT_EQ(other.query("SHOW DATABASES LIKE 'mine'"), "");
  const int pid = one->pid();
  const std::string folder = one->folder();
  one.reset();
  EXPECT_TRUE(gone(pid));
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_EQ(other.query("SELECT 7"), "7");
}

TEST_P(Maria, that_is_paused_answers_nothing_and_then_all) {
  MariaServer server({.mysql = mysql(), .fsync = false});
  server.pause();
  EXPECT_TRUE(await([&] { return state_of(server.pid()) == "T"; }));
  std::string answer;
  std::thread asking([&] { answer = server.query("SELECT 7"); });
  server.resume();
  asking.join();
  EXPECT_EQ(answer, "7");
}

TEST_P(Maria, takes_lines_of_its_configuration_and_says_why_it_cannot_start) {
  const MariaServer server({.lines = {"max_connections = 33"}, .mysql = mysql(), .fsync = false});
  EXPECT_EQ(server.query("SELECT @@max_connections"), "33");
  try {
    const MariaServer none({.lines = {"max_plenty = 1"}, .mysql = mysql()});
    FAIL() << "started";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("max_plenty"));
  }
}

TEST_P(Maria, requires_a_password_over_tcp_and_speaks_tls) {
  if (const std::string why = openssl_missing(); !why.empty()) GTEST_SKIP() << why;
  const Certificates certificates;
  const MariaServer server({.password = "welcome", .tls = certificates.right(), .mysql = mysql()});
  const auto come = [&](const char* password) {
    const std::unique_ptr<MYSQL, decltype(&mysql_close)> guest(mysql_init(nullptr), mysql_close);
    mysql_options(guest.get(), MYSQL_OPT_SSL_CA, certificates.authority().c_str());
    (void)mysql_real_connect(guest.get(), "127.0.0.1", "app", password, "app",
                             static_cast<unsigned int>(server.port()), nullptr, CLIENT_SSL);
    return std::string(mysql_error(guest.get()));
  };
  EXPECT_EQ(come("welcome"), "");
  EXPECT_THAT(come("wrong"), HasSubstr("Access denied"));
}

TEST_P(Maria, ends_and_takes_its_folder_along_when_the_test_is_killed) {
  expect_it_to_end_with_the_test(
      [] { return std::make_unique<MariaServer>(MariaOptions{.mysql = mysql(), .fsync = false}); });
}

TEST_P(Maria, is_shared_where_a_database_of_ones_own_will_do) {
  const MariaAddress& shared = mysql() ? shared_mysql() : shared_mariadb();
  EXPECT_EQ(shared.query("SELECT CURRENT_USER()"), "root@localhost");
  const auto open =
      shared.leave_open("CREATE DATABASE locked; CREATE TABLE locked.t(n int); LOCK TABLES locked.t WRITE");
  EXPECT_THROW(shared.query("SET lock_wait_timeout = 1; SELECT * FROM locked.t"), std::runtime_error);
}

INSTANTIATE_TEST_SUITE_P(On, Maria, testing::ValuesIn(both()), [](const auto& param) { return param.param; });

}  // namespace
}  // namespace holdfast::test
