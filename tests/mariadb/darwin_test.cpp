// SPDX-License-Identifier: Apache-2.0
// layout=darwin: Java's nodes and ours on one table, both ways round.  Java's statements are played by hand.
#include <atomic>
#include <thread>

#include "tests/mariadb/suite.h"

namespace holdfast::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// A node with Darwin's Locker, as reference has it: MySQL's statements.
class Node {
 public:
  Node(std::unique_ptr<Stranger> connection, std::string instance)
      : connection_(std::move(connection)), instance_(std::move(instance)) {}

  bool can_lease(const std::string& name) {
    return run("SELECT 1 FROM DARWIN_LOCK WHERE processName = '" + name + "' AND leaseUntil >= NOW()") == 0;
  }
  // False: ProcessIsLockedException, or IllegalStateException where a take-over was lost.
  bool lease(const std::string& name, int seconds, const std::string& key = "1a1dccd476c") {
    if (!can_lease(name)) return false;
    run("DELETE FROM DARWIN_LOCK WHERE processName = '" + name + "' AND leaseUntil <= NOW()");
    return connection_->error_of("INSERT INTO DARWIN_LOCK (processName, leaseUntil, unlockKey) VALUES ('" +
                                 name + "', NOW() + INTERVAL " + std::to_string(seconds) + " SECOND, '" +
                                 key + "_" + instance_ + "')") == 0;
  }
  bool renew(const std::string& name, int seconds, const std::string& key = "1a1dccd476c") {
    return run("UPDATE DARWIN_LOCK SET leaseUntil = NOW() + INTERVAL " + std::to_string(seconds) +
               " SECOND WHERE processName = '" + name + "' AND unlockKey = '" + key + "_" + instance_ +
               "'") == 1;
  }
  bool release(const std::string& name, const std::string& key = "1a1dccd476c") {
    return run("DELETE FROM DARWIN_LOCK WHERE processName = '" + name +
               "' AND (leaseUntil <= NOW() OR unlockKey = '" + key + "_" + instance_ + "')") == 1;
  }
  std::uint64_t release_all_of(const std::string& instance) {
    return run("DELETE FROM DARWIN_LOCK WHERE unlockKey LIKE '%_" + instance + "'");
  }

 private:
  // Darwin tries again whatever went wrong; 1213 is what may go wrong here.
  std::uint64_t run(const std::string& sql) {
    while (true) {
      try {
        return connection_->run(sql);
      } catch (const std::runtime_error& error) {
        if (std::string_view(error.what()).find("Deadlock") == std::string_view::npos) throw;
      }
    }
  }
  const std::unique_ptr<Stranger> connection_;
  const std::string instance_;
};

class DarwinLayout : public MariaTest {
 protected:
  DarwinLayout() { make_tables(darwin()); }
  std::string darwin() const { return url() + "?layout=darwin"; }
  Node node(const std::string& instance = "DEFAULT") const { return {stranger(), instance}; }
};

TEST_P(DarwinLayout, what_java_has_leased_is_busy_for_us_until_java_releases_it) {
  Ours ours(darwin());
  Node java = node();
  ASSERT_TRUE(java.lease("nightly", 600));
  const Reply busy = ours.acquire("nightly", "ann");
  EXPECT_EQ(busy.verdict, Verdict::busy);
  EXPECT_EQ(busy.holder, "1a1dccd476c_DEFAULT (Darwin)");
  EXPECT_EQ(busy.token, no_token);
  EXPECT_GT(busy.remaining, 9min);
  EXPECT_LE(busy.remaining, 10min + 2s);
  EXPECT_EQ(ours.renew("nightly", "ann").verdict, Verdict::lost);
  EXPECT_EQ(ours.release("nightly", "ann").verdict, Verdict::lost);
  ASSERT_TRUE(java.renew("nightly", 600));
  EXPECT_EQ(ours.acquire("nightly", "ann").verdict, Verdict::busy);
  ASSERT_TRUE(java.release("nightly"));
  EXPECT_EQ(ours.acquire("nightly", "ann").verdict, Verdict::granted);
}

