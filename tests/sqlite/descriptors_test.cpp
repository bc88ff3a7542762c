// SPDX-License-Identifier: Apache-2.0
// A process without descriptors.  Not under sanitizers, which need descriptors themselves.
#include <filesystem>

#include "tests/sqlite/apart.h"
#include "tests/sqlite/suite.h"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

using Descriptors = SqliteTest;

// Empty: it was opened.
std::string opened_with(unsigned long most, const std::string& path) {
  limit_descriptors(most);
  const auto told = [](const Error& error) {
    return (error.code == Errc::unavailable ? "" : "not unavailable: ") + error.detail;
  };
  const auto store = sqlite::store({.path = path});
  if (!store) return told(store.error());
  const auto connection = (*store)->connect(BootClock::now() + 10s);
  return connection ? std::string() : told(connection.error());
}

TEST_F(Descriptors, too_few_are_reported_and_nothing_is_left) {
  { SqliteCaller here(path_); }
  fs::remove_all(path_ + ".d");
  int failures = 0;
  // One more each time: each step of opening fails once.
  for (unsigned long most = 4;; ++most) {
    const std::string said = apart([&] { return opened_with(most, path_); });
    if (said.empty()) break;
    ++failures;
    EXPECT_EQ(said.find("not unavailable"), std::string::npos) << said;
    EXPECT_NE(said.find("Too many open files"), std::string::npos) << said;
    EXPECT_TRUE(!fs::exists(path_ + ".d") || fs::is_empty(path_ + ".d")) << "a FIFO was left";
    ASSERT_LT(most, 100u);
  }
  EXPECT_GT(failures, 3);
  EXPECT_TRUE(SqliteCaller(path_).granted("k"));
}

}  // namespace
}  // namespace holdfast::test
