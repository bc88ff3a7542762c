// SPDX-License-Identifier: Apache-2.0
// What Darwin's Locker promises, in our words: docs/parity.md.
#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

class Darwin : public ClientTest {
 protected:
  Client client_ = new_client();
};

TEST_P(Darwin, a_process_that_is_locked_says_by_whom_and_until_when) {
  const Lease other = client_.acquire("myProcess", {.ttl = 30min, .owner = "node-1"});
  const auto refused = client_.try_acquire("myProcess");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().holder, "node-1");
  EXPECT_GT(refused.error().remaining, 20min);
}

HOLDFAST_ON_STORES(Darwin, kinds_named({"mariadb"}));

}  // namespace
}  // namespace holdfast::test