TEST_P(DarwinLayout, what_we_have_is_locked_for_java_until_we_release_it) {
  Ours ours(darwin());
  Node java = node();
  const Reply mine = ours.acquire("nightly", "ann", 10min);
  ASSERT_EQ(mine.verdict, Verdict::granted);
  EXPECT_FALSE(java.can_lease("nightly"));
  EXPECT_FALSE(java.lease("nightly", 60));
  EXPECT_FALSE(java.release("nightly"));
  EXPECT_FALSE(java.renew("nightly", 60));
  EXPECT_EQ(ours.renew("nightly", "ann", mine.token, 20min).verdict, Verdict::granted);
  EXPECT_EQ(ours.renew("nightly", "ann", mine.token, 20min).verdict, Verdict::granted)
      << "in the same second";
  EXPECT_EQ(
      query("SELECT leaseUntil BETWEEN NOW() + INTERVAL 1200 SECOND AND NOW() + INTERVAL 1203 SECOND FROM "
            "DARWIN_LOCK"),
      "1");
  EXPECT_EQ(ours.release("nightly", "ann", mine.token).verdict, Verdict::released);
  EXPECT_EQ(query("SELECT COUNT(*) FROM DARWIN_LOCK"), "0");
  EXPECT_TRUE(java.lease("nightly", 60));
}

TEST_P(DarwinLayout, javas_lease_is_taken_over_strictly_behind_its_end_and_kindly_later) {
  Ours ours(darwin());
  Node java = node();
  const Reply before = ours.acquire("nightly", "ann");
  ours.release("nightly", "ann");
  ASSERT_TRUE(java.lease("nightly", 1));
  EXPECT_EQ(ours.acquire("nightly", "bob").verdict, Verdict::busy);
  query("UPDATE DARWIN_LOCK SET leaseUntil = NOW()");
  EXPECT_EQ(ours.acquire("nightly", "bob").verdict, Verdict::busy) << "a node's renewal may come just now";
  EXPECT_TRUE(java.renew("nightly", 1)) << "and came";
  query("UPDATE DARWIN_LOCK SET leaseUntil = NOW() - INTERVAL 3 SECOND");
  const Reply after = ours.acquire("nightly", "bob");
  EXPECT_EQ(after.verdict, Verdict::granted);
  EXPECT_GT(after.token, before.token);
  EXPECT_FALSE(java.renew("nightly", 60));
  const Page log = ours.store().list({.what = Query::What::log}, soon()).value();
  ASSERT_EQ(log.log.size(), 1u);
  EXPECT_EQ(log.log[0].event, "taken-over");
  EXPECT_THAT(log.log[0].holder, HasSubstr("1a1dccd476c_DEFAULT"));
  EXPECT_EQ(log.log[0].token, no_token);
}

TEST_P(DarwinLayout, ours_that_ran_out_is_taken_over_by_java_and_then_it_is_lost) {
  Ours ours(darwin());
  Node java = node();
  const Reply mine = ours.acquire("nightly", "ann", 100ms);
  EXPECT_FALSE(java.lease("nightly", 60)) << "in whole seconds, rounded up";
  ASSERT_TRUE(await([&] { return java.lease("nightly", 60); }));
  EXPECT_EQ(ours.renew("nightly", "ann", mine.token).verdict, Verdict::lost);
  EXPECT_EQ(ours.acquire("nightly", "ann").verdict, Verdict::busy);
  EXPECT_EQ(ours.release("nightly", "ann", mine.token).verdict, Verdict::lost);
  EXPECT_FALSE(java.can_lease("nightly")) << "our release left it alone";
}

TEST_P(DarwinLayout, ours_that_ran_out_is_taken_over_by_us_at_once) {
  Ours ours(darwin());
  const Reply first = ours.acquire("nightly", "ann", 2ms);
  let_pass(4ms);
  const Reply second = ours.acquire("nightly", "bob");
  EXPECT_EQ(second.verdict, Verdict::granted);
  EXPECT_GT(second.token, first.token);
}

