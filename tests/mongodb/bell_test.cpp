// SPDX-License-Identifier: Apache-2.0
// A replica set rings; a server alone cannot.  HOLDFAST_TEST_MONGODB names a set to see the first half.
#include <poll.h>

#include "tests/mongodb/suite.h"

namespace holdfast::test {
namespace {

class BellOfMongo : public MongoTest {};

bool rings(Bell& bell) {
  pollfd fd{bell.fd(), POLLIN, 0};
  return ::poll(&fd, 1, 10'000) == 1;
}

TEST_F(BellOfMongo, a_replica_set_rings_the_first_who_waits_and_a_server_alone_has_no_bell) {
  Caller ann(url()), bob(url()), cat(url());
  const auto bell = bob.store().bell();
  ASSERT_EQ(bell != nullptr, bob.examine().push);
  if (!bell) return;
  ann.acquire("k", "ann");
  bob.acquire("k", "bob", 1h, 1h);
  cat.acquire("k", "cat", 1h, 1h);
  // The stream may not be open yet: released until it is heard.
  EXPECT_TRUE(await([&] {
    ann.release("k", "ann");
    if (rings(*bell)) return true;
    bob.acquire("k", "bob", 1h, 1h);
    bob.release("k", "bob");
    return false;
  }));
  EXPECT_TRUE(bell->rung());
}

// What the stream looks for, on any server.
TEST_F(BellOfMongo, a_release_writes_whom_it_rings) {
  Caller ann(url()), bob(url());
  ann.acquire("k", "ann");
  const auto document = [&] { return mongo(R"({"find": "locks", "filter": {"_id": "k"}})"); };
  EXPECT_FALSE(mentions(document(), "ring"));
  bob.acquire("k", "bob", 1h, 1h);
  ann.release("k", "ann");
  EXPECT_TRUE(mentions(document(), "\"ring\" : \"" + bob.origin().client() + " ")) << document();
}

}  // namespace
}  // namespace holdfast::test
