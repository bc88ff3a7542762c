// SPDX-License-Identifier: Apache-2.0
// Many clients, each with a connection of its own, on the same few keys in batches that overlap.
#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "tests/postgres/suite.h"
#include "tests/support/repeat.h"

namespace holdfast::test {
namespace {

struct Window {
  Instant from, to;
  Token token;
};

class Racing : public PostgresTest {
 protected:
  Racing() { make_tables(url()); }

  // Acquires, renews and releases at random, and records when it surely held which key.
  void race(const std::string& url, int who, int batches) {
    Caller ours(url);
    Jitter random(random_bits());
    struct Held {
      std::string owner;
      Token token;
      Instant since;
    };
    std::map<std::string, Held> mine;
    for (int n = 0; n < batches; ++n) {
      std::map<std::string, std::string> names;  // by key
      std::vector<Request> requests;
      const std::size_t size = 1 + random.below(12);
      for (std::size_t i = 0; i < size; ++i) names.emplace("k" + std::to_string(random.below(20)), "");
      for (auto& [key, name] : names) {
        const auto held = mine.find(key);
        name = held != mine.end() ? held->second.owner : std::to_string(who) + "." + std::to_string(n);
        if (held == mine.end())
          requests.push_back({.verb = Verb::acquire, .key = {key}, .owner = {name}, .ttl = 1h});
        else
          requests.push_back({.verb = random.below(3) == 0 ? Verb::renew : Verb::release,
                              .key = {key},
                              .owner = {name},
                              .token = held->second.token,
                              .ttl = 1h});
      }
      // The order of the caller must not matter.
      if (random.below(2) == 0) std::reverse(requests.begin(), requests.end());
      std::vector<Reply> replies(requests.size());
      const Instant sent = BootClock::now();
      const Repeated done = apply_again(ours.connection(), requests, replies);
      ASSERT_TRUE(done.status) << done.status.error().detail;
      const Instant answered = BootClock::now();
      for (std::size_t i = 0; i < requests.size(); ++i) {
        const std::string key(requests[i].key.text);
        if (requests[i].verb == Verb::acquire) {
          if (replies[i].verdict == Verdict::granted)
            mine[key] = {std::string(requests[i].owner.text), replies[i].token, answered};
          continue;
        }
        const bool releases = requests[i].verb == Verb::release;
        EXPECT_TRUE(replies[i].verdict != Verdict::lost || (releases && done.again)) << key;
        if (!releases) continue;
        const std::lock_guard lock(mutex_);
        windows_[key].push_back({mine[key].since, sent, mine[key].token});
        mine.erase(key);
      }
    }
  }

  std::mutex mutex_;
  std::map<std::string, std::vector<Window>> windows_;
};

TEST_F(Racing, eight_clients_with_overlapping_batches_never_overlap_or_deadlock) {
  // The server searches for deadlocks long before anybody gives up waiting.
  const PostgresServer server({.lines = {"deadlock_timeout = 5ms"}, .fsync = false});
  make_tables(server.url());
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&, i] { race(server.url(), i, 150); });
  threads.clear();
  ASSERT_TRUE(await([&] {  // connections report their statistics when they end
    return server.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'holdfast'") == "0";
  }));
  EXPECT_EQ(server.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'"), "0");
  std::size_t windows = 0;
  for (auto& [key, list] : windows_) {
    std::sort(list.begin(), list.end(), [](const Window& a, const Window& b) { return a.from < b.from; });
    for (std::size_t i = 1; i < list.size(); ++i) {
      EXPECT_LE(list[i - 1].to, list[i].from) << key;
      EXPECT_LT(list[i - 1].token, list[i].token) << key;
    }
    windows += list.size();
  }
  EXPECT_GT(windows, 100u);
}

// Deadlocks are rare even where they are possible, so the order itself is checked.
TEST_F(Racing, rows_are_locked_in_the_order_of_their_keys_whatever_order_they_are_asked_in) {
  Caller ours(url());
  for (const char* key : {"a", "m", "z"}) {
    ours.acquire(key, "ann");
    ours.release(key, "ann");
  }
  const auto blocker = psql(), looker = psql();
  blocker->run("BEGIN; SELECT 1 FROM locks WHERE key = 'm' FOR UPDATE");
  std::jthread asking([&] {
    const Request batch[] = {{.verb = Verb::acquire, .key = {"z"}, .owner = {"ann"}, .ttl = 1h},
                             {.verb = Verb::acquire, .key = {"m"}, .owner = {"ann"}, .ttl = 1h},
                             {.verb = Verb::acquire, .key = {"a"}, .owner = {"ann"}, .ttl = 1h}};
    Reply replies[3];
    EXPECT_TRUE(ours.connection().apply(batch, replies, soon()));
  });
  ASSERT_TRUE(await([&] {
    return looker->run("SELECT 1 FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))",
                       {std::to_string(blocker->backend())}) == 1;
  }));
  EXPECT_EQ(looker->value(
                "SELECT string_agg(key, ' ') FROM (SELECT key FROM locks FOR UPDATE SKIP LOCKED) AS free"),
            "z");
  blocker->run("COMMIT");
}

TEST_F(Racing, new_keys_in_batches_of_many_clients_are_each_granted_once) {
  std::atomic<int> granted = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      Caller ours(url());
      const std::string me = "client " + std::to_string(t);
      for (int round = 0; round < 10; ++round) {
        std::vector<std::string> keys;
        for (int k = 0; k < 16; ++k)
          keys.push_back("new " + std::to_string(round) + "." + std::to_string((k + t) % 16));
        std::vector<Request> requests;
        for (const std::string& key : keys)
          requests.push_back({.verb = Verb::acquire, .key = {key}, .owner = {me}, .ttl = 1h});
        std::vector<Reply> replies(requests.size());
        const Status status = ours.connection().apply(requests, replies, soon());
        ASSERT_TRUE(status) << status.error().detail;
        for (const Reply& reply : replies) granted += reply.verdict == Verdict::granted ? 1 : 0;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(granted, 160);
}

TEST_F(Racing, acquires_of_one_new_key_at_once_are_granted_to_one) {
  for (int round = 0; round < 20; ++round) {
    const std::string key = "k" + std::to_string(round);
    std::atomic<int> granted = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Caller ours(url());
        granted += ours.acquire(key, "client " + std::to_string(t)).verdict == Verdict::granted ? 1 : 0;
      });
    }
    threads.clear();
    EXPECT_EQ(granted, 1);
  }
}

TEST_F(Racing, a_purge_beside_acquires_takes_no_lease_and_no_token_falls) {
  std::atomic<bool> done = false;
  std::jthread purging([&] {
    const auto admin = try_store(url()).value()->admin();
    while (!done) {
      const auto purged = admin->purge({.free_for = 0ms}, soon());
      ASSERT_TRUE(purged) << purged.error().detail;
    }
  });
  Caller ours(url());
  Token last{};
  for (int i = 0; i < 300; ++i) {
    const Reply mine = ours.acquire("k", "ann");
    ASSERT_EQ(mine.verdict, Verdict::granted);
    ASSERT_GT(mine.token, last);
    last = mine.token;
    ASSERT_EQ(ours.renew("k", "ann", mine.token).verdict, Verdict::granted);
    ASSERT_EQ(ours.release("k", "ann", mine.token).verdict, Verdict::released);
  }
  done = true;
}

}  // namespace
}  // namespace holdfast::test
