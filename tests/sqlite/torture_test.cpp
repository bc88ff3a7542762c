// SPDX-License-Identifier: Apache-2.0
// kill -9 at any moment leaves an intact file, rising tokens and no error.
#include <optional>

#include "tests/sqlite/scoreboard.h"
#include "tests/sqlite/suite.h"

namespace holdfast::test {
namespace {

using Torture = SqliteTest;

TEST_F(Torture, four_processes_that_are_killed_at_random_lose_nothing) {
  const std::uint64_t seed = random_bits();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Jitter jitter(seed);
  const std::string file = scratch_.path() + "/scoreboard";
  Scoreboard& board = *map_scoreboard(file);
  constexpr std::size_t workers = 4;
  std::array<std::optional<Process>, workers> processes;
  const auto start = [&](std::size_t i) {
    processes[i].emplace(std::vector<std::string>{"--torture", path_, std::to_string(i), file});
  };
  for (std::size_t i = 0; i < workers; ++i) start(i);

  int kills = 0;
  for (const Instant end = BootClock::now() + 5s; BootClock::now() < end; ++kills) {
    let_pass(Millis(2 + jitter.below(30)));
    const std::size_t victim = jitter.below(workers);
    processes[victim].reset();
    start(victim);
  }
  for (auto& process : processes) process.reset();

  std::uint64_t pairs = 0;
  for (const Score& score : board.scores) {
    pairs += score.pairs;
    EXPECT_EQ(score.errors, 0u);
  }
  RecordProperty("kills", kills);
  RecordProperty("pairs", std::to_string(pairs));
  EXPECT_GT(pairs, 100u);
  EXPECT_EQ(RawDatabase(path_).ask("PRAGMA integrity_check"), "ok");

  Caller here(path_);
  for (std::size_t i = 0; i < workers; ++i) {
    const Reply reply = here.acquire("own" + std::to_string(i));
    EXPECT_EQ(reply.verdict, Verdict::granted) << "the dead hold nothing";
    EXPECT_GT(number(reply.token), board.scores[i].token);
  }
}

}  // namespace
}  // namespace holdfast::test
