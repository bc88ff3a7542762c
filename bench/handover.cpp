// SPDX-License-Identifier: Apache-2.0
// handover.cpp - two processes that give one thing to each other, and how long it is nobody's.
#include <array>

#include "bench/child.h"
#include "bench/latency.h"
#include "bench/workload.h"
#include "holdfast/holdfast.h"
#include "tests/support/await.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_turns = 256;

struct Turn {
  int who = -1;
  Instant held{}, freed{};
};
struct Game {
  std::atomic<int> joined = 0;
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

Series hand_overs(const std::string& url, std::size_t turns) {
  const Shared<Game> game;
  const auto player = [&](int me) {
    Client client = open(url, {.connect_wait = 1min});
    while (game->turns < turns) {
      Lease lease = client.acquire("handover", {.wait = forever});
      const Instant now = BootClock::now();
      const std::size_t i = game->turns++;
      if (i >= turns) break;
      game->turn[i] = {.who = me, .held = now};
      hold_it_a_while();
      game->turn[i].freed = BootClock::now();
      lease.release();
      // Queueing again at once would be a race for the store, and that is another workload.
      test::await([&] { return game->turns > i + 1 || game->turns >= turns; });
    }
  };
  Child one([&] { player(0); });
  Child two([&] { player(1); });
  one.join();
  two.join();
  return latencies(*game, turns);
}

// The same game with nothing but the word that wakes the other.
Series naming_along(Wire& wire, std::size_t turns) {
  const Shared<Game> game;
  const auto player = [&](int me) {
    wire.join(me);
    ++game->joined;
    if (me == 0) {
      test::await([&] { return game->joined == 2; });
      wire.send();
    }
    while (game->turns < turns) {
      wire.receive();
      const Instant now = BootClock::now();
      const std::size_t i = game->turns++;
      if (i < turns) {
        game->turn[i] = {.who = me, .held = now};
        hold_it_a_while();
        game->turn[i].freed = BootClock::now();
      }
      wire.send();
    }
  };
  Child one([&] { player(0); });
  Child two([&] { player(1); });
  // Whoever plays last finds the game over and does not hear its word.
  one.join();
  two.join();
  return latencies(*game, turns);
}

// One after the other, each after a pause: a connection that was idle a moment is what a hand-over meets.
template <class Work>
Series timed(std::size_t turns, Work work) {
  Series micros;
  for (std::size_t i = 0; i < turns; ++i) {
    hold_it_a_while();
    const Instant start = BootClock::now();
    work();
    micros.push_back(micros_between(start, BootClock::now()));
  }
  return micros;
}

}  // namespace

Report run_handover(const Effort& effort, Subject& subject) {
  const Naming& naming = subject.naming();
  const std::size_t turns = effort.quick ? 12 : 100;
  std::vector<Sampled> references = {
      {naming.wire, [&] { return naming_along(*subject.wire(), turns); }},
  };
  if (!naming.question.empty()) {
    references.push_back({"a round trip, " + naming.question, [&] {
                            const auto raw = subject.by_hand();
                            return timed(turns, [&] { raw->ask(); });
                          }});
    references.push_back({"acquire + release by hand", [&] {
                            const auto raw = subject.by_hand();
                            return timed(turns, [&] { raw->acquire_and_release("handover-raw", "me"); });
                          }});
  }
  return compare_latencies(
      effort, effort.rounds(),
      {.name = "release to holding", .once = [&] { return hand_overs(subject.url(), turns); }}, references,
      {"handover", "Hand-over between two processes",
       naming.store + ": from a release (or a word sent) to the other one going on"});
}

}  // namespace holdfast::bench
