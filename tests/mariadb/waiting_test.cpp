// SPDX-License-Identifier: Apache-2.0
// Waiters poll here: in order, in time, and cheaply.
#include <thread>

#include "holdfast/holdfast.h"
#include "tests/mariadb/suite.h"

namespace holdfast::test {
namespace {

class WaitingHere : public MariaTest {
 protected:
  WaitingHere() { make_tables(own_.url()); }
  int count(const std::string& what) const {
    const std::string row = own_.query("SHOW GLOBAL STATUS LIKE '" + what + "'");
    return std::stoi(row.substr(row.find('\t') + 1));
  }
  const MariaServer own_{{.mysql = GetParam(), .fsync = false}};
};

TEST_P(WaitingHere, a_waiter_costs_the_server_little) {
  auto owner = open(own_.url());
  auto lease = owner.acquire("k", {.ttl = 1min});
  constexpr int waiters = 4;
  std::vector<std::jthread> threads;
  for (int i = 0; i < waiters; ++i) {
    threads.emplace_back([&] {
      auto client = open(own_.url());
      EXPECT_TRUE(client.try_acquire("k", {.ttl = 1min, .wait = 30s}));
    });
  }
  const auto waiting = [&] { return own_.query("SELECT COUNT(*) FROM holdfast_waiters", "app"); };
  ASSERT_TRUE(await([&] { return waiting() == std::to_string(waiters); }));
  const Instant from = BootClock::now();
  const int questions = count("Questions"), commits = count("Com_commit"), looks = count("Com_select");
  const int inserts = count("Com_insert"), updates = count("Com_update");
  let_pass(4s);
  const int more_questions = count("Questions") - questions, more_commits = count("Com_commit") - commits;
  const int more_looks = count("Com_select") - looks;
  // The whole time, from before the first read of a counter until after the last.
  const double seconds = std::chrono::duration<double>(BootClock::now() - from).count();
  const auto each = [&](int more) { return more / seconds / waiters; };
  const double statements = each(more_questions);
  RecordProperty("statements_per_waiter_and_second", std::to_string(statements));
  std::printf("per waiter and second: %.1f statements, %.1f selects, %.1f commits\n", statements,
              each(more_looks), each(more_commits));
  EXPECT_LT(statements, 40);
  EXPECT_GT(each(more_looks), 0.5) << "nobody polled";
  // A poll writes nothing; a refresh of a place is a REPLACE and a COMMIT, three times a second.
  EXPECT_EQ(count("Com_insert"), inserts);
  EXPECT_EQ(count("Com_update"), updates);
  EXPECT_LT(each(more_commits), 4);
  lease.release();
  threads.clear();
}

TEST_P(WaitingHere, a_waiter_gets_the_key_soon_after_the_release) {
  auto owner = open(own_.url()), waiter = open(own_.url());
  auto lease = owner.acquire("k", {.ttl = 1min});
  std::jthread releases([&] {
    EXPECT_TRUE(await([&] { return own_.query("SELECT COUNT(*) FROM holdfast_waiters", "app") == "1"; }));
    lease.release();
  });
  const Instant from = BootClock::now();
  EXPECT_TRUE(waiter.try_acquire("k", {.ttl = 1min, .wait = 20s}));
  EXPECT_LT(BootClock::now() - from, 10s);
}

HOLDFAST_ON_BOTH(WaitingHere);

}  // namespace
}  // namespace holdfast::test
