// SPDX-License-Identifier: Apache-2.0
// What goes wrong between us and a server, and what a caller is told.
#include <atomic>
#include <map>
#include <thread>

#include "tests/mariadb/suite.h"

namespace holdfast::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class Outcomes : public MariaTest {
 protected:
  Outcomes() { make_tables(url()); }
  static Request acquire(std::string_view key, std::string_view holder = "ann") {
    return {.verb = Verb::acquire, .key = {key}, .holder = {holder}, .ttl = 1h};
  }
  // The number of our connection that waits for a row, as KILL takes it.
  std::string waiting() const {
    return query(
        "SELECT COALESCE(MAX(t.trx_mysql_thread_id), 0) FROM information_schema.INNODB_TRX AS t JOIN "
        "information_schema.PROCESSLIST AS p ON p.ID = t.trx_mysql_thread_id WHERE t.trx_state = 'LOCK WAIT' "
        "AND "
        "p.DB = '" +
        database_ + "'");
  }
  void kill_ours() const {
    const std::string ids = query(
        "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'app' AND DB = '" + database_ + "'");
    std::size_t from = 0;
    while (from < ids.size()) {
      const std::size_t end = std::min(ids.find('\n', from), ids.size());
      query("KILL " + ids.substr(from, end - from));
      from = end + 1;
    }
  }
};

TEST_P(Outcomes, a_database_that_is_not_there_is_refused) {
  const Error error = refused(server().url("app", "nowhere"));
  EXPECT_EQ(error.code, Errc::refused);
  EXPECT_THAT(error.detail, HasSubstr("1049"));
}

TEST_P(Outcomes, nobody_at_the_port_is_unavailable) {
  EXPECT_EQ(refused("mariadb://app@127.0.0.1:1/app").code, Errc::unavailable);
}

TEST_P(Outcomes, a_wrong_password_is_refused_and_said_nowhere) {
  const Error error = refused(server().url("nobody", database_, "hunter2-canary"));
  EXPECT_EQ(error.code, Errc::refused);
  EXPECT_THAT(error.detail, AllOf(HasSubstr("does not let this user in"), Not(HasSubstr("hunter2"))));
}

TEST_P(Outcomes, tables_that_vanish_are_refused_with_who_makes_them) {
  Ours ours(url());
  query("DROP TABLE holdfast_waiters");
  const auto reply = ours.ask(acquire("k"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::refused);
  EXPECT_THAT(reply.error().detail, HasSubstr("init"));
}

TEST_P(Outcomes, a_server_that_becomes_read_only_refuses) {
  MariaServer own({.mysql = mysql(), .fsync = false});
  make_tables(own.url());
  own.query("CREATE USER plain@'%'; GRANT SELECT, INSERT, UPDATE, DELETE ON app.* TO plain@'%'");
  Ours ours(own.url("plain", "app"));
  own.query("SET GLOBAL read_only = 1");
  const auto reply = ours.ask(acquire("k"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::refused) << reply.error().detail;
  EXPECT_THAT(reply.error().detail, HasSubstr("give the primary"));
  EXPECT_THAT(refused(own.url()).detail, HasSubstr("read-only"));
}

TEST_P(Outcomes, a_connection_that_was_closed_while_idle_is_not_noticed) {
  Ours ours(url());
  const Reply mine = ours.acquire("k", "ann");
  kill_ours();
  EXPECT_EQ(ours.renew("k", "ann", mine.token).verdict, Verdict::granted);
}

TEST_P(Outcomes, a_connection_that_is_lost_before_the_answer_leaves_doubt) {
  Ours ours(url());
  ours.acquire("k", "ann");
  const auto other = stranger();
  other->run("BEGIN");
  other->run("SELECT 1 FROM locks WHERE `key` = 'k' FOR UPDATE");
  std::jthread killer([&] {
    EXPECT_TRUE(await([&] { return waiting() != "0"; }));
    query("KILL " + waiting());
  });
  const auto reply = ours.ask({.verb = Verb::release, .key = {"k"}, .holder = {"ann"}});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::in_doubt) << reply.error().detail;
  killer.join();
  other->run("ROLLBACK");
  EXPECT_EQ(ours.release("k", "ann").verdict, Verdict::released) << "it connects anew";
}

TEST_P(Outcomes, a_transaction_that_is_lost_before_it_was_written_did_nothing) {
  Ours ours(url());
  ours.acquire("k", "ann");
  const auto other = stranger();
  other->run("BEGIN");
  other->run("SELECT 1 FROM locks WHERE `key` = 'k' FOR UPDATE");
  std::jthread killer([&] {
    EXPECT_TRUE(await([&] { return waiting() != "0"; }));
    query("KILL " + waiting());
  });
  const Request batch[] = {acquire("a"), acquire("k")};
  Reply replies[2];
  const Status status = ours.store().apply(batch, replies, soon());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::unavailable) << status.error().detail;
  EXPECT_EQ(query("SELECT COUNT(*) FROM locks WHERE `key` = 'a'"), "0");
}

