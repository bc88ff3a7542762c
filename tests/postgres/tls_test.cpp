// SPDX-License-Identifier: Apache-2.0
// The server has to prove its name.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <thread>

#include "tests/postgres/suite.h"
#include "tests/support/listener.h"
#include "tests/support/servers/certificates.h"

namespace holdfast::test {
namespace {

class Tls : public ::testing::Test {
 protected:
  static std::string url(const PostgresServer& server, const std::string& parameters) {
    return "postgres://postgres:" + std::string(PostgresAddress::superuser_password) +
           "@localhost:" + std::to_string(server.port) + "/postgres?" + parameters;
  }
  std::string strict(const PostgresServer& server) const {
    return url(server, "sslmode=verify-full&sslrootcert=" + certificates_.authority());
  }
  // Calls plan(), which needs no tables.
  static Result<std::vector<std::string>> reach(const std::string& url) {
    return try_store(url).value()->admin()->plan(soon());
  }
  void expect_refused(const PostgresServer& server, const char* hint = "sslrootcert=") const {
    const auto reached = reach(strict(server));
    ASSERT_FALSE(reached);
    EXPECT_EQ(reached.error().code, Errc::refused) << reached.error().detail;
    EXPECT_THAT(reached.error().detail,
                ::testing::AllOf(::testing::HasSubstr(hint), ::testing::Not(::testing::HasSubstr("28000"))));
  }
  const Certificates certificates_;
};

TEST_F(Tls, the_right_certificate_is_accepted) {
  const PostgresServer server({.tls = certificates_.right(), .fsync = false});
  const auto reached = reach(strict(server));
  ASSERT_TRUE(reached) << reached.error().detail;
  make_tables(strict(server));
  Caller ours(strict(server));
  EXPECT_EQ(ours.acquire("k", "ann").verdict, Verdict::granted);
  EXPECT_EQ(server.execute("SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE "
                           "application_name = 'holdfast'"),
            "t");
}

TEST_F(Tls, another_name_is_refused) {
  expect_refused(PostgresServer({.tls = certificates_.wrong_name(), .fsync = false}));
}

TEST_F(Tls, an_expired_certificate_is_refused) {
  expect_refused(PostgresServer({.tls = certificates_.expired(), .fsync = false}));
}

TEST_F(Tls, an_unknown_authority_is_refused) {
  expect_refused(PostgresServer({.tls = certificates_.self_signed(), .fsync = false}));
}

TEST_F(Tls, a_server_without_it_is_refused) {
  expect_refused(PostgresServer({.fsync = false}), "the server has no TLS");
}

// A host name that does not look local leads to the same server: hostaddr has its address.  A server that is
// killed just then: it will be back, and nobody has lied about a name.
TEST_F(Tls, a_server_that_ends_while_hands_are_shaken_is_unreachable_and_not_refused) {
  const Listener listener;
  const std::jthread server([&] {
    const Fd caller = listener.accept();
    char question[8];
    EXPECT_EQ(::recv(caller.get(), question, sizeof question, MSG_WAITALL), 8);
  });
  const auto reached = reach("postgres://postgres@" + listener.place() +
                             "/postgres?sslmode=verify-full&sslrootcert=" + certificates_.authority());
  ASSERT_FALSE(reached);
  EXPECT_EQ(reached.error().code, Errc::unavailable) << reached.error().detail;
}

TEST_F(Tls, a_host_that_is_not_local_has_to_prove_its_name_by_default) {
  const PostgresServer server({.tls = certificates_.right(), .fsync = false});
  const std::string elsewhere = "postgres://postgres:" + std::string(PostgresAddress::superuser_password) +
                                "@db.example:" + std::to_string(server.port) + "/postgres?hostaddr=127.0.0.1";
  EXPECT_TRUE(reach(elsewhere)) << "the address is local";
  const auto refused = reach(elsewhere + "&sslmode=verify-full");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused);
}

}  // namespace
}  // namespace holdfast::test
