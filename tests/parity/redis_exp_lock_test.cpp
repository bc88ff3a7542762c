// SPDX-License-Identifier: Apache-2.0
// What Ruby's redis_exp_lock promises, in our words: docs/parity.md.
#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

class RedisExpLock : public ClientTest {
 protected:
  Client client_ = new_client();
};

TEST_P(RedisExpLock, retries_exceeded_are_too_many_attempts) {
  const Lease other = client_.acquire("lock_key");
  const auto refused = client_.try_acquire("lock_key", {.attempts = 3, .interval = 10ms});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::exhausted);
}

HOLDFAST_ON_STORES(RedisExpLock, kinds_named({"redis"}));

}  // namespace
}  // namespace holdfast::test