TEST_P(DarwinLayout, what_somebody_took_away_is_lost) {
  Ours ours(darwin());
  const Reply mine = ours.acquire("nightly", "ann");
  query("DELETE FROM DARWIN_LOCK");
  EXPECT_EQ(ours.renew("nightly", "ann", mine.token).verdict, Verdict::lost);
  EXPECT_GT(ours.acquire("nightly", "ann").token, mine.token);
}

TEST_P(DarwinLayout, no_node_that_releases_its_instance_takes_ours) {
  Ours ours(darwin());
  for (int i = 0; i < 40; ++i) ours.acquire("k" + std::to_string(i), "ann");
  Node java = node("11");
  ASSERT_TRUE(java.lease("theirs", 60));
  for (const char* instance :
       {"DEFAULT", "cpp", "p", "0", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f"})
    EXPECT_EQ(java.release_all_of(instance), 0u) << instance;
  EXPECT_EQ(java.release_all_of("1"), 1u) << "as Darwin does: instance 1 takes those of 11 too";
  EXPECT_EQ(query("SELECT COUNT(*) FROM DARWIN_LOCK"), "40");
}

TEST_P(DarwinLayout, what_is_one_lock_for_java_is_one_for_us) {
  Ours ours(darwin());
  Node java = node();
  const Reply mine = ours.acquire("Name", "ann");
  EXPECT_EQ(ours.acquire("name", "bob").verdict, Verdict::busy);
  EXPECT_EQ(ours.acquire("NAME", "bob").holder, "ann");
  EXPECT_FALSE(java.lease("name", 60));
  const Request batch[] = {{.verb = Verb::release, .key = {"nAME"}, .holder = {"ann"}, .token = mine.token},
                           {.verb = Verb::acquire, .key = {"NAme"}, .holder = {"bob"}, .ttl = 1h},
                           {.verb = Verb::acquire, .key = {"name"}, .holder = {"cat"}, .ttl = 1h}};
  Reply replies[3];
  ASSERT_TRUE(ours.store().apply(batch, replies, soon()));
  EXPECT_EQ(replies[0].verdict, Verdict::released);
  EXPECT_EQ(replies[1].verdict, Verdict::granted);
  EXPECT_EQ(replies[2].verdict, Verdict::busy);
}

TEST_P(DarwinLayout, javas_leases_are_listed_without_a_token) {
  Ours ours(darwin());
  Node java = node();
  ASSERT_TRUE(java.lease("b", 600));
  const Reply a =
      ours.ask({.verb = Verb::acquire, .key = {"a"}, .holder = {"ann"}, .ttl = 1h, .note = "why"}).value();
  ours.acquire("c", "cat");
  ours.release("c", "cat");
  const Page page = ours.store().list({}, soon()).value();
  ASSERT_EQ(page.leases.size(), 3u);
  EXPECT_EQ(page.leases[0].token, a.token);
  EXPECT_EQ(page.leases[0].note, "why");
  EXPECT_EQ(page.leases[1].key, "b");
  EXPECT_EQ(page.leases[1].holder, "1a1dccd476c_DEFAULT");
  EXPECT_EQ(page.leases[1].token, no_token);
  EXPECT_GT(page.leases[1].remaining, 9min);
  EXPECT_EQ(page.leases[2].remaining, 0ms);
  EXPECT_EQ(ours.store().list({.prefix = "B", .exact = true}, soon()).value().leases.size(), 1u);
}

TEST_P(DarwinLayout, the_queue_and_long_names_work_as_elsewhere) {
  Ours ann(darwin()), bob(darwin()), cat(darwin());
  const std::string long_name(512, 'h');
  const Reply mine = ann.acquire("nightly", long_name, never);
  EXPECT_EQ(mine.holder, long_name);
  EXPECT_EQ(bob.acquire("nightly", "bob", 1h, 1h).verdict, Verdict::busy);
  EXPECT_EQ(cat.acquire("nightly", "cat", 1h, 1h).ahead, 1u);
  EXPECT_FALSE(node().can_lease("nightly"));
  EXPECT_EQ(ann.release("nightly", long_name, mine.token).verdict, Verdict::released);
  EXPECT_EQ(cat.acquire("nightly", "cat", 1h, 1h).verdict, Verdict::busy);
  EXPECT_EQ(bob.acquire("nightly", "bob", 1h, 1h).verdict, Verdict::granted);
}

TEST_P(DarwinLayout, of_java_and_us_who_come_at_once_one_wins) {
  std::atomic<int> holders = 0, rounds = 0;
  const auto take = [&](bool got, const auto& give) {
    if (!got) return;
    EXPECT_EQ(++holders, 1);
    ++rounds;
    --holders;
    give();
  };
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      Node java = node("node" + std::to_string(t));
      for (int i = 0; i < 60; ++i) take(java.lease("k", 60), [&] { EXPECT_TRUE(java.release("k")); });
    });
    threads.emplace_back([&, t] {
      Ours ours(darwin());
      const std::string me = std::to_string(t);
      for (int i = 0; i < 60; ++i) {
        const auto reply = ours.ask({.verb = Verb::acquire, .key = {"k"}, .holder = {me}, .ttl = 1h});
        ASSERT_TRUE(reply) << reply.error().detail;
        take(reply->verdict == Verdict::granted,
             [&] { EXPECT_EQ(ours.release("k", me, reply->token).verdict, Verdict::released); });
      }
    });
  }
  threads.clear();
  EXPECT_GT(rounds, 10);
}

