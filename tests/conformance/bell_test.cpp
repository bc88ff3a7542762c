// SPDX-License-Identifier: Apache-2.0
// What wakes who waits, on every store that can tell.  On the others the client asks again, as its own tests
// see.
#include <poll.h>

#include "tests/conformance/suite.h"

namespace holdfast::test {
namespace {

class Bells : public Conformance {};
class Silence : public Conformance {};

bool rings(Bell& bell, int timeout_ms = 5000) {
  pollfd fd{bell.fd(), POLLIN, 0};
  return ::poll(&fd, 1, timeout_ms) == 1;
}

TEST_P(Bells, a_release_rings_the_first_live_waiter_only) {
  const auto bob = b_.store().bell(), cat = c_.store().bell();
  a_.acquire("k", "ann");
  b_.acquire("k", "bob", 1h, 1h);
  c_.acquire("k", "cat", 1h, 1h);
  EXPECT_FALSE(rings(*bob, 0));
  a_.release("k", "ann");
  EXPECT_TRUE(rings(*bob));
  EXPECT_FALSE(rings(*cat, 0));
  EXPECT_TRUE(bob->rung());
  EXPECT_FALSE(rings(*bob, 0));
}

TEST_P(Bells, an_eviction_rings_too) {
  const auto bob = b_.store().bell();
  const Reply mine = a_.acquire("k", "ann");
  b_.acquire("k", "bob", 1h, 1h);
  c_.evict("k", mine.token, "op", "why");
  EXPECT_TRUE(rings(*bob));
}

TEST_P(Bells, the_first_who_leaves_a_free_key_rings_the_next) {
  const auto cat = c_.store().bell();
  a_.acquire("k", "ann");
  b_.acquire("k", "bob", 1h, 1h);
  c_.acquire("k", "cat", 1h, 1h);
  a_.release("k", "ann");
  EXPECT_FALSE(rings(*cat, 0));
  b_.leave("k", "bob");
  EXPECT_TRUE(rings(*cat));
}

TEST_P(Silence, is_said) { EXPECT_EQ(a_.store().bell(), nullptr); }

HOLDFAST_ON_STORES(Bells, kinds_with_bell());
HOLDFAST_ON_STORES(Silence, kinds_without_bell());
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Silence);

}  // namespace
}  // namespace holdfast::test
