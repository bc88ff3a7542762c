// SPDX-License-Identifier: Apache-2.0
// How waiters are woken, on every store that can notify.  On the others the client polls; its own tests cover
// that.
#include <poll.h>

#include "tests/conformance/suite.h"

namespace holdfast::test {
namespace {

class Listeners : public Conformance {};
class Silence : public Conformance {};

bool rings(StoreListener& listener, int timeout_ms = 5000) {
  pollfd fd{listener.fd(), POLLIN, 0};
  return ::poll(&fd, 1, timeout_ms) == 1;
}

TEST_P(Listeners, a_release_notifies_the_first_live_waiter_only) {
  const auto bob = b_.listener(), cat = c_.listener();
  a_.acquire("k", "ann");
  b_.acquire("k", "bob", 1h, 1h);
  c_.acquire("k", "cat", 1h, 1h);
  EXPECT_FALSE(rings(*bob, 0));
  a_.release("k", "ann");
  EXPECT_TRUE(rings(*bob));
  EXPECT_FALSE(rings(*cat, 0));
  EXPECT_TRUE(bob->ready());
  EXPECT_FALSE(rings(*bob, 0));
}

TEST_P(Listeners, an_eviction_notifies_too) {
  const auto bob = b_.listener();
  const Reply mine = a_.acquire("k", "ann");
  b_.acquire("k", "bob", 1h, 1h);
  c_.evict("k", mine.token);
  EXPECT_TRUE(rings(*bob));
}

TEST_P(Listeners, the_first_waiter_of_a_free_key_notifies_the_next_when_it_leaves) {
  const auto cat = c_.listener();
  a_.acquire("k", "ann");
  b_.acquire("k", "bob", 1h, 1h);
  c_.acquire("k", "cat", 1h, 1h);
  a_.release("k", "ann");
  EXPECT_FALSE(rings(*cat, 0));
  b_.leave("k", "bob");
  EXPECT_TRUE(rings(*cat));
}

TEST_P(Silence, is_said) { EXPECT_EQ(a_.listener(), nullptr); }

HOLDFAST_ON_STORES(Listeners, kinds_with_listener());
HOLDFAST_ON_STORES(Silence, kinds_without_listener());
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Silence);

}  // namespace
}  // namespace holdfast::test