TEST_P(DarwinLayout, its_table_is_darwins_and_one_that_is_there_is_used) {
  EXPECT_EQ(
      query(
          "SELECT GROUP_CONCAT(COLUMN_NAME ORDER BY ORDINAL_POSITION) FROM information_schema.COLUMNS WHERE "
          "TABLE_NAME = 'DARWIN_LOCK' AND TABLE_SCHEMA = DATABASE()"),
      "id,processName,leaseUntil,unlockKey");
  query(
      "CREATE TABLE OLD_LOCK (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, processName VARCHAR(255) NOT NULL, "
      "leaseUntil DATETIME NOT NULL, unlockKey VARCHAR(255) NOT NULL, UNIQUE KEY u (processName)) "
      "ENGINE=InnoDB "
      "DEFAULT CHARSET=latin1 COLLATE latin1_general_cs");
  const std::string old = darwin() + "&table=OLD_LOCK";
  make_tables(old);
  Ours ours(old);
  EXPECT_EQ(ours.acquire("Name", "ann").verdict, Verdict::granted);
  EXPECT_EQ(ours.acquire("name", "bob").verdict, Verdict::granted) << "two for this collation";
  const std::string snow = "\xe2\x98\x83", longer(256, 'k');
  const auto letters = ours.ask({.verb = Verb::acquire, .key = {snow}, .holder = {"a"}, .ttl = 1h});
  ASSERT_FALSE(letters);
  EXPECT_EQ(letters.error().code, Errc::refused) << letters.error().detail;
  const auto reply = ours.ask({.verb = Verb::acquire, .key = {longer}, .holder = {"a"}, .ttl = 1h});
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().detail, HasSubstr("255 letters"));
}

TEST_P(DarwinLayout, a_purge_leaves_what_java_has_and_takes_ours_from_both_tables) {
  Ours ours(darwin());
  Node java = node();
  ASSERT_TRUE(java.lease("theirs", 600));
  ours.acquire("gone", "ann", 2ms);
  const auto steward = try_origin(darwin()).value()->steward();
  EXPECT_TRUE(await([&] { return steward->purge({.free_for = 0ms}, soon()).value().keys == 1; }));
  EXPECT_EQ(query("SELECT GROUP_CONCAT(processName) FROM DARWIN_LOCK"), "theirs");
}

TEST_P(DarwinLayout, it_says_of_itself_that_it_promises_less) {
  const Traits traits = Ours(darwin()).store().examine(soon()).value();
  EXPECT_EQ(traits.grade, 'C');
  EXPECT_THAT(traits.warnings, ::testing::Contains(HasSubstr("layout=darwin")));
}

HOLDFAST_ON_BOTH(DarwinLayout);

}  // namespace
}  // namespace holdfast::test
