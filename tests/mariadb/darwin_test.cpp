// SPDX-License-Identifier: Apache-2.0
// layout=darwin: Java's nodes and ours on one table, both ways round.
#include <atomic>
#include <thread>

#include "tests/mariadb/darwin_suite.h"
#include "tests/support/findings.h"

namespace holdfast::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class DarwinLayout : public DarwinTable {
 protected:
  // Repeats `scene` until it took less than `limit`; a slower run proves nothing.
  template <class RunContext>
  static bool within(Millis limit, RunContext context) {
    for (int round = 0; round < 20; ++round) {
      const Instant from = BootClock::now();
      const auto in_time = [&] { return BootClock::now() - from < limit; };
      context(in_time);
      if (in_time()) return true;
    }
    return false;
  }
};

TEST_P(DarwinLayout, what_java_has_leased_is_busy_for_us_until_java_releases_it) {
  MariaCaller ours(darwin());
  Node java = node();
  ASSERT_TRUE(java.lease("nightly", 600));
  const Reply busy = ours.acquire("nightly", "ann");
  EXPECT_EQ(busy.verdict, Verdict::busy);
  EXPECT_EQ(busy.owner, "1a1dccd476c_DEFAULT (Darwin)");
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
  MariaCaller ours(darwin());
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
      query("SELECT leaseUntil BETWEEN NOW() + INTERVAL 1190 SECOND AND NOW() + INTERVAL 1203 SECOND FROM "
            "DARWIN_LOCK"),
      "1");
  EXPECT_EQ(ours.release("nightly", "ann", mine.token).verdict, Verdict::released);
  EXPECT_EQ(query("SELECT COUNT(*) FROM DARWIN_LOCK"), "0");
  EXPECT_TRUE(java.lease("nightly", 60));
}

TEST_P(DarwinLayout, javas_lease_is_taken_over_two_seconds_after_its_end_so_that_java_can_renew) {
  MariaCaller ours(darwin());
  Node java = node();
  const Reply before = ours.acquire("nightly", "ann");
  ours.release("nightly", "ann");
  ASSERT_TRUE(java.lease("nightly", 60));
  EXPECT_EQ(ours.acquire("nightly", "bob").verdict, Verdict::busy);
  ASSERT_TRUE(within(1s, [&](const auto& in_time) {
    query("DELETE FROM DARWIN_LOCK");
    java.lease("nightly", 60);
    query("UPDATE DARWIN_LOCK SET leaseUntil = NOW()");
    const Verdict verdict = ours.acquire("nightly", "bob").verdict;
    EXPECT_TRUE(verdict == Verdict::busy || !in_time()) << "a node's renewal may come just now";
    const bool renewed = java.renew("nightly", 60);
    EXPECT_TRUE(renewed || !in_time()) << "and came";
    if (!in_time()) ours.release("nightly", "bob");
  }));
  query("UPDATE DARWIN_LOCK SET leaseUntil = NOW() - INTERVAL 3 SECOND");
  const Reply after = ours.acquire("nightly", "bob");
  EXPECT_EQ(after.verdict, Verdict::granted);
  EXPECT_GT(after.token, before.token);
  EXPECT_FALSE(java.renew("nightly", 60));
  const Page log = ours.list({.what = Query::What::log});
  ASSERT_EQ(log.log.size(), 1u);
  EXPECT_EQ(log.log[0].event, "taken-over");
  EXPECT_THAT(log.log[0].owner, HasSubstr("1a1dccd476c_DEFAULT"));
  EXPECT_EQ(log.log[0].token, no_token);
}

TEST_P(DarwinLayout, javas_lease_after_its_end_is_held_for_readers_as_long_as_for_acquires) {
  MariaCaller ours(darwin());
  Node java = node();
  const auto remaining = [&] { return ours.row("nightly").remaining; };
  ASSERT_TRUE(within(1s, [&](const auto& in_time) {
    query("DELETE FROM DARWIN_LOCK");
    ASSERT_TRUE(java.lease("nightly", 60));
    query("UPDATE DARWIN_LOCK SET leaseUntil = NOW()");
    const Millis before = remaining();
    const Reply busy = ours.acquire("nightly", "bob");
    const Millis after = remaining();
    if (!in_time()) return void(ours.release("nightly", "bob"));
    EXPECT_EQ(busy.verdict, Verdict::busy);
    EXPECT_GE(before, busy.remaining) << "both get the same end";
    EXPECT_GE(busy.remaining, after);
    EXPECT_GT(after, 0ms);
  }));
  query("UPDATE DARWIN_LOCK SET leaseUntil = NOW() - INTERVAL 3 SECOND");
  EXPECT_EQ(remaining(), 0ms);
  EXPECT_EQ(ours.acquire("nightly", "bob").verdict, Verdict::granted);
}

