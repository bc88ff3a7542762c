// SPDX-License-Identifier: Apache-2.0
// A client in a static object, which is used when main() is over.
#include <cstdlib>

#include "tests/redis/suite.h"

namespace holdfast::test {
namespace {

// In a child of its own: takes a lease, and leaves it to the end of the process to give it back.
void hold_till_exit(const std::string& url) {
  static Client client = open(url);
  static const Lease lease = client.acquire("k", {.ttl = 1h});
  std::exit(lease.held() ? 0 : 1);
}

TEST(StaticOfRedis, a_lease_is_given_back_at_the_end_of_the_program) {
  const RedisServer server;
  EXPECT_EXIT(hold_till_exit(server.url()), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(server.command({"EXISTS", "holdfast:facts:{k}", "k"}), "1") << "it was held, and is free";
}

TEST(StaticOfRedis, and_so_it_is_through_tls) {
  const Certificates certificates;
  const RedisServer server({.tls = certificates.right()});
  EXPECT_EXIT(hold_till_exit(server.tls_url() + "?cacert=" + certificates.authority()),
              ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(server.command({"EXISTS", "holdfast:facts:{k}", "k"}), "1") << "it was held, and is free";
}

}  // namespace
}  // namespace holdfast::test
