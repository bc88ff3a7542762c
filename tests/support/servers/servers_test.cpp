// SPDX-License-Identifier: Apache-2.0
// The servers of the other tests: each promise of the harness, once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "tests/support/freeze.h"
#include "tests/support/servers/pgbouncer.h"
#include "tests/support/servers/postgres_server.h"
#include "tests/support/servers/process_checks.h"
#include "tests/support/servers/redis_server.h"
#include "tests/support/servers/shared.h"

namespace holdfast::test {
namespace {

using testing::HasSubstr;

class Redis : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = redis_missing(); !why.empty()) GTEST_SKIP() << why;
  }
};

class Postgres : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = postgres_missing(); !why.empty()) GTEST_SKIP() << why;
  }
};

// A backend of PostgreSQL that ends while its postmaster is frozen stays a zombie: nobody reaps it.
TEST(Freeze, counts_a_process_that_has_ended_as_still) {
  const int ended = ::fork();
  if (ended == 0) ::_exit(0);
  ASSERT_TRUE(await([&] { return state_of(ended) == "Z"; }));
  freeze(ended);
  EXPECT_EQ(::waitpid(ended, nullptr, 0), ended);
}

TEST_F(Redis, keeps_its_port_and_its_data_when_it_is_stopped_and_when_it_is_killed) {
  RedisServer server;
  const int port = server.port();
  EXPECT_EQ(server.command({"INCR", "n"}), "1");
  server.stop();
  server.start();
  EXPECT_EQ(server.command({"INCR", "n"}), "2");
  server.kill();
  server.start();
  EXPECT_EQ(server.command({"INCR", "n"}), "3");
  EXPECT_EQ(server.port(), port);
}

TEST_F(Redis, leaves_no_process_and_no_folder_twice_in_a_row) {
  for (int round = 0; round < 2; ++round) {
    auto server = std::make_unique<RedisServer>();
    const int pid = server->pid();
    const std::string folder = server->folder();
    server.reset();
    EXPECT_TRUE(gone(pid));
    EXPECT_FALSE(std::filesystem::exists(folder));
  }
}

TEST_F(Redis, that_is_paused_answers_nothing_and_then_all) {
  RedisServer server;
  server.pause();
  EXPECT_TRUE(await([&] { return state_of(server.pid()) == "T"; }));
  std::string answer;
  std::thread asking([&] { answer = server.command({"PING"}); });
  server.resume();
  asking.join();
  EXPECT_EQ(answer, "PONG");
}

TEST_F(Redis, takes_lines_of_its_configuration_and_a_password) {
  const RedisServer server({.lines = {"maxmemory 3mb"}, .password = "open"});
  EXPECT_EQ(server.command({"CONFIG", "GET", "maxmemory"}), "maxmemory\n3145728");
  EXPECT_THAT(server.url(), HasSubstr(":open@127.0.0.1:"));
}

TEST_F(Redis, that_cannot_start_says_why) {
  try {
    const RedisServer server({.lines = {"maxmemory plenty"}});
    FAIL() << "started";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("maxmemory plenty"));
  }
}

TEST_F(Redis, started_by_a_thread_outlives_the_thread) {
  std::unique_ptr<RedisServer> server;
  std::thread([&] { server = std::make_unique<RedisServer>(); }).join();
  EXPECT_EQ(server->command({"PING"}), "PONG");
}

TEST_F(Redis, speaks_tls_on_a_port_of_its_own) {
  if (const std::string why = openssl_missing(); !why.empty()) GTEST_SKIP() << why;
  const Certificates certificates;
  const RedisServer server({.tls = certificates.right()});
  EXPECT_NE(server.tls_port(), server.port());
  EXPECT_EQ(server.command({"CONFIG", "GET", "tls-port"}), "tls-port\n" + std::to_string(server.tls_port()));
}

TEST_F(Redis, ends_and_takes_its_folder_along_when_the_test_is_killed) {
  expect_it_to_end_with_the_test([] { return std::make_unique<RedisServer>(); });
}

