// SPDX-License-Identifier: Apache-2.0
// TLS: the right server is spoken to, and no other.
#include <thread>

#include "tests/redis/suite.h"

namespace holdfast::test {
namespace {

class TlsOfRedis : public ::testing::Test {
 protected:
  std::string trusting(const RedisServer& server) const {
    return server.tls_url() + "?cacert=" + certificates_.authority();
  }
  Error refusal(const std::string& url, Instant until = soon()) {
    const Status status = try_connect(url, until);
    EXPECT_FALSE(status) << url;
    return status ? Error{Errc::invalid, "connected"} : status.error();
  }
  const Certificates certificates_;
};

TEST_F(TlsOfRedis, the_right_authority_and_the_right_name_are_accepted) {
  const RedisServer server({.tls = certificates_.right()});
  Caller caller(trusting(server));
  const Reply mine = caller.acquire("k", "ann");
  EXPECT_EQ(mine.verdict, Verdict::granted);
  EXPECT_EQ(caller.renew("k", "ann", mine.token).verdict, Verdict::granted);
  const std::string by_number =
      "rediss://127.0.0.1:" + std::to_string(server.tls_port()) + "?cacert=" + certificates_.authority();
  EXPECT_EQ(Caller(by_number).acquire("k", "bob").verdict, Verdict::busy);
}

TEST_F(TlsOfRedis, a_large_batch_and_a_long_answer_pass) {
  const RedisServer server({.tls = certificates_.right()});
  Caller caller(trusting(server));
  std::vector<std::string> keys;
  for (int i = 0; i < 500; ++i) keys.push_back(std::string(400, 'k') + std::to_string(i));
  std::vector<Request> requests;
  for (const std::string& key : keys)
    requests.push_back({.verb = Verb::acquire, .key = {key}, .owner = {"ann"}, .ttl = 1h});
  std::vector<Reply> replies(requests.size());
  ASSERT_TRUE(caller.connection().apply(requests, replies, soon()));
  for (const Reply& reply : replies) EXPECT_EQ(reply.verdict, Verdict::granted);
  EXPECT_EQ(caller.list({}).leases.size(), keys.size());
}

TEST_F(TlsOfRedis, waiters_are_notified) {
  const RedisServer server({.tls = certificates_.right()});
  Caller owner(trusting(server)), waiter(trusting(server));
  const auto listener = waiter.listener();
  owner.acquire("k", "ann");
  waiter.acquire("k", "bob", 1h, 1h);
  owner.release("k", "ann");
  pollfd line{listener->fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&line, 1, 20'000), 1);
  std::vector<std::string> keys;
  ASSERT_TRUE(await([&] {
    keys = listener->ready().value();
    return !keys.empty() && !keys[0].empty();
  }));
  EXPECT_EQ(keys, std::vector<std::string>{"k"});
}

TEST_F(TlsOfRedis, another_name_is_refused) {
  const RedisServer server({.tls = certificates_.wrong_name()});
  const Error error = refusal(trusting(server));
  EXPECT_EQ(error.code, Errc::refused);
  EXPECT_TRUE(mentions(error.detail, "localhost")) << error.detail;
  EXPECT_TRUE(mentions(error.detail, "hostname mismatch")) << error.detail;
}

TEST_F(TlsOfRedis, another_authority_is_refused_and_so_is_the_systems_where_ours_is_not_known) {
  const RedisServer server({.tls = certificates_.right()});
  const Certificates others;
  EXPECT_EQ(refusal(server.tls_url() + "?cacert=" + others.authority()).code, Errc::refused);
  EXPECT_EQ(refusal(server.tls_url()).code, Errc::refused);
}

TEST_F(TlsOfRedis, expired_and_self_signed_certificates_are_refused) {
  const RedisServer late({.tls = certificates_.expired()});
  const Error expired = refusal(trusting(late));
  EXPECT_EQ(expired.code, Errc::refused);
  EXPECT_TRUE(mentions(expired.detail, "expired")) << expired.detail;
  const RedisServer alone({.tls = certificates_.self_signed()});
  EXPECT_EQ(refusal(trusting(alone)).code, Errc::refused);
}

TEST_F(TlsOfRedis, a_server_without_tls_is_refused_and_not_spoken_to_in_the_clear) {
  const RedisServer server({.password = "canary"});
  const Error error = refusal(
      "rediss://:canary@localhost:" + std::to_string(server.port()) + "?cacert=" + certificates_.authority(),
      BootClock::now() + 2s);
  EXPECT_FALSE(mentions(error.detail, "canary"));
  // Redis 7 takes the greeting for the beginning of a long line, and waits for its end.  Redis 8 answers it.
  EXPECT_TRUE(error.code == Errc::unavailable || error.code == Errc::refused) << error.detail;
  EXPECT_TRUE(mentions(error.detail, "speak TLS")) << error.detail;
}

TEST_F(TlsOfRedis, speaking_in_the_clear_to_a_tls_port_fails_and_does_not_hang) {
  const RedisServer server({.tls = certificates_.right()});
  const Status status = try_connect("redis://localhost:" + std::to_string(server.tls_port()));
  ASSERT_FALSE(status);
  EXPECT_TRUE(mentions(status.error().detail, "rediss://") || status.error().code == Errc::unavailable)
      << status.error().detail;
}

TEST_F(TlsOfRedis, an_old_version_is_refused) {
  const RedisServer server({.lines = {"tls-protocols \"TLSv1.1\""}, .tls = certificates_.right()});
  EXPECT_EQ(refusal(trusting(server)).code, Errc::refused);
}

TEST_F(TlsOfRedis, a_server_that_wants_a_certificate_gets_ours) {
  const RedisServer server(
      {.lines = {"tls-auth-clients yes", "tls-ca-cert-file " + certificates_.authority()},
       .tls = certificates_.right()});
  EXPECT_FALSE(try_connect(trusting(server)));
  const Certificate mine = certificates_.client("ann");
  const Status status = try_connect(trusting(server) + "&cert=" + mine.certificate + "&key=" + mine.key);
  EXPECT_TRUE(status) << status.error().detail;
}

TEST_F(TlsOfRedis, files_that_are_not_there_are_refused_by_name) {
  const RedisServer server({.tls = certificates_.right()});
  EXPECT_TRUE(mentions(refusal(server.tls_url() + "?cacert=/no/such.crt").detail, "/no/such.crt"));
  EXPECT_TRUE(
      mentions(refusal(trusting(server) + "&cert=/no/mine.crt&key=/no/mine.key").detail, "/no/mine.crt"));
}

TEST_F(TlsOfRedis, a_frozen_server_ends_the_handshake_in_time) {
  RedisServer server({.tls = certificates_.right()});
  server.pause();
  const Status status = try_connect(trusting(server), BootClock::now() + 100ms);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::unavailable) << status.error().detail;
  server.resume();
}

}  // namespace
}  // namespace holdfast::test
