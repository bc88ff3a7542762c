// SPDX-License-Identifier: Apache-2.0
// URLs: what they mean, what is refused, and that no password is ever repeated.
#include "tests/redis/suite.h"

namespace holdfast::test {
namespace {

TEST(UrlOfRedis, means_what_redis_users_expect) {
  const struct {
    std::string_view url, name;
  } table[] = {
      {"redis://", "redis://localhost:6379"},
      {"redis://localhost", "redis://localhost:6379"},
      {"redis://localhost/", "redis://localhost:6379"},
      {"redis://db.example:7000/3", "redis://db.example:7000/3"},
      {"redis://ann:canary@db.example", "redis://db.example:6379"},
      {"redis://:canary@db.example", "redis://db.example:6379"},
      {"redis://[::1]:7000", "redis://[::1]:7000"},
      {"redis://db?prefix=locks:", "redis://db:6379?prefix=locks:"},
      {"redis://db?db=4", "redis://db:6379/4"},
      {"rediss://db.example/1", "rediss://db.example:6379/1"},
      {"redis+unix:///run/redis.sock", "redis+unix:///run/redis.sock"},
      {"redis+unix:/run/redis.sock", "redis+unix:///run/redis.sock"},
      {"redis://db/4?db=4", "redis://db:6379/4"},
      {"redis+unix:///run/redis.sock?db=2&prefix=a", "redis+unix:///run/redis.sock?db=2&prefix=a"},
      {"redis+unix://:canary@/run/redis.sock", "redis+unix:///run/redis.sock"},
  };
  for (const auto& row : table) {
    const auto store = try_store(row.url);
    ASSERT_TRUE(store) << row.url << ": " << store.error().detail;
    EXPECT_EQ((*store)->name(), row.name);
  }
}

TEST(UrlOfRedis, is_refused_with_what_would_be_right_and_without_the_password) {
  const struct {
    std::string_view url, told;
  } table[] = {
      {"redis:localhost", "//user:password@host"},
      {"redis://localhost:port", "1 to 65535"},
      {"redis://localhost:port", "\"port\""},
      {"redis://127.0.0.1:abc", "\"abc\""},
      {"redis://ann:canary@db.example:abc", "\"abc\""},
      {"redis://localhost:0", "1 to 65535"},
      {"redis://localhost:70000", "1 to 65535"},
      {"redis://localhost/nightly", "number of a database"},
      {"redis://localhost/nightly", "\"nightly\""},
      {"redis://localhost/1?db=2", "two databases"},
      {"redis://localhost/0?db=2", "two databases"},
      {"redis://localhost?db=1&db=2", "two databases"},
      {"redis://localhost/-1", "number of a database"},
      {"redis://localhost?db=x", "db=x is not the number"},
      // Passwords that are not encoded, or whose host was forgotten.
      {"redis://ann:canary", "1 to 65535"},
      {"redis://first.last:canary", "1 to 65535"},
      {"redis://:canary", "1 to 65535"},
      {"redis://ann:canary%40localhost", "1 to 65535"},
      {"redis://ann:x@10.0.0.1:canary?x=y@localhost", "1 to 65535"},
      {"redis://localhost:1/canary?x=y@localhost", "number of a database"},
      {"redis://ann:1?canary=y@localhost", "not a parameter"},
      {"redis://ann:1?db=canary@localhost", "number of a database"},
      {"redis://ann:1?unsafe=canary@localhost", "unsafe=allow"},
      {"redis://ann@localhost", "without a password"},
      {"redis://[::1", "without a ]"},
      {"redis://ann:cana/ry@localhost", "%2F"},
      {"redis://ann:cana%zzry@localhost", "hex"},
      {"redis://ann:canary:@[::1]x", "follow the ]"},
      {"redis://localhost?table=locks", "\"table\""},
      {"redis://localhost?cacert=/x", "rediss"},
      {"redis://localhost?unsafe=yes", "unsafe=allow"},
      {"redis://localhost?accept=redis.append-only", "write one of redis.account, redis.append-errors"},
      {"redis://localhost?accept=mongodb.tls", "write one of redis."},
      {"redis://ann:1?accept=canary@localhost", "write one of redis."},
      {"redis://localhost?layout=resque", "layout=resque: invalid value"},
      {"redis://localhost?layout=resque", "layout=active_job_lock"},
      {"redis://ann:1?layout=canary@localhost", "layout=active_job_lock"},
      {"redis://localhost?prefix=holdfast:x", "reserved"},
      {"rediss://localhost?cert=/x", "both"},
      {"redis+unix://localhost/run/x.sock", "three /"},
      {"redis+unix:///", "no socket is given"},
      {"redis+unix:", "no socket is given"},
      {"redis+unix://", "no socket is given"},
      {"redis+unix:/", "no socket is given"},
      {"redis+unix:run/x.sock", "start with /"},
      {"redis+unix:///x?cacert=/x", "rediss"},
  };
  for (const auto& row : table) {
    const auto store = try_store(row.url);
    ASSERT_FALSE(store) << row.url;
    EXPECT_EQ(store.error().code, Errc::invalid) << row.url;
    EXPECT_TRUE(mentions(store.error().detail, row.told)) << row.url << ": " << store.error().detail;
    EXPECT_FALSE(mentions(store.error().detail, "cana")) << store.error().detail;
  }
}

TEST(UrlOfRedis, a_password_opens_and_a_wrong_one_is_refused_and_not_repeated) {
  const RedisServer server({.password = "canary/@:?"});
  const std::string place = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_TRUE(try_connect("redis://:canary%2F%40%3A%3F@" + place));
  EXPECT_TRUE(try_connect("redis://default:canary%2F%40%3A%3F@" + place));
  for (const std::string login : {"", ":other-canary@", "ann:other-canary@"}) {
    const Status status = try_connect("redis://" + login + place);
    ASSERT_FALSE(status) << login;
    EXPECT_EQ(status.error().code, Errc::refused) << status.error().detail;
    EXPECT_FALSE(mentions(status.error().detail, "canary")) << status.error().detail;
    EXPECT_TRUE(mentions(status.error().detail, "password")) << status.error().detail;
  }
}

TEST(UrlOfRedis, a_unix_socket_is_a_server_too) {
  const RedisServer server;
  Caller by_socket("redis+unix://" + server.socket() + "?db=1"), by_port(server.url() + "/1");
  EXPECT_EQ(by_socket.acquire("k", "ann").verdict, Verdict::granted);
  EXPECT_EQ(by_port.acquire("k", "bob").verdict, Verdict::busy);
  const Status nobody = try_connect("redis+unix://" + server.folder() + "/no.sock");
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Errc::unavailable);
  EXPECT_TRUE(mentions(nobody.error().detail, "/no.sock")) << nobody.error().detail;
  const Status too_long = try_connect("redis+unix:///" + std::string(200, 'x'));
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code, Errc::invalid);
}

TEST(UrlOfRedis, a_database_that_the_server_does_not_have_is_refused) {
  const RedisServer server;
  const Status status = try_connect(server.url() + "/4000");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::refused) << status.error().detail;
  EXPECT_TRUE(mentions(status.error().detail, "no database 4000")) << status.error().detail;
}

}  // namespace
}  // namespace holdfast::test