TEST_F(Postgres, keeps_its_port_and_its_data_when_it_is_stopped_and_when_it_is_killed) {
  PostgresServer server;
  const int port = server.port;
  server.execute("CREATE TABLE t(n int); INSERT INTO t VALUES (1)");
  server.stop();
  server.start();
  EXPECT_EQ(server.execute("UPDATE t SET n = n + 1 RETURNING n"), "2");
  server.kill();
  server.start();
  EXPECT_EQ(server.execute("SELECT n FROM t"), "2");
  EXPECT_EQ(server.execute("SHOW fsync"), "on");
  EXPECT_EQ(server.port, port);
}

TEST_F(Postgres, that_is_killed_leaves_no_backend) {
  PostgresServer server({.fsync = false});
  const std::unique_ptr<PGconn, decltype(&PQfinish)> open(PQconnectdb(server.url().c_str()), PQfinish);
  ASSERT_EQ(PQstatus(open.get()), CONNECTION_OK) << PQerrorMessage(open.get());
  const int backend = PQbackendPID(open.get());
  server.pause_backend(backend);
  EXPECT_TRUE(await([&] { return state_of(backend) == "T"; }));
  const int postmaster = server.pid();
  server.kill();
  EXPECT_FALSE(alive(backend));
  EXPECT_FALSE(alive(postmaster));
}

TEST_F(Postgres, that_is_paused_answers_nothing_and_then_all) {
  PostgresServer server({.fsync = false});
  server.pause();
  EXPECT_TRUE(await([&] { return state_of(server.pid()) == "T"; }));
  std::string answer;
  std::thread asking([&] { answer = server.execute("SELECT 7"); });
  server.resume();
  asking.join();
  EXPECT_EQ(answer, "7");
}

TEST_F(Postgres, leaves_no_process_and_no_folder) {
  auto server = std::make_unique<PostgresServer>(PostgresOptions{.fsync = false});
  const int pid = server->pid();
  const std::string folder = server->folder();
  server.reset();
  EXPECT_TRUE(gone(pid));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(Postgres, requires_a_password_over_tcp_and_speaks_tls) {
  if (const std::string why = openssl_missing(); !why.empty()) GTEST_SKIP() << why;
  const Certificates certificates;
  const PostgresServer server({.tls = certificates.right(), .fsync = false});
  server.execute("CREATE ROLE guest LOGIN PASSWORD 'welcome'");
  const auto come = [&](const std::string& password) {
    const std::string url = server.url("guest", "postgres", password) +
                            "?sslmode=verify-full&sslrootcert=" + certificates.authority();
    const std::unique_ptr<PGconn, decltype(&PQfinish)> guest(PQconnectdb(url.c_str()), PQfinish);
    return std::string(PQerrorMessage(guest.get()));
  };
  EXPECT_EQ(come("welcome"), "");
  EXPECT_THAT(come("wrong"), HasSubstr("password authentication failed"));
}

TEST_F(Postgres, is_shared_where_a_schema_of_ones_own_will_do) {
  EXPECT_EQ(shared_postgres().execute("SELECT current_user"), "postgres");
  EXPECT_EQ(&shared_postgres(), &shared_postgres());
}

TEST_F(Postgres, is_reached_through_pgbouncer) {
  if (const std::string why = pgbouncer_missing(); !why.empty()) GTEST_SKIP() << why;
  const PgBouncer bouncer(shared_postgres());
  const std::unique_ptr<PGconn, decltype(&PQfinish)> open(PQconnectdb(bouncer.url().c_str()), PQfinish);
  ASSERT_EQ(PQstatus(open.get()), CONNECTION_OK) << PQerrorMessage(open.get());
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(open.get(), "SELECT 7"), PQclear);
  EXPECT_STREQ(PQgetvalue(result.get(), 0, 0), "7");
}

}  // namespace
}  // namespace holdfast::test
