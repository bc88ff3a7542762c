// SPDX-License-Identifier: Apache-2.0
// The server has to prove its name.
#include <cstdlib>

#include "tests/mariadb/suite.h"
#include "tests/support/servers/certificates.h"

namespace holdfast::test {
namespace {

class MariaTls : public ::testing::TestWithParam<bool> {
 protected:
  std::string url(const MariaServer& server) const {
    return "mariadb://app:p@localhost:" + std::to_string(server.port()) +
           "/app?tls=require&ssl-ca=" + certificates_.authority();
  }
  // Calls plan(), which needs no tables.
  static Result<std::vector<std::string>> reach(const std::string& url) {
    return try_store(url).value()->admin()->plan(soon());
  }
  void expect_refused(const MariaServer& server) const {
    const auto reached = reach(url(server));
    ASSERT_FALSE(reached);
    EXPECT_EQ(reached.error().code, Errc::refused) << reached.error().detail;
    EXPECT_THAT(reached.error().detail, ::testing::HasSubstr("ssl-ca="));
  }
  MariaServer with(std::optional<Certificate> certificate) const {
    return MariaServer({.password = "p", .tls = std::move(certificate), .mysql = GetParam(), .fsync = false});
  }
  const Certificates certificates_;
};

TEST_P(MariaTls, the_right_certificate_is_accepted) {
  const MariaServer server = with(certificates_.right());
  const auto reached = reach(url(server));
  ASSERT_TRUE(reached) << reached.error().detail;
  make_tables(url(server));
  MariaCaller ours(url(server));
  EXPECT_EQ(ours.acquire("k", "ann").verdict, Verdict::granted);
  EXPECT_THAT(server.query("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'app'"), "1");
}

// The server's own error: it accepts this user over TLS only.
TEST_P(MariaTls, what_is_sent_there_is_encrypted) {
  const MariaServer server = with(certificates_.right());
  server.query("ALTER USER app@'%' REQUIRE SSL");
  const auto plain = reach("mariadb://app:p@127.0.0.1:" + std::to_string(server.port()) + "/app");
  ASSERT_FALSE(plain);
  EXPECT_EQ(plain.error().code, Errc::refused) << plain.error().detail;
  const auto reached = reach(url(server));
  EXPECT_TRUE(reached) << reached.error().detail;
}

TEST_P(MariaTls, another_name_is_refused) { expect_refused(with(certificates_.wrong_name())); }

// Connector/C 3.4 does not compare 127.0.0.1 and ::1 with the certificate.
TEST_P(MariaTls, an_address_that_is_not_in_the_certificate_is_refused) {
  const MariaServer server = with(certificates_.wrong_name());
  std::string by_address = url(server);
  by_address.replace(by_address.find("localhost"), 9, "0.0.0.0");
  const auto reached = reach(by_address);
  ASSERT_FALSE(reached);
  EXPECT_EQ(reached.error().code, Errc::refused) << reached.error().detail;
}

TEST_P(MariaTls, an_expired_certificate_is_refused) { expect_refused(with(certificates_.expired())); }

TEST_P(MariaTls, an_unknown_authority_is_refused) { expect_refused(with(certificates_.self_signed())); }

// The system's authorities do not know ours.
TEST_P(MariaTls, without_an_authority_only_what_the_system_knows_is_accepted) {
  const MariaServer server = with(certificates_.right());
  const std::string url = "mariadb://app:p@localhost:" + std::to_string(server.port()) + "/app?tls=require";
  const auto refused = reach(url);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused) << refused.error().detail;

  const char* const before = std::getenv("SSL_CERT_FILE");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("SSL_CERT_FILE", certificates_.authority().c_str(), 1);
  const auto reached = reach(url);
  if (before == nullptr)
    ::unsetenv("SSL_CERT_FILE");
  else
    ::setenv("SSL_CERT_FILE", kept.c_str(), 1);
  EXPECT_TRUE(reached) << reached.error().detail;
}

TEST_P(MariaTls, an_address_is_a_name_too) {
  const MariaServer server = with(certificates_.right());
  std::string by_address = url(server);
  by_address.replace(by_address.find("localhost"), 9, "127.0.0.1");
  const auto reached = reach(by_address);
  EXPECT_TRUE(reached) << reached.error().detail;
}

// Any address of this machine but 127.x is not local by its letters.
TEST_P(MariaTls, a_host_that_is_not_local_is_never_spoken_to_in_the_clear) {
  const MariaServer server(
      {.lines = {GetParam() ? "tls_version=" : "skip_ssl"}, .mysql = GetParam(), .fsync = false});
  const std::string port = std::to_string(server.port());
  EXPECT_TRUE(reach("mariadb://app@127.0.0.1:" + port + "/app"));
  const auto reached = reach("mariadb://app@0.0.0.0:" + port + "/app");
  ASSERT_FALSE(reached);
  EXPECT_EQ(reached.error().code, Errc::refused) << reached.error().detail;
}

TEST_P(MariaTls, a_server_without_it_is_refused) {
  expect_refused(MariaServer({.lines = {GetParam() ? "tls_version=" : "skip_ssl"},
                              .password = "p",
                              .mysql = GetParam(),
                              .fsync = false}));
}

HOLDFAST_ON_BOTH(MariaTls);

}  // namespace
}  // namespace holdfast::test