TEST_P(Outcomes, somebodys_open_transaction_blocks_its_own_key_only) {
  Ours ours(url());
  for (const char* key : {"held", "free", "other"}) ours.acquire(key, "ann");
  ours.release("free", "ann");
  ours.release("other", "ann");
  const auto other = stranger();
  other->run("BEGIN");
  for (const char* key : {"held", "free"})
    other->run("SELECT 1 FROM locks WHERE `key` = '" + std::string(key) + "' FOR UPDATE");
  const Request batch[] = {acquire("free", "bob"),
                           acquire("held", "bob"),
                           {.verb = Verb::renew, .key = {"held"}, .holder = {"ann"}, .ttl = 1min},
                           acquire("other", "bob")};
  Reply replies[4];
  const Status status = ours.store().apply(batch, replies, soon());
  ASSERT_TRUE(status) << status.error().detail;
  EXPECT_EQ(replies[0].holder, "(a transaction that has its row locked)");
  EXPECT_EQ(replies[1].verdict, Verdict::busy);
  EXPECT_EQ(replies[1].holder, "ann");
  EXPECT_EQ(replies[2].verdict, Verdict::granted);
  EXPECT_EQ(replies[3].verdict, Verdict::granted);
  EXPECT_EQ(ours.acquire("held", "bob").holder, "ann") << "alone too";
  const auto release = ours.ask({.verb = Verb::release, .key = {"held"}, .holder = {"ann"}});
  ASSERT_FALSE(release);
  EXPECT_EQ(release.error().code, Errc::unavailable) << release.error().detail;
}

// What an acquire that was given up has made and not committed yet, its release must not overlook.
TEST_P(Outcomes, a_release_waits_for_a_row_that_is_being_made) {
  Ours ours(url());
  const auto given_up = stranger();
  given_up->run("BEGIN");
  given_up->run(
      "INSERT INTO locks VALUES ('k', 'ann', UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL 1 HOUR, 7)");
  std::jthread commits([&] {
    EXPECT_TRUE(await([&] { return somebody_waits(); }));
    given_up->run("COMMIT");
  });
  EXPECT_EQ(ours.release("k", "ann").verdict, Verdict::released);
  EXPECT_EQ(ours.acquire("k", "bob").verdict, Verdict::granted);
}

// Each kind of call, alone and in a batch: none comes later than it was told to, and none takes effect then.
TEST_P(Outcomes, a_frozen_server_holds_nobody_up_and_grants_nothing_later) {
  MariaServer own({.mysql = mysql(), .fsync = false});
  make_tables(own.url());
  for (const bool batch : {false, true}) {
    Ours ours(own.url());
    const Request requests[] = {acquire("k"), acquire("l")};
    Reply replies[2];
    own.pause();
    const Instant until = BootClock::now() + 200ms;
    const Status status = ours.store().apply({requests, batch ? 2u : 1u}, {replies, batch ? 2u : 1u}, until);
    const auto late = BootClock::now() - until;
    own.resume();
    ASSERT_FALSE(status);
    EXPECT_LT(late, 150ms);
    EXPECT_GE(late, 0ms);
    EXPECT_EQ(Ours(own.url()).acquire("k", "bob").verdict, Verdict::granted);
    EXPECT_EQ(Ours(own.url()).release("k", "bob").verdict, Verdict::released);
  }
}

TEST_P(Outcomes, connecting_to_a_frozen_server_ends_in_time) {
  MariaServer own({.mysql = mysql(), .fsync = false});
  make_tables(own.url());
  own.pause();
  const Instant until = BootClock::now() + 200ms;
  const auto connected = try_origin(own.url()).value()->connect(until);
  const auto late = BootClock::now() - until;
  own.resume();
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code, Errc::unavailable);
  EXPECT_LT(late, 150ms);
}