TEST_P(DarwinLayout, ours_that_ran_out_is_taken_over_by_java_and_then_it_is_lost) {
  MariaCaller ours(darwin());
  Node java = node();
  Reply mine;
  ASSERT_TRUE(within(1s, [&](const auto& in_time) {
    query("DELETE FROM DARWIN_LOCK");
    mine = ours.acquire("nightly", "ann", 100ms);
    const bool taken = java.lease("nightly", 60);
    EXPECT_TRUE(!taken || !in_time()) << "in whole seconds, rounded up";
  }));
  ASSERT_TRUE(await([&] { return java.lease("nightly", 60); }));
  EXPECT_EQ(ours.renew("nightly", "ann", mine.token).verdict, Verdict::lost);
  EXPECT_EQ(ours.acquire("nightly", "ann").verdict, Verdict::busy);
  EXPECT_EQ(ours.release("nightly", "ann", mine.token).verdict, Verdict::lost);
  EXPECT_FALSE(java.can_lease("nightly")) << "our release left it alone";
}

TEST_P(DarwinLayout, ours_that_ran_out_is_taken_over_by_us_at_once) {
  MariaCaller ours(darwin());
  const Reply first = ours.acquire("nightly", "ann", 2ms);
  let_pass(4ms);
  const Reply second = ours.acquire("nightly", "bob");
  EXPECT_EQ(second.verdict, Verdict::granted);
  EXPECT_GT(second.token, first.token);
}

TEST_P(DarwinLayout, what_somebody_took_away_is_lost) {
  MariaCaller ours(darwin());
  const Reply mine = ours.acquire("nightly", "ann");
  query("DELETE FROM DARWIN_LOCK");
  EXPECT_EQ(ours.renew("nightly", "ann", mine.token).verdict, Verdict::lost);
  EXPECT_GT(ours.acquire("nightly", "ann").token, mine.token);
}

// What busy shows of Java's lease is a name for people, and opens nothing.
TEST_P(DarwinLayout, no_holdfast_client_is_mistaken_for_a_java_node) {
  MariaCaller ours(darwin());
  Node java = node();
  const Reply before = ours.acquire("nightly", "ann");
  ours.release("nightly", "ann");
  ASSERT_TRUE(java.lease("nightly", 600));
  const std::string shown = ours.acquire("nightly", "bob").owner;
  EXPECT_EQ(ours.renew("nightly", shown).verdict, Verdict::lost);
  EXPECT_EQ(ours.acquire("nightly", shown).verdict, Verdict::busy);
  EXPECT_EQ(ours.release("nightly", shown).verdict, Verdict::lost);
  EXPECT_EQ(ours.evict("nightly", no_token).verdict, Verdict::lost);
  EXPECT_TRUE(java.renew("nightly", 600)) << "it is Java's as before";
  EXPECT_EQ(query("SELECT sequence FROM DARWIN_LOCK_holdfast_locks"), std::to_string(to_number(before.token)))
      << "and our last token is known";
}

// Our own table alone does not know whether Java has taken it.
TEST_P(DarwinLayout, a_renewal_that_cannot_read_both_tables_is_unavailable) {
  MariaCaller ours(darwin());
  const Reply mine = ours.acquire("nightly", "ann");
  query("DELETE FROM DARWIN_LOCK");
  const auto other = stranger();
  other->run("BEGIN");
  other->run("SELECT 1 FROM DARWIN_LOCK_holdfast_locks FOR UPDATE");
  const auto reply = ours.try_ask(
      {.verb = Verb::renew, .key = {"nightly"}, .owner = {"ann"}, .token = mine.token, .ttl = 1h});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::unavailable) << reply.error().detail;
  other->run("ROLLBACK");
  EXPECT_EQ(ours.renew("nightly", "ann", mine.token).verdict, Verdict::lost);
}

TEST_P(DarwinLayout, a_table_in_which_a_name_can_stand_twice_is_refused) {
  query("CREATE TABLE COPY_LOCK ENGINE=InnoDB AS SELECT * FROM DARWIN_LOCK");
  const auto made = try_store(darwin() + "&table=COPY_LOCK").value()->admin()->init(soon());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::refused);
  EXPECT_THAT(made.error().detail, ::testing::AllOf(HasSubstr("\"processName\""), HasSubstr("unique")));
}

