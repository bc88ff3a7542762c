// SPDX-License-Identifier: Apache-2.0
// kill -9 at any moment: no two believe to hold one key, tokens rise, nobody is left holding.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tests/processes/fleet.h"

namespace holdfast::test {
namespace {

std::string integrity_of(const std::string& path) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  std::string answer;
  const auto take = [](void* out, int, char** columns, char**) {
    *static_cast<std::string*>(out) += columns[0];
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(db, "PRAGMA integrity_check", take, &answer, nullptr), SQLITE_OK);
  sqlite3_close(db);
  return answer;
}

class Torture : public ::testing::TestWithParam<Kind> {
 protected:
  const std::unique_ptr<TestDatabase> database_ = GetParam().make();
};

TEST_P(Torture, four_processes_that_are_killed_at_random_lose_nothing) {
  const std::uint64_t seed = random_bits();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Jitter jitter(seed);
  // The embedded store knows the dead; a server has to wait until their leases run out.
  Fleet fleet({.url = database_->url(), .ttl = GetParam().server ? 500ms : 1h});
  // For four seconds, and on a busy machine until enough was done.
  const Instant end = BootClock::now() + 4s;
  const auto enough = [&] { return fleet.pairs() > 100 || BootClock::now() >= end + 40s; };
  int kills = 0;
  for (; BootClock::now() < end || !enough(); ++kills) {
    const std::uint64_t before = fleet.pairs();
    let_pass(Millis(2 + jitter.below(60)));
    // Where a start takes longer than a life, nothing would ever be done.
    if (BootClock::now() >= end) await([&] { return fleet.pairs() > before; });
    fleet.replace(jitter.below(Fleet::size));
  }
  fleet.end();
  RecordProperty("kills", kills);
  RecordProperty("pairs", std::to_string(fleet.pairs()));
  EXPECT_EQ(fleet.errors(), 0u);
  EXPECT_GT(fleet.pairs(), 100u);
  fleet.expect_all_keys_free_with_a_higher_token();
  if (!GetParam().server) {
    EXPECT_EQ(integrity_of(database_->url().substr(std::string("sqlite:").size())), "ok");
  }
}

HOLDFAST_ON_EVERY_SHARED_STORE(Torture);

}  // namespace
}  // namespace holdfast::test
