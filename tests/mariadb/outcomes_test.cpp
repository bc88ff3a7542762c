// SPDX-License-Identifier: Apache-2.0
// Failures between a client and a server, and the errors that a caller gets.
#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "tests/mariadb/suite.h"
#include "tests/support/findings.h"
#include "tests/support/servers/port.h"

namespace holdfast::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class Outcomes : public MariaTest {
 protected:
  Outcomes() { make_tables(url()); }
  static Request acquire(std::string_view key, std::string_view owner = "ann") {
    return {.verb = Verb::acquire, .key = {key}, .owner = {owner}, .ttl = 1h};
  }
  // Asks for the row of k, which another transaction has locked, and kills the connection that waits for it.
  // `ask` returns whether it was killed: on a slow machine the wait may have ended by itself.
  template <class Ask>
  bool kill_while_waiting(Ask ask) const {
    for (int round = 0; round < 100; ++round) {
      const auto other = stranger(), killer = stranger();
      other->run("BEGIN");
      other->run("SELECT 1 FROM locks WHERE `key` = 'k' FOR UPDATE");
      std::atomic<bool> answered = false;
      std::jthread kills([&] {
        std::string id = "0";
        EXPECT_TRUE(await([&] { return answered || (somebody_waits() && (id = asking()) != "0"); }));
        if (id != "0") (void)killer->error_of("KILL " + id);
      });
      const bool met = ask(round);
      answered = true;
      if (met) return true;
    }
    return false;
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
  EXPECT_THAT(error.detail, AllOf(HasSubstr("does not let this user log in"), Not(HasSubstr("hunter2"))));
}

TEST_P(Outcomes, missing_tables_are_refused_with_the_command_that_creates_them) {
  MariaCaller ours(url());
  query("DROP TABLE holdfast_waiters");
  const auto reply = ours.try_ask(acquire("k"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::unprepared);
  EXPECT_THAT(reply.error().detail, HasSubstr("init"));
}

TEST_P(Outcomes, a_server_that_becomes_read_only_refuses) {
  MariaServer own({.mysql = mysql(), .fsync = false});
  make_tables(own.url());
  own.query("CREATE USER plain@'%'; GRANT SELECT, INSERT, UPDATE, DELETE ON app.* TO plain@'%'");
  MariaCaller ours(own.url("plain", "app"));
  own.query("SET GLOBAL read_only = 1");
  const auto reply = ours.try_ask(acquire("k"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::refused) << reply.error().detail;
  EXPECT_THAT(reply.error().detail, HasSubstr("use the URL of the primary"));
  EXPECT_THAT(refused(own.url()).detail, HasSubstr("read-only"));
  // The name may lead to another server by now.
  const auto again = ours.try_ask(acquire("k"));
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().detail, HasSubstr("is read-only")) << "it connects anew";
  own.query("SET GLOBAL read_only = 0");
  EXPECT_EQ(ours.acquire("k", "ann").verdict, Verdict::granted);
}

TEST_P(Outcomes, a_connection_that_was_closed_while_idle_is_not_noticed) {
  MariaCaller ours(url());
  const Reply mine = ours.acquire("k", "ann");
  kill_ours();
  EXPECT_EQ(ours.renew("k", "ann", mine.token).verdict, Verdict::granted);
}

TEST_P(Outcomes, a_connection_that_is_lost_before_the_answer_leaves_doubt) {
  MariaCaller ours(url());
  ours.acquire("k", "ann");
  std::optional<Result<Reply>> reply;
  EXPECT_TRUE(kill_while_waiting([&](int) {
    reply = ours.try_ask({.verb = Verb::release, .key = {"k"}, .owner = {"ann"}});
    return !*reply && reply->error().code == Errc::in_doubt;
  })) << reply->error().detail;
  EXPECT_EQ(ours.release("k", "ann").verdict, Verdict::released) << "it connects anew";
}

TEST_P(Outcomes, a_transaction_that_is_lost_before_it_was_written_did_nothing) {
  MariaCaller ours(url());
  ours.acquire("k", "ann");
  EXPECT_TRUE(kill_while_waiting([&](int round) {
    const std::string before = "a" + std::to_string(round);
    const Request batch[] = {acquire(before), acquire("k", "bob")};
    Reply replies[2];
    const Status status = ours.connection().apply(batch, replies, soon());
    if (status) return false;
    EXPECT_EQ(status.error().code, Errc::unavailable) << status.error().detail;
    EXPECT_EQ(query("SELECT COUNT(*) FROM locks WHERE `key` = '" + before + "'"), "0");
    return true;
  }));
}

TEST_P(Outcomes, somebodys_open_transaction_blocks_its_own_key_only) {
  MariaCaller ours(url());
  for (const char* key : {"held", "free", "other"}) ours.acquire(key, "ann");
  ours.release("free", "ann");
  ours.release("other", "ann");
  const auto other = stranger();
  other->run("BEGIN");
  for (const char* key : {"held", "free"})
    other->run("SELECT 1 FROM locks WHERE `key` = '" + std::string(key) + "' FOR UPDATE");
  const Request batch[] = {acquire("free", "bob"),
                           acquire("held", "bob"),
                           {.verb = Verb::renew, .key = {"held"}, .owner = {"ann"}, .ttl = 1min},
                           acquire("other", "bob")};
  Reply replies[4];
  const Status status = ours.connection().apply(batch, replies, soon());
  ASSERT_TRUE(status) << status.error().detail;
  EXPECT_EQ(replies[0].owner, "(a transaction that has its row locked)");
  EXPECT_EQ(replies[1].verdict, Verdict::busy);
  EXPECT_EQ(replies[1].owner, "ann");
  EXPECT_EQ(replies[2].verdict, Verdict::granted);
  EXPECT_EQ(replies[3].verdict, Verdict::granted);
  EXPECT_EQ(ours.acquire("held", "bob").owner, "ann") << "alone too";
  const auto release = ours.try_ask({.verb = Verb::release, .key = {"held"}, .owner = {"ann"}});
  ASSERT_FALSE(release);
  EXPECT_EQ(release.error().code, Errc::unavailable) << release.error().detail;
}

// What an acquire that was given up has made and not committed yet, its release must not overlook.
TEST_P(Outcomes, a_release_waits_for_a_row_that_is_being_made) {
  MariaCaller ours(url());
  bool waited = false;
  for (int round = 0; round < 100 && !waited; ++round) {
    const std::string key = "k" + std::to_string(round);
    const auto given_up = stranger();
    given_up->run("BEGIN");
    given_up->run("INSERT INTO locks (`key`, locked_by, locked_at, locked_until, sequence) VALUES ('" + key +
                  "', 'ann', UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL 1 HOUR, 7)");
    std::atomic<bool> answered = false;
    std::jthread commits([&] {
      EXPECT_TRUE(await([&] { return answered || somebody_waits(); }));
      given_up->run("COMMIT");
    });
    const auto reply = ours.try_ask({.verb = Verb::release, .key = {key}, .owner = {"ann"}});
    answered = true;
    commits.join();
    waited = reply.has_value();
    if (!waited) {  // the machine was too slow, and it was not committed in time
      EXPECT_EQ(reply.error().code, Errc::unavailable) << reply.error().detail;
      continue;
    }
    EXPECT_EQ(reply->verdict, Verdict::released);
    EXPECT_EQ(ours.acquire(key, "bob").verdict, Verdict::granted);
  }
  EXPECT_TRUE(waited);
}

// The INSERT of an acquire is committed, and somebody's LOCK TABLES comes before the SELECT that follows.
TEST_P(Outcomes, a_grant_that_cannot_be_read_back_is_in_doubt) {
  MariaCaller ours(url());
  query("CREATE TRIGGER gate AFTER INSERT ON locks FOR EACH ROW SET @passed = GET_LOCK('" + database_ +
        "', 10)");
  const auto state = [&](const std::string& words) {
    return query("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = '" + database_ +
                 "' AND STATE LIKE '" + words + "%'") != "0";
  };
  bool made = false;
  for (int round = 0; round < 100 && !made; ++round) {
    const std::string key = "k" + std::to_string(round);
    const auto gate = stranger(), locks = stranger();
    gate->run("SELECT GET_LOCK('" + database_ + "', 10)");
    std::atomic<bool> answered = false;
    std::jthread between([&] {
      EXPECT_TRUE(await([&] { return answered || state("User lock"); }));
      std::jthread locking([&] { locks->run("LOCK TABLES holdfast_waiters WRITE"); });
      EXPECT_TRUE(await([&] { return answered || state("Waiting for table metadata lock"); }));
      gate->run("SELECT RELEASE_LOCK('" + database_ + "')");
    });
    const auto reply = ours.try_ask(acquire(key));
    answered = true;
    between.join();
    locks->run("UNLOCK TABLES");
    made = query("SELECT COUNT(*) FROM locks WHERE `key` = '" + key + "'") == "1";
    if (!made) continue;  // the machine was too slow: the INSERT had waited long enough
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, Errc::in_doubt) << reply.error().detail;
  }
  EXPECT_TRUE(made);
}

// Each kind of call, alone and in a batch: none returns after its deadline, and none takes effect after it.
TEST_P(Outcomes, a_frozen_server_delays_nobody_and_grants_nothing_later) {
  MariaServer own({.mysql = mysql(), .fsync = false});
  make_tables(own.url());
  for (const bool batch : {false, true}) {
    MariaCaller ours(own.url());
    const Request requests[] = {acquire("k"), acquire("l")};
    Reply replies[2];
    own.pause();
    const Instant until = BootClock::now() + 200ms;
    const Status status =
        ours.connection().apply({requests, batch ? 2u : 1u}, {replies, batch ? 2u : 1u}, until);
    const auto late = BootClock::now() - until;
    let_pass(2s);  // the server's clock is known as exactly as the first round trip was short
    own.resume();
    ASSERT_FALSE(status);
    EXPECT_LT(late, 5s) << "the server is frozen: it ends by itself or not at all";
    EXPECT_GE(late, 0ms);
    EXPECT_EQ(MariaCaller(own.url()).acquire("k", "bob").verdict, Verdict::granted);
    EXPECT_EQ(MariaCaller(own.url()).release("k", "bob").verdict, Verdict::released);
  }
}

TEST_P(Outcomes, connecting_to_a_frozen_server_ends_in_time) {
  MariaServer own({.mysql = mysql(), .fsync = false});
  make_tables(own.url());
  own.pause();
  const Instant until = BootClock::now() + 200ms;
  const auto connected = try_store(own.url()).value()->connect(until);
  const auto late = BootClock::now() - until;
  own.resume();
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code, Errc::unavailable);
  EXPECT_LT(late, 5s);
}

