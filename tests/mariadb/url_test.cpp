// SPDX-License-Identifier: Apache-2.0
// What a URL may contain, and what it may not.
#include "tests/mariadb/suite.h"

namespace holdfast::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string name_of(const std::string& url) { return try_store(url).value()->name(); }

TEST(MariaUrl, is_shown_without_its_password) {
  EXPECT_EQ(name_of("mariadb://app:secret@db.example/app"), "mariadb://app@db.example/app");
  EXPECT_EQ(name_of("mysql://app@localhost:3307/app?password=secret&table=orders"),
            "mysql://app@localhost:3307/app?table=orders");
  EXPECT_EQ(name_of("mariadb://app@localhost/app?layout=shedlock&table=shedlock"),
            "mariadb://app@localhost/app?layout=shedlock");
  EXPECT_EQ(name_of("mariadb://app@localhost/app?layout=darwin"),
            "mariadb://app@localhost/app?layout=darwin");
  EXPECT_EQ(name_of("mariadb://app@localhost/app?layout=own"), "mariadb://app@localhost/app");
  EXPECT_EQ(name_of("mariadb:///app?socket=/run/my.sock"), "mariadb:///app?socket=/run/my.sock");
}

TEST(MariaUrl, says_what_is_wrong_with_it) {
  const auto wrong = [](const std::string& url, const char* words) {
    const auto made = try_store(url);
    ASSERT_FALSE(made) << url;
    EXPECT_EQ(made.error().code, Errc::invalid);
    EXPECT_THAT(made.error().detail, AllOf(HasSubstr(words), Not(HasSubstr("secret"))));
  };
  wrong("mariadb://app@localhost", "no database is given; write mariadb://");
  wrong("mysql://app@localhost", "mysql: no database is given; write mysql://");
  wrong("mariadb://app@localhost/a/b", "one database");
  wrong("mariadb://app@localhost/app?layout=other", "layout=darwin");
  wrong("mariadb://app@localhost/app?layout=other", "layout=shedlock");
  wrong("mariadb://app@localhost/app?tls=off", "tls=require");
  wrong("mariadb://app@localhost/app?tabel=x", "URLs; write table=");
  wrong("mariadb://app@localhost/app?accept=mariadb.tls", "write one of mariadb.binlog-format, ");
  wrong("mariadb://app:1?accept=secret@localhost/app", "write one of mariadb.");
  wrong("mariadb://app@localhost/app?ssl-ca=/x", "tls=require");
  wrong("mariadb://app@db.example/app?ssl-cert=/x", "ssl-key");
  wrong("mariadb://app@localhost:secret/app?socket=a@b", "port");
  wrong("mariadb://app@localhost/app?table=1", "cannot be a table name");
}

TEST(MariaUrl, in_names_another_table) {
  const auto store = try_store("mariadb://app:secret@localhost/app").value();
  EXPECT_EQ(store->in("orders").value()->name(), "mariadb://app@localhost/app?table=orders");
  EXPECT_FALSE(store->in("or-ders"));
}

// MySQL's caching_sha2_password too, which asks for TLS or a key of the server.
TEST(MariaUrl, a_password_opens_both_without_tls_on_this_machine) {
  for (const bool mysql : {false, true}) {
    const MariaServer server({.password = "p%@:/", .mysql = mysql, .fsync = false});
    const std::string url = "mariadb://app:p%25%40%3A%2F@127.0.0.1:" + std::to_string(server.port()) + "/app";
    const auto made = try_store(url).value()->admin()->init(soon());
    EXPECT_TRUE(made) << made.error().detail;
  }
}

TEST(MariaUrl, a_password_may_come_from_the_environment) {
  const MariaServer server({.password = "from outside", .fsync = false});
  const std::string url = "mariadb://app@127.0.0.1:" + std::to_string(server.port()) + "/app";
  const auto reach = [&] { return try_store(url).value()->admin()->plan(soon()); };
  ASSERT_FALSE(reach());
  ASSERT_EQ(::setenv("MYSQL_PWD", "from outside", 1), 0);
  const auto reached = reach();
  ::unsetenv("MYSQL_PWD");
  EXPECT_TRUE(reached) << reached.error().detail;
}

TEST(MariaUrl, a_socket_is_used_in_place_of_a_host) {
  const MariaServer server({.fsync = false});
  const std::string url = "mariadb://app@/app?socket=" + server.socket();
  make_tables(url);
  EXPECT_EQ(MariaCaller(url).acquire("k", "ann").verdict, Verdict::granted);
}

}  // namespace
}  // namespace holdfast::test