TEST_P(Outcomes, no_acknowledged_grant_is_lost_by_kill_9_under_load) {
  MariaServer own({.mysql = mysql()});
  make_tables(own.url());
  std::atomic<bool> done = false;
  std::mutex mutex;
  std::map<std::string, Token> granted;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Ours ours(own.url());
      for (int n = 0; !done; ++n) {
        const std::string key = std::to_string(t) + "." + std::to_string(n);
        const auto reply = ours.ask(acquire(key), BootClock::now() + 1s);
        if (!reply) continue;
        const std::lock_guard lock(mutex);
        granted[key] = reply->token;
      }
    });
  }
  const auto so_many = [&](std::size_t count) {
    return await([&] {
      const std::lock_guard lock(mutex);
      return granted.size() >= count;
    });
  };
  EXPECT_TRUE(so_many(100));
  own.kill();
  done = true;
  threads.clear();
  own.start();
  Ours ours(own.url());
  for (const auto& [key, token] : granted) {
    const Reply reply = ours.acquire(key, "bob");
    ASSERT_EQ(reply.verdict, Verdict::busy) << key;
    EXPECT_EQ(reply.token, token);
    ASSERT_EQ(ours.release(key, "ann", token).verdict, Verdict::released);
    ASSERT_GT(ours.acquire(key, "bob").token, token);
  }
}

TEST_P(Outcomes, what_is_set_up_unsafely_is_told_to_everybody_who_opens_it) {
  const MariaServer own({.lines = {"innodb_flush_log_at_trx_commit=2", "log_bin=log", "server_id=1",
                                   "sync_binlog=0", "sysdate_is_now"},
                         .mysql = mysql()});
  make_tables(own.url());
  const Traits traits = Ours(own.url()).store().examine(soon()).value();
  EXPECT_EQ(traits.grade, 'C');
  for (const char* word : {"innodb_flush_log_at_trx_commit", "sync_binlog", "sysdate_is_now"})
    EXPECT_THAT(traits.warnings, Contains(HasSubstr(word)));
  const Traits known = Ours(own.url() + "?unsafe=allow").store().examine(soon()).value();
  EXPECT_TRUE(known.warnings.empty());
  EXPECT_FALSE(known.findings.empty());
}

TEST_P(Outcomes, a_server_that_is_set_up_well_has_no_warnings) {
  const MariaServer own({.mysql = mysql()});
  make_tables(own.url());
  const Traits traits = Ours(own.url()).store().examine(soon()).value();
  EXPECT_EQ(traits.grade, 'B');
  EXPECT_TRUE(traits.warnings.empty()) << traits.warnings.front();
}

TEST_P(Outcomes, a_binary_log_of_statements_is_refused) {
  const MariaServer own(
      {.lines = {"log_bin=log", "server_id=1", "binlog_format=STATEMENT"}, .mysql = mysql(), .fsync = false});
  EXPECT_THAT(refused(own.url()).detail, HasSubstr("binlog_format=ROW"));
  const auto made = try_origin(own.url()).value()->steward()->init(soon());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::refused);
  EXPECT_THAT(made.error().detail, HasSubstr("binlog_format=ROW"));
}

HOLDFAST_ON_BOTH(Outcomes);

// MySQL tells it only those who may see it.
TEST(Replica, is_refused_although_it_takes_writes) {
  const MariaServer primary({.lines = {"log_bin=log", "server_id=1"}});
  const MariaServer replica({.lines = {"server_id=2"}});
  make_tables(replica.url());
  EXPECT_EQ(Ours(replica.url()).acquire("k", "ann").verdict, Verdict::granted);
  replica.query("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_USER='app', MASTER_PORT=" +
                std::to_string(primary.port()) + "; START SLAVE");
  ASSERT_TRUE(await(
      [&] { return replica.query("SHOW GLOBAL STATUS LIKE 'Slaves_running'") == "Slaves_running\t1"; }));
  EXPECT_THAT(refused(replica.url()).detail, HasSubstr("is a replica"));
  EXPECT_EQ(Ours(replica.url() + "?unsafe=allow").acquire("k", "ann").verdict, Verdict::granted);
}

}  // namespace
}  // namespace holdfast::test