TEST_P(DarwinLayout, leases_are_as_long_for_both_in_every_zone) {
  for (const std::string zone : {"-05:00", "+05:30"}) {
    const MariaServer own({.lines = {"default_time_zone='" + zone + "'"}, .mysql = mysql(), .fsync = false});
    const std::string there = own.url() + "?layout=darwin";
    make_tables(there);
    MariaCaller ours(there);
    Node java(std::make_unique<Stranger>(own, "app"), "DEFAULT");
    ASSERT_TRUE(java.lease("theirs", 600));
    const Reply theirs = ours.acquire("theirs", "bob");
    EXPECT_EQ(theirs.verdict, Verdict::busy) << zone;
    EXPECT_GT(theirs.remaining, 9min) << zone;
    EXPECT_LE(theirs.remaining, 10min + 2s) << zone;
    const Reply mine = ours.acquire("ours", "ann", 10min);
    EXPECT_EQ(
        own.query("SELECT TIMESTAMPDIFF(SECOND, NOW(), leaseUntil) BETWEEN 540 AND 602 FROM DARWIN_LOCK "
                  "WHERE processName = 'ours'",
                  "app"),
        "1")
        << zone;
    for (const auto& lease : ours.list({}).leases) {
      EXPECT_GT(lease.remaining, 9min) << zone;
      EXPECT_LE(lease.remaining, lease.key == "ours" ? 10min : 10min + 2s) << zone;
    }
    Stranger other(own, "app");
    other.run("BEGIN");
    other.run("SELECT 1 FROM DARWIN_LOCK_holdfast_locks WHERE `key` = 'ours' FOR UPDATE");
    const Reply locked = ours.acquire("ours", "bob");
    EXPECT_EQ(locked.owner, "ann") << zone;
    EXPECT_GT(locked.remaining, 9min) << zone;
    EXPECT_LE(locked.remaining, 10min) << zone;
    other.run("ROLLBACK");
    EXPECT_EQ(ours.renew("ours", "ann", mine.token, 10min).verdict, Verdict::granted) << zone;
  }
}

