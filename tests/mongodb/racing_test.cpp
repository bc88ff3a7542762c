// SPDX-License-Identifier: Apache-2.0
// Many ask for what nobody has had yet: the document is made by one of them.
#include <atomic>
#include <barrier>
#include <mutex>
#include <thread>

#include "tests/mongodb/suite.h"

namespace holdfast::test {
namespace {

class RacingOfMongo : public MongoTest {};

constexpr int racers = 8, rounds = 300;

TEST_F(RacingOfMongo, a_fresh_key_has_one_winner) {
  std::barrier start(racers);
  std::vector<std::atomic<int>> winners(rounds);
  std::atomic<int> failures = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < racers; ++t) {
    threads.emplace_back([&, t] {
      Caller caller(url());
      const std::string me = "racer " + std::to_string(t);
      for (int i = 0; i < rounds; ++i) {
        start.arrive_and_wait();
        const auto reply = caller.try_acquire("key " + std::to_string(i), me);
        if (!reply) ++failures;
        if (reply && reply->verdict == Verdict::granted) ++winners[static_cast<std::size_t>(i)];
      }
    });
  }
  threads.clear();
  EXPECT_EQ(failures, 0);
  for (const auto& n : winners) EXPECT_EQ(n, 1);
}

TEST_F(RacingOfMongo, so_has_each_of_many_fresh_keys_in_batches) {
  constexpr int keys = 20;
  std::barrier start(racers);
  std::vector<std::atomic<int>> winners(keys * 20);
  std::atomic<int> failures = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < racers; ++t) {
    threads.emplace_back([&, t] {
      Caller caller(url());
      const std::string me = "racer " + std::to_string(t);
      for (std::size_t first = 0; first < winners.size(); first += keys) {
        std::vector<std::string> names;
        for (std::size_t i = first; i < first + keys; ++i) names.push_back("key " + std::to_string(i));
        std::vector<Request> requests;
        for (const std::string& name : names)
          requests.push_back({.verb = Verb::acquire, .key = {name}, .owner = {me}, .ttl = 1h});
        start.arrive_and_wait();
        std::vector<Reply> replies(requests.size());
        if (!caller.connection().apply(requests, replies, soon())) ++failures;
        for (std::size_t i = 0; i < replies.size(); ++i)
          if (replies[i].verdict == Verdict::granted) ++winners[first + i];
      }
    });
  }
  threads.clear();
  EXPECT_EQ(failures, 0);
  for (const auto& n : winners) EXPECT_EQ(n, 1);
}

// Only one is inside at any time, and each inside has a larger token than all before.
TEST_F(RacingOfMongo, holders_exclude_each_other_and_tokens_rise) {
  std::atomic<int> inside = 0, entered = 0, together = 0;
  std::mutex mutex;
  std::vector<Token> tokens;
  std::vector<std::jthread> threads;
  for (int t = 0; t < racers; ++t) {
    threads.emplace_back([&, t] {
      Caller caller(url());
      const std::string me = "racer " + std::to_string(t);
      for (int i = 0; i < 100; ++i) {
        const Reply reply = caller.acquire("k", me);
        if (reply.verdict != Verdict::granted) continue;
        if (++inside != 1) ++together;
        {
          const std::lock_guard lock(mutex);
          tokens.push_back(reply.token);
        }
        ++entered;
        --inside;
        EXPECT_EQ(caller.release("k", me, reply.token).verdict, Verdict::released);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(together, 0);
  EXPECT_GT(entered, 0);
  for (std::size_t i = 1; i < tokens.size(); ++i) EXPECT_GT(tokens[i], tokens[i - 1]);
}

}  // namespace
}  // namespace holdfast::test