TEST_P(Outcomes, no_acknowledged_grant_is_lost_by_kill_9_under_load) {
  MariaServer own({.mysql = mysql()});
  make_tables(own.url());
  std::atomic<bool> done = false;
  std::mutex mutex;
  std::map<std::string, Token> granted;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    // Connected before anybody begins: the server is killed as soon as there are enough grants.
    threads.emplace_back([&, t, ours = std::make_unique<MariaCaller>(own.url())] {
      for (int n = 0; !done; ++n) {
        const std::string key = std::to_string(t) + "." + std::to_string(n);
        const auto reply = ours->try_ask(acquire(key), BootClock::now() + 1s);
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
  MariaCaller ours(own.url());
  for (const auto& [key, token] : granted) {
    const Reply reply = ours.acquire(key, "bob");
    ASSERT_EQ(reply.verdict, Verdict::busy) << key;
    EXPECT_EQ(reply.token, token);
    ASSERT_EQ(ours.release(key, "ann", token).verdict, Verdict::released);
    ASSERT_GT(ours.acquire(key, "bob").token, token);
  }
}

TEST_P(Outcomes, unsafe_settings_are_reported_to_every_client_that_opens_the_store) {
  const MariaServer own({.lines = {"innodb_flush_log_at_trx_commit=2", "log_bin=log", "server_id=1",
                                   "sync_binlog=0", "sysdate_is_now"},
                         .mysql = mysql()});
  make_tables(own.url());
  const Traits traits = MariaCaller(own.url()).examine();
  EXPECT_EQ(traits.grade, Grade::C);
  for (const char* word : {"innodb_flush_log_at_trx_commit", "sync_binlog", "sysdate_is_now"})
    EXPECT_THAT(told(traits), Contains(HasSubstr(word)));
  const Traits known = MariaCaller(own.url() + "?unsafe=allow").examine();
  EXPECT_TRUE(told(known).empty());
  EXPECT_FALSE(found(known).empty());
  const Traits some = MariaCaller(own.url() + "?accept=mariadb.sync-binlog").examine();
  EXPECT_THAT(told(some), Contains(HasSubstr("innodb_flush_log_at_trx_commit")));
  EXPECT_THAT(told(some), Not(Contains(HasSubstr("sync_binlog"))));
  EXPECT_TRUE(about(some, "mariadb.sync-binlog")->accepted);
}

TEST_P(Outcomes, a_server_that_is_set_up_well_has_no_warnings) {
  const MariaServer own({.mysql = mysql()});
  make_tables(own.url());
  const Traits traits = MariaCaller(own.url()).examine();
  EXPECT_EQ(traits.grade, Grade::B);
  EXPECT_TRUE(told(traits).empty()) << told(traits).front();
}

TEST_P(Outcomes, a_binary_log_of_statements_is_refused) {
  const MariaServer own(
      {.lines = {"log_bin=log", "server_id=1", "binlog_format=STATEMENT"}, .mysql = mysql(), .fsync = false});
  EXPECT_THAT(refused(own.url()).detail, HasSubstr("binlog_format = ROW"));
  const auto made = try_store(own.url()).value()->admin()->init(soon());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::refused);
  EXPECT_THAT(made.error().detail, HasSubstr("binlog_format = ROW"));
}

HOLDFAST_ON_BOTH(Outcomes);

// One node alone is a cluster already.
TEST(Galera, is_reported_to_every_client_that_opens_it) {
  const std::string provider = "/usr/lib/galera/libgalera_smm.so";
  if (!std::filesystem::exists(provider)) GTEST_SKIP() << "Galera is missing (Debian's galera-4)";
  const std::string port = std::to_string(free_port());
  const MariaServer node(
      {.lines = {"wsrep_on=ON", "wsrep_provider=" + provider, "wsrep_cluster_address=gcomm://",
                 "wsrep_node_address=127.0.0.1", "binlog_format=ROW", "innodb_autoinc_lock_mode=2",
                 "wsrep_provider_options=gmcast.listen_addr=tcp://127.0.0.1:" + port}});
  make_tables(node.url());
  MariaCaller ours(node.url());
  const Traits traits = ours.examine();
  EXPECT_EQ(traits.grade, Grade::C);
  EXPECT_THAT(told(traits), Contains(HasSubstr("Galera")));
  const auto diagnosis = [&] { return ours.store().admin()->diagnose(soon()).value(); };
  EXPECT_NE(about(diagnosis(), "mariadb.galera"), nullptr);
  EXPECT_EQ(about(diagnosis(), "mariadb.galera-state"), nullptr);
  node.query("SET GLOBAL wsrep_desync = ON");
  EXPECT_NE(about(diagnosis(), "mariadb.galera-state"), nullptr);
  node.query("SET GLOBAL wsrep_desync = OFF");
  EXPECT_EQ(ours.acquire("k", "ann").verdict, Verdict::granted);
}

// MySQL shows it only to users with the privilege.
TEST(Replica, is_refused_although_it_takes_writes) {
  const MariaServer primary({.lines = {"log_bin=log", "server_id=1"}});
  const MariaServer replica({.lines = {"server_id=2"}});
  primary.query("RESET MASTER");  // whose users the replica has already
  make_tables(replica.url());
  EXPECT_EQ(MariaCaller(replica.url()).acquire("k", "ann").verdict, Verdict::granted);
  replica.query("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_USER='app', MASTER_PORT=" +
                std::to_string(primary.port()) + "; START SLAVE");
  ASSERT_TRUE(await(
      [&] { return replica.query("SHOW GLOBAL STATUS LIKE 'Slaves_running'") == "Slaves_running\t1"; }));
  EXPECT_THAT(refused(replica.url()).detail, HasSubstr("is a replica"));
  EXPECT_EQ(MariaCaller(replica.url() + "?accept=mariadb.replica").acquire("k", "ann").verdict,
            Verdict::granted);
  MariaCaller allowed(replica.url() + "?unsafe=allow");
  EXPECT_EQ(allowed.acquire("k", "ann").verdict, Verdict::granted);
  const Traits traits = allowed.examine();
  EXPECT_EQ(traits.grade, Grade::D);
  EXPECT_THAT(found(traits), Contains(HasSubstr("replica")));
  const auto at = [](const MariaServer& server, const char* topic) {
    const Diagnosis diagnosis = try_store(server.url()).value()->admin()->diagnose(soon()).value();
    const Finding* finding = about(diagnosis, topic);
    return finding == nullptr ? "" : finding->what;
  };
  EXPECT_THAT(at(replica, "mariadb.replica"), HasSubstr("replica"));

  // And of its primary: whether one that is promoted would have the last leases.
  const char* const topic = "mariadb.semi-sync";
  EXPECT_THAT(at(primary, topic), HasSubstr("asynchronous"));
  primary.query("SET GLOBAL rpl_semi_sync_master_enabled = ON");
  EXPECT_THAT(at(primary, topic), HasSubstr("no replica confirms"));
  replica.query("STOP SLAVE; SET GLOBAL rpl_semi_sync_slave_enabled = ON; START SLAVE");
  EXPECT_TRUE(await([&] { return at(primary, topic).starts_with("replicas confirm a commit after"); }));
  primary.query("SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC");
  EXPECT_TRUE(await([&] { return at(primary, topic).empty(); }));
}

}  // namespace
}  // namespace holdfast::test
