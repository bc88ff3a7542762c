// SPDX-License-Identifier: Apache-2.0
// What Ruby's locker promises, in our words: docs/parity.md.
#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

class Locker : public ClientTest {
 protected:
  Client client_ = new_client();
};

TEST_P(Locker, run_skips_what_is_busy_and_says_so) {
  const Lease other = client_.acquire("unique-key", {.owner = "another server"});
  bool ran = false;
  const auto outcome = client_.run("unique-key", {}, [&] { ran = true; });
  EXPECT_FALSE(outcome.ran);
  EXPECT_FALSE(ran);
  EXPECT_EQ(outcome.holder, "another server");
}

HOLDFAST_ON_STORES(Locker, kinds_named({"sqlite", "postgres"}));

}  // namespace
}  // namespace holdfast::test
