// SPDX-License-Identifier: Apache-2.0
// What Ruby's mongo-lock promises, in our words: docs/parity.md.
#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

class MongoLock : public ClientTest {
 protected:
  Client client_ = new_client();
};

TEST_P(MongoLock, acquire_with_an_exclamation_mark_raises_and_without_returns) {
  const Lease other = client_.acquire("my_key", {.owner = "another"});
  EXPECT_TRUE(client_.try_acquire("my_key").error().busy());
  EXPECT_THROW((void)client_.acquire("my_key"), Failure);
}

HOLDFAST_ON_STORES(MongoLock, kinds_named({"mongodb", "mongo_lock"}));

}  // namespace
}  // namespace holdfast::test