TEST_P(DarwinLayout, no_node_that_releases_its_instance_takes_ours) {
  MariaCaller ours(darwin());
  for (int i = 0; i < 40; ++i) ours.acquire("k" + std::to_string(i), "ann");
  Node java = node("11");
  ASSERT_TRUE(java.lease("theirs", 60));
  for (const char* instance :
       {"DEFAULT", "cpp", "p", "0", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f"})
    EXPECT_EQ(java.release_all_of(instance), 0u) << instance;
  EXPECT_EQ(java.release_all_of("1"), 1u) << "as Darwin does: instance 1 takes those of 11 too";
  EXPECT_EQ(java.release_all_of("a%b"), 0u);
  EXPECT_EQ(query("SELECT COUNT(*) FROM DARWIN_LOCK"), "40");
}

// In LIKE a _ is any letter and a % any letters: what ends so, or in what our keys end in, finds them.
TEST_P(DarwinLayout, a_node_whose_instance_ends_in_a_wildcard_or_as_our_keys_do_takes_ours) {
  Node java = node();
  for (const char* instance : {"", "_", "__", "holdfast_", "%", "cpp%", "~", "holdfast~"}) {
    MariaCaller ours(darwin());
    const Reply mine = ours.acquire("nightly", "ann");
    EXPECT_EQ(java.release_all_of(instance), 1u) << instance;
    EXPECT_EQ(ours.renew("nightly", "ann", mine.token).verdict, Verdict::lost) << instance;
  }
}

TEST_P(DarwinLayout, what_is_one_lock_for_java_is_one_for_us) {
  MariaCaller ours(darwin());
  Node java = node();
  const Reply mine = ours.acquire("Name", "ann");
  EXPECT_EQ(ours.acquire("name", "bob").verdict, Verdict::busy);
  EXPECT_EQ(ours.acquire("NAME", "bob").owner, "ann");
  EXPECT_FALSE(java.lease("name", 60));
  const Request batch[] = {{.verb = Verb::release, .key = {"nAME"}, .owner = {"ann"}, .token = mine.token},
                           {.verb = Verb::acquire, .key = {"NAme"}, .owner = {"bob"}, .ttl = 1h},
                           {.verb = Verb::acquire, .key = {"name"}, .owner = {"cat"}, .ttl = 1h}};
  Reply replies[3];
  ASSERT_TRUE(ours.connection().apply(batch, replies, soon()));
  EXPECT_EQ(replies[0].verdict, Verdict::released);
  EXPECT_EQ(replies[1].verdict, Verdict::granted);
  EXPECT_EQ(replies[2].verdict, Verdict::busy);
}

TEST_P(DarwinLayout, javas_leases_are_listed_without_a_token) {
  MariaCaller ours(darwin());
  Node java = node();
  ASSERT_TRUE(java.lease("b", 600));
  const Reply a = ours.ask({.verb = Verb::acquire, .key = {"a"}, .owner = {"ann"}, .ttl = 1h, .note = "why"});
  ours.acquire("c", "cat");
  ours.release("c", "cat");
  const Page page = ours.list({});
  ASSERT_EQ(page.leases.size(), 3u);
  EXPECT_EQ(page.leases[0].token, a.token);
  EXPECT_EQ(page.leases[0].note, "why");
  EXPECT_EQ(page.leases[1].key, "b");
  EXPECT_EQ(page.leases[1].owner, "1a1dccd476c_DEFAULT (Darwin)") << "as busy says it";
  EXPECT_EQ(page.leases[1].token, no_token);
  EXPECT_GT(page.leases[1].remaining, 9min);
  EXPECT_EQ(page.leases[2].remaining, 0ms);
  EXPECT_EQ(ours.list({.prefix = "B", .exact = true}).leases.size(), 1u);
}

TEST_P(DarwinLayout, the_queue_and_long_names_work_as_elsewhere) {
  MariaCaller ann(darwin()), bob(darwin()), cat(darwin());
  const std::string long_name(512, 'h');
  const Reply mine = ann.acquire("nightly", long_name, never);
  EXPECT_EQ(mine.owner, long_name);
  EXPECT_EQ(bob.acquire("nightly", "bob", 1h, 1h).verdict, Verdict::busy);
  EXPECT_EQ(cat.acquire("nightly", "cat", 1h, 1h).ahead, 1u);
  EXPECT_FALSE(node().can_lease("nightly"));
  EXPECT_EQ(ann.release("nightly", long_name, mine.token).verdict, Verdict::released);
  EXPECT_EQ(cat.acquire("nightly", "cat", 1h, 1h).verdict, Verdict::busy);
  EXPECT_EQ(bob.acquire("nightly", "bob", 1h, 1h).verdict, Verdict::granted);
}

TEST_P(DarwinLayout, java_and_holdfast_at_the_same_moment_one_wins) {
  std::atomic<int> owners = 0, rounds = 0;
  const auto take = [&](bool got, const auto& give) {
    if (!got) return;
    EXPECT_EQ(++owners, 1);
    ++rounds;
    --owners;
    give();
  };
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      Node java = node("node" + std::to_string(t));
      for (int i = 0; i < 60; ++i) take(java.lease("k", 60), [&] { EXPECT_TRUE(java.release("k")); });
    });
    threads.emplace_back([&, t] {
      MariaCaller ours(darwin());
      const std::string me = std::to_string(t);
      for (int i = 0; i < 60; ++i) {
        const auto reply = ours.try_acquire("k", me);
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
  MariaCaller ours(old);
  EXPECT_EQ(ours.acquire("Name", "ann").verdict, Verdict::granted);
  EXPECT_EQ(ours.acquire("name", "bob").verdict, Verdict::granted) << "two for this collation";
  const std::string snow = "\xe2\x98\x83", longer(256, 'k');
  const auto letters = ours.try_acquire(snow, "a");
  ASSERT_FALSE(letters);
  EXPECT_EQ(letters.error().code, Errc::refused) << letters.error().detail;
  const auto reply = ours.try_acquire(longer, "a");
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().detail, HasSubstr("255 letters"));
}

TEST_P(DarwinLayout, a_purge_leaves_what_java_has_and_takes_ours_from_both_tables) {
  MariaCaller ours(darwin());
  Node java = node();
  ASSERT_TRUE(java.lease("theirs", 600));
  ours.acquire("gone", "ann", 2ms);
  const auto admin = try_store(darwin()).value()->admin();
  EXPECT_TRUE(await([&] { return admin->purge({.free_for = 0ms}, soon()).value().keys == 1; }));
  EXPECT_EQ(query("SELECT GROUP_CONCAT(processName) FROM DARWIN_LOCK"), "theirs");
}

TEST_P(DarwinLayout, it_says_of_itself_that_it_promises_less) {
  const Traits traits = MariaCaller(darwin()).examine();
  EXPECT_EQ(traits.grade, Grade::C);
  EXPECT_THAT(told(traits), ::testing::Contains(HasSubstr("layout=darwin")));
}

HOLDFAST_ON_BOTH(DarwinLayout);

}  // namespace
}  // namespace holdfast::test
