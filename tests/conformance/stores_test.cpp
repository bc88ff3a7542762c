// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/support/databases.h"

namespace holdfast::test {
namespace {

// A store whose program is not installed has no tests anywhere: this one says so.
TEST(Stores, are_all_installed) {
  std::string all;
  for (const std::string& sentence : missing_kinds()) all += sentence + "; ";
  if (!all.empty()) GTEST_SKIP() << all;
}

TEST(Stores, that_processes_share_have_a_url) {
  for (const Kind& kind : all_kinds()) EXPECT_EQ(kind.make()->url().empty(), kind.name == "memory");
}

}  // namespace
}  // namespace holdfast::test
