// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/support/databases.h"

namespace holdfast::test {
namespace {

std::string together(const std::vector<std::string>& sentences) {
  std::string all;
  for (const std::string& sentence : sentences) all += sentence + "; ";
  return all;
}

// A store whose program is not installed has no other tests: this one reports that.
TEST(Stores, are_all_installed) {
  if (const std::string all = together(missing_kinds()); !all.empty()) GTEST_SKIP() << all;
}

// tools/dev/summary.py knows it by name: where CI=true it is the only one that may be skipped.
TEST(Stores, that_a_run_may_do_without_are_installed) {
  if (const std::string all = together(missing_extras()); !all.empty()) GTEST_SKIP() << all;
}

TEST(Stores, that_processes_share_have_a_url) {
  for (const Kind& kind : all_kinds()) EXPECT_EQ(kind.make()->url().empty(), kind.name == "memory");
}

}  // namespace
}  // namespace holdfast::test
