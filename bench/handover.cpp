// SPDX-License-Identifier: Apache-2.0
// handover.cpp - two processes that give one thing to each other, and how long it is nobody's.
#include <unistd.h>

#include <array>

#include "bench/child.h"
#include "bench/latency.h"
#include "bench/workload.h"
#include "holdfast/holdfast.h"
#include "tests/support/await.h"
#include "tests/support/scratch.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_turns = 256;

struct Turn {
  int who = -1;
  Instant held{}, freed{};
};
struct Game {
  std::atomic<std::size_t> turns = 0;
  std::array<Turn, most_turns> turn;
};

// Long enough for the other to queue and to fall asleep before it is freed.
void hold_it_a_while() { test::let_pass(4ms); }

// From freed to held by the other.
Series latencies(const Game& game, std::size_t turns) {
  Series found;
  for (std::size_t i = 1; i < turns; ++i) {
    if (game.turn[i].who != game.turn[i - 1].who)
      found.push_back(micros_between(game.turn[i - 1].freed, game.turn[i].held));
  }
  return found;
}

Series hand_overs(const std::string& path, std::size_t turns) {
  const Shared<Game> game;
  const auto player = [&](int me) {
    Client client = open("sqlite:" + path);
    while (game->turns < turns) {
      Lease lease = client.acquire("key", {.wait = forever});
      const Instant now = BootClock::now();
      const std::size_t i = game->turns++;
      if (i >= turns) break;
      game->turn[i] = {.who = me, .held = now};
      hold_it_a_while();
      game->turn[i].freed = BootClock::now();
      lease.release();
      // Queueing again at once would be a race for the file, and that is another workload.
      test::await([&] { return game->turns > i + 1 || game->turns >= turns; });
    }
  };
  Child one([&] { player(1); });
  Child two([&] { player(2); });
  one.join();
  two.join();
  return latencies(*game, turns);
}

Series pipe_rounds(std::size_t turns) {
  const Shared<Game> game;
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) throw std::runtime_error("no pipe to be had");
  const auto player = [&](int me, int from, int to) {
    char byte = 0;
    while (game->turns < turns && read(from, &byte, 1) == 1) {
      const Instant now = BootClock::now();
      const std::size_t i = game->turns++;
      if (i < turns) {
        game->turn[i] = {.who = me, .held = now};
        hold_it_a_while();
        game->turn[i].freed = BootClock::now();
      }
      if (write(to, &byte, 1) != 1) break;
    }
  };
  Child one([&] { player(1, back[0], there[1]); });
  Child two([&] { player(2, there[0], back[1]); });
  if (write(there[1], "k", 1) != 1) throw std::runtime_error("cannot write to a pipe");
  // Whoever plays last finds the game over and does not read its byte.
  one.join();
  two.join();
  for (const int fd : {there[0], there[1], back[0], back[1]}) close(fd);
  return latencies(*game, turns);
}

}  // namespace

Report run_handover(const Effort& effort) {
  const test::Scratch folder;
  const std::string path = folder.path() + "/ours.db";
  const std::size_t turns = effort.quick ? 12 : 100;
  return compare_latencies(effort, effort.rounds(),
                           {.name = "release to holding", .once = [&] { return hand_overs(path, turns); }},
                           {.name = "a byte through a pipe", .once = [&] { return pipe_rounds(turns); }},
                           {"handover", "Hand-over between two processes",
                            "from a release (or a write) to the other one going on"});
}

}  // namespace holdfast::bench
