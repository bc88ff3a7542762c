// SPDX-License-Identifier: Apache-2.0
// layout=darwin: what a client asks and does there beside nodes of Java's.
#include <atomic>
#include <barrier>
#include <thread>

#include "tests/mariadb/darwin_suite.h"

namespace holdfast::test {
namespace {

class DarwinClient : public DarwinTable {
 protected:
  Client client_ = open(darwin() + "&unsafe=allow");
};

TEST_P(DarwinClient, an_instance_that_starts_again_releases_its_own_and_nothing_of_javas) {
  Node java = node("node-7"), other = node("DEFAULT");
  for (const char* name : {"a", "b"})
    (void)client_.acquire(name, {.ttl = 10min, .owner = "node-7", .detached = true});
  const Lease longer = client_.acquire("c", {.ttl = 10min, .owner = "node-77"});
  ASSERT_TRUE(java.lease("d", 600));
  ASSERT_TRUE(other.lease("e", 600));
  EXPECT_EQ(client_.release_all({"node-7"}), 2u);
  EXPECT_EQ(query("SELECT GROUP_CONCAT(processName ORDER BY processName) FROM DARWIN_LOCK"), "c,d,e");
  EXPECT_EQ(client_.release_all({"node-7"}), 0u);
  EXPECT_EQ(client_.release_all({client_.read("d").owner}), 0u) << "that name is for people";
  EXPECT_TRUE(java.renew("d", 600));
  EXPECT_TRUE(other.renew("e", 600));
  EXPECT_EQ(client_.read("c").token, longer.token());
  EXPECT_TRUE(java.lease("a", 600)) << "what is released Java may lease";
}

TEST_P(DarwinClient, whether_a_process_can_be_leased_is_the_same_for_java_and_us) {
  Node java = node();
  EXPECT_TRUE(client_.available("nightly"));
  ASSERT_TRUE(java.lease("nightly", 600));
  EXPECT_FALSE(client_.available("nightly"));
  ASSERT_TRUE(java.release("nightly"));
  EXPECT_TRUE(client_.available("nightly"));
  Lease lease = client_.acquire("nightly");
  EXPECT_FALSE(java.can_lease("nightly"));
  EXPECT_FALSE(client_.available("nightly"));
  lease.release();
  EXPECT_TRUE(java.can_lease("nightly"));
}

// A key of ours has 1 to 512 bytes; what Java calls otherwise it has for itself.
TEST_P(DarwinClient, names_of_java_that_are_no_keys_of_ours_are_out_of_reach) {
  query(
      "CREATE TABLE EMOJI_LOCK (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, processName VARCHAR(255) NOT "
      "NULL, "
      "leaseUntil DATETIME NOT NULL, unlockKey VARCHAR(255) NOT NULL, UNIQUE KEY u (processName)) "
      "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4");
  const std::string url = darwin() + "&table=EMOJI_LOCK";
  make_tables(url);
  query(
      "INSERT INTO EMOJI_LOCK (processName, leaseUntil, unlockKey) VALUES "
      "(REPEAT(_utf8mb4 X'F09F9492', 255), NOW() + INTERVAL 1 HOUR, '1_DEFAULT'), "
      "('', NOW() + INTERVAL 1 HOUR, '2_DEFAULT')");
  MariaCaller ours(url);
  const Page page = ours.list({});
  ASSERT_EQ(page.leases.size(), 2u);
  EXPECT_EQ(page.leases[0].key, "");
  EXPECT_EQ(page.leases[0].owner, "2_DEFAULT (Darwin)");
  EXPECT_GT(page.leases[0].remaining, 59min);
  const std::string emoji = page.leases[1].key;
  EXPECT_EQ(emoji.size(), 1020u);
  const Page behind = ours.list({.after = emoji});
  EXPECT_TRUE(behind.leases.empty());
  Client client = open(url + "&unsafe=allow");
  query("DELETE FROM EMOJI_LOCK WHERE processName <> ''");
  EXPECT_EQ(client.release_all({"ann"}), 0u) << "a page of only the empty name is the last one";
  for (const std::string& name : {emoji, std::string()})
    EXPECT_EQ(client.try_acquire(name).error().code, Errc::invalid);
}

// There the node that loses sees an IllegalStateException.
TEST_P(DarwinClient, the_loser_of_a_race_for_an_expired_lock_gets_busy) {
  Node java = node();
  std::vector<Client> ours;
  for (int i = 0; i < 2; ++i) ours.push_back(open(darwin() + "&unsafe=allow"));
  int javas = 0, round = 0, won_by_us = 0;
  EXPECT_TRUE(await([&] {
    query("DELETE FROM DARWIN_LOCK");
    EXPECT_TRUE(java.lease("nightly", 600, "expired"));
    query("UPDATE DARWIN_LOCK SET leaseUntil = NOW() - INTERVAL 10 SECOND");
    std::atomic<int> got = 0, busy = 0;
    bool by_java = false;
    std::barrier start(3);
    {
      std::vector<std::jthread> threads;
      for (Client& client : ours) {
        threads.emplace_back([&] {
          start.arrive_and_wait();
          let_pass(Millis(round % 8));  // Java needs three statements
          auto lease = client.try_acquire("nightly", {.ttl = 1h, .detached = true});
          if (!lease) {
            EXPECT_EQ(lease.error().code, Errc::busy) << lease.error().detail;
          }
          ++(lease ? got : busy);
        });
      }
      threads.emplace_back([&] {
        start.arrive_and_wait();
        by_java = java.lease("nightly", 600);
      });
    }
    EXPECT_EQ(got + by_java, 1) << "one has it";
    EXPECT_EQ(got + busy, 2);
    EXPECT_FALSE(client_.available("nightly"));
    javas += by_java;
    won_by_us += got;
    ++round;
    return (javas >= 5 && won_by_us >= 5) || HasFailure();
  })) << javas
      << " to Java, " << won_by_us << " to us";
}

HOLDFAST_ON_BOTH(DarwinClient);

}  // namespace
}  // namespace holdfast::test
