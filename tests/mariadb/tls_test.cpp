// SPDX-License-Identifier: Apache-2.0
// Who answers has to prove its name.
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
  // What plan() says: it needs no tables.
  static Result<std::vector<std::string>> reach(const std::string& url) {
    return try_origin(url).value()->steward()->plan(soon());
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
  Ours ours(url(server));
  EXPECT_EQ(ours.acquire("k", "ann").verdict, Verdict::granted);
  EXPECT_THAT(server.query("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'app'"), "1");
}

TEST_P(MariaTls, another_name_is_refused) { expect_refused(with(certificates_.wrong_name())); }

TEST_P(MariaTls, an_expired_certificate_is_refused) { expect_refused(with(certificates_.expired())); }

TEST_P(MariaTls, an_unknown_authority_is_refused) { expect_refused(with(certificates_.self_signed())); }

TEST_P(MariaTls, a_server_without_it_is_refused) {
  expect_refused(MariaServer({.lines = {GetParam() ? "tls_version=" : "skip_ssl"},
                              .password = "p",
                              .mysql = GetParam(),
                              .fsync = false}));
}

HOLDFAST_ON_BOTH(MariaTls);

}  // namespace
}  // namespace holdfast::test
