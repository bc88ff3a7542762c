// SPDX-License-Identifier: Apache-2.0
// Failures between a client and a server, and the errors that a caller gets.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "tests/postgres/suite.h"
#include "tests/support/findings.h"

namespace holdfast::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class Outcomes : public PostgresTest {
 protected:
  Outcomes() { make_tables(url()); }
  ~Outcomes() override {
    try {
      shared_postgres().execute("DROP OWNED BY " + role_ + "; DROP ROLE " + role_);
    } catch (const std::exception&) {
      // Not every test makes it.
    }
  }
  // A role that may do anything here, with a setting of its own.
  std::string url_of_role_with(const std::string& setting) {
    shared_postgres().execute("CREATE ROLE " + role_ +
                              " LOGIN PASSWORD 'secret-of-a-role'; GRANT ALL ON SCHEMA " + schema_ + " TO " +
                              role_ + "; GRANT ALL ON ALL TABLES IN SCHEMA " + schema_ + " TO " + role_ +
                              "; GRANT ALL ON ALL SEQUENCES IN SCHEMA " + schema_ + " TO " + role_);
    if (!setting.empty()) shared_postgres().execute("ALTER ROLE " + role_ + " SET " + setting);
    return shared_postgres().url(role_, "postgres", "secret-of-a-role") + "?table=" + schema_ + ".locks";
  }
  static Error connect_error(const std::string& url) {
    const auto connected = try_store(url).value()->connect(soon());
    EXPECT_FALSE(connected);
    return connected ? Error{Errc::busy, ""} : connected.error();
  }
  const std::string role_ = "r_" + random_hex(16);
};

TEST_F(Outcomes, a_database_that_is_not_there_is_refused) {
  const Error error = connect_error(shared_postgres().url("postgres", "nowhere"));
  EXPECT_EQ(error.code, Errc::refused);
  EXPECT_THAT(error.detail, HasSubstr("3D000"));
}

TEST_F(Outcomes, nobody_at_the_port_is_unavailable) {
  const Error error = connect_error("postgres://postgres@127.0.0.1:1/postgres");
  EXPECT_EQ(error.code, Errc::unavailable);
  EXPECT_THAT(error.detail, Not(HasSubstr("\\x09")));
}

TEST_F(Outcomes, a_missing_privilege_is_refused) {
  const std::string url = url_of_role_with("");
  Caller ours(url);
  shared_postgres().execute("REVOKE UPDATE ON " + schema_ + ".locks FROM " + role_);
  const auto reply = ours.try_acquire("k");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::refused);
  EXPECT_THAT(reply.error().detail, AllOf(HasSubstr("privilege"), HasSubstr("42501")));
}

TEST_F(Outcomes, a_read_only_role_is_refused) {
  const Error error = connect_error(url_of_role_with("default_transaction_read_only = on"));
  EXPECT_EQ(error.code, Errc::refused);
  EXPECT_THAT(error.detail, HasSubstr("read-only"));
}

TEST_F(Outcomes, a_statement_timeout_changes_nothing_and_is_unavailable) {
  Caller ours(url_of_role_with("statement_timeout = '300ms'"));
  ASSERT_EQ(ours.acquire("k", "ann").verdict, Verdict::granted);
  const auto guard = psql();
  guard->run("BEGIN; SELECT 1 FROM locks FOR UPDATE");
  const auto reply = ours.try_ask({.verb = Verb::release, .key = {"k"}, .owner = {"ann"}});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::unavailable);
  EXPECT_THAT(reply.error().detail, HasSubstr("57014"));
  guard->run("COMMIT");
  EXPECT_EQ(ours.acquire("k", "bob").owner, "ann");
}

TEST_F(Outcomes, at_repeatable_read_statements_that_meet_are_sent_again) {
  const std::string url = url_of_role_with("default_transaction_isolation = 'repeatable read'");
  EXPECT_THAT(found(Caller(url).examine()), Contains(HasSubstr("repeatable read")));
  std::atomic<int> granted = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Caller ours(url);
      for (int i = 0; i < 50; ++i) {
        const std::string me = "thread " + std::to_string(t);
        if (ours.acquire("k", me).verdict != Verdict::granted) continue;
        ++granted;
        EXPECT_EQ(ours.release("k", me).verdict, Verdict::released);
      }
    });
  }
  threads.clear();
  EXPECT_GT(granted, 0);
}

TEST_F(Outcomes, commits_are_durable_whatever_the_role_says) {
  // Seen from inside the statement that writes: what is in force when it commits.
  psql()->run(
      "CREATE TABLE seen (synchronous_commit text); "
      "CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "INSERT INTO " +
      schema_ +
      ".seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$; "
      "CREATE CONSTRAINT TRIGGER see AFTER INSERT OR UPDATE ON locks DEFERRABLE INITIALLY DEFERRED "
      "FOR EACH ROW EXECUTE FUNCTION see()");
  Caller ours(url_of_role_with("synchronous_commit = off"));
  for (int i = 0; i < 3; ++i) {
    const Reply mine = ours.acquire("k", "ann");
    ours.renew("k", "ann", mine.token);
    ours.release("k", "ann", mine.token);
  }
  const Request batch[] = {{.verb = Verb::acquire, .key = {"x"}, .owner = {"ann"}, .ttl = 1h},
                           {.verb = Verb::acquire, .key = {"y"}, .owner = {"ann"}, .ttl = 1h}};
  Reply replies[2];
  ASSERT_TRUE(ours.connection().apply(batch, replies, soon()));
  EXPECT_EQ(psql()->value("SELECT string_agg(DISTINCT synchronous_commit, ',') || ' ' || count(*) FROM seen"),
            "on 11");
}

TEST_F(Outcomes, a_connection_that_was_ended_while_it_was_idle_is_replaced) {
  Caller ours(url_of_role_with(""));
  const auto end_it = [&] {
    ASSERT_EQ(shared_postgres().execute(
                  "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE usename = '" +
                  role_ + "'"),
              "1");
  };
  const Reply mine = ours.acquire("k", "ann");
  for (int i = 0; i < 3; ++i) {  // until it is prepared, and once more
    end_it();
    EXPECT_EQ(ours.renew("k", "ann", mine.token).verdict, Verdict::granted);
    EXPECT_EQ(ours.renew("k", "ann", mine.token).verdict, Verdict::granted);
    EXPECT_EQ(ours.renew("k", "ann", mine.token).verdict, Verdict::granted);
  }
  end_it();
  EXPECT_EQ(ours.list({}).leases.size(), 1u);
  end_it();
  EXPECT_TRUE(ours.connection().examine(soon()));
  end_it();
  EXPECT_EQ(ours.release("k", "ann", mine.token).verdict, Verdict::released);
}

TEST_F(Outcomes, a_connection_that_cannot_be_replaced_fails_like_a_failed_connect) {
  Caller ours(url_of_role_with("idle_session_timeout = '400ms'"));
  ASSERT_EQ(ours.acquire("k", "ann").verdict, Verdict::granted);
  shared_postgres().execute("ALTER ROLE " + role_ + " NOLOGIN");
  ASSERT_TRUE(await([&] {
    return shared_postgres().execute("SELECT count(*) FROM pg_stat_activity WHERE usename = '" + role_ +
                                     "'") == "0";
  }));
  const auto reply = ours.try_ask({.verb = Verb::release, .key = {"k"}, .owner = {"ann"}});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::refused) << reply.error().detail;
}

TEST_F(Outcomes, a_connection_that_is_ended_in_flight_is_in_doubt) {
  const std::string url = url_of_role_with("");
  Caller ours(url);
  ASSERT_EQ(ours.acquire("k", "ann").verdict, Verdict::granted);
  const auto guard = psql();
  guard->run("BEGIN; SELECT 1 FROM locks FOR UPDATE");
  std::jthread killer([&] {
    EXPECT_TRUE(await([&] {
      return shared_postgres().execute(
                 "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = '" + role_ +
                 "' AND wait_event_type = 'Lock'") == "1";
    }));
  });
  const auto reply = ours.try_ask({.verb = Verb::renew, .key = {"k"}, .owner = {"ann"}, .ttl = 2h});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::in_doubt) << reply.error().detail;
}

TEST_F(Outcomes, a_table_that_goes_away_is_refused) {
  Caller ours(url());
  ours.acquire("k", "ann");
  psql()->run("DROP TABLE locks");
  const auto reply = ours.try_ask({.verb = Verb::renew, .key = {"k"}, .owner = {"ann"}, .ttl = 1h});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::unprepared);
  EXPECT_THAT(reply.error().detail, HasSubstr("init"));
}

TEST_F(Outcomes, a_listener_that_lost_its_connection_notifies_and_listens_again) {
  const std::string url = url_of_role_with("");
  Caller ours(url), other(url);
  const auto listener = ours.listener();
  ASSERT_TRUE(listener);
  shared_postgres().execute(
      "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND usename "
      "= '" +
      role_ + "'");
  const auto rang = listener->ready();
  ASSERT_TRUE(rang);
  EXPECT_TRUE(rang->empty()) << "anything may have happened";
  other.acquire("k", "ann");
  ours.acquire("k", "bob", 1h, 1h);
  other.release("k", "ann");
  EXPECT_TRUE(await([&] { return listener->ready().value() == std::vector<std::string>{"k"}; }));
}

// A server of their own: it is killed and stopped here.
class OwnServer : public ::testing::Test {
 protected:
  OwnServer() { make_tables(server_.url()); }
  PostgresServer server_;
};

TEST_F(OwnServer, a_wrong_password_is_refused_and_not_shown) {
  const auto wrong = try_store(server_.url("postgres", "postgres", "wrong-secret")).value()->connect(soon());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::refused);
  EXPECT_THAT(wrong.error().detail,
              AllOf(HasSubstr("(28P01)"), Not(HasSubstr("28P01: ")), Not(HasSubstr("wrong-secret"))));
}

TEST_F(OwnServer, no_password_where_one_is_asked_for_is_refused) {
  const auto without = try_store(server_.url("postgres", "postgres", "")).value()->connect(soon());
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, Errc::refused);
  EXPECT_THAT(without.error().detail, AllOf(HasSubstr("PGPASSWORD"), HasSubstr("@FILE")));
}

// Five connections and no more.
class FullServer : public ::testing::Test {
 protected:
  FullServer() { make_tables(server_.url()); }
  void come() { others_.push_back(std::make_unique<Psql>(server_.url())); }
  // Others take all that are left.
  bool fill() {
    return await([this] {
      try {
        come();
        return false;
      } catch (const std::exception&) {
        return true;
      }
    });
  }

  PostgresServer server_{
      {.authentication = "trust",
       .lines = {"max_connections = 5", "superuser_reserved_connections = 0", "max_wal_senders = 0"},
       .fsync = false}};
  std::vector<std::unique_ptr<Psql>> others_;
};

TEST_F(FullServer, is_unavailable_and_lets_us_in_when_somebody_leaves) {
  Client client = open(server_.url());
  come();
  others_[0]->run(
      "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'holdfast'");
  ASSERT_TRUE(fill());
  const auto connected = try_store(server_.url()).value()->connect(soon());
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code, Errc::unavailable);
  EXPECT_THAT(connected.error().detail, HasSubstr("53300"));
  const auto refusals = [&] {
    std::ifstream file(server_.log());
    const std::string log((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    int count = 0;
    for (std::size_t at = 0; (at = log.find("too many clients", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  const int before = refusals();
  std::jthread waiting([&] { EXPECT_TRUE(client.try_acquire("k", {.wait = 1min})); });
  EXPECT_TRUE(await([&] { return refusals() > before; }));
  others_.clear();
}

// The keeper connects when it first renews, and the server is full; but the client's other connection exists.
TEST_F(FullServer, does_not_take_a_lease_that_is_held) {
  constexpr Millis ttl = 3s;
  std::atomic<int> renewals = 0;
  Client client = open(server_.url());
  ASSERT_TRUE(fill());
  Lease lease = client.acquire("k", {.ttl = ttl});
  lease.on_renewed([&](Instant) { ++renewals; });
  const Instant twice = BootClock::now() + 2 * ttl;
  EXPECT_TRUE(await([&] { return (renewals >= 2 && BootClock::now() > twice) || !lease.held(); }));
  EXPECT_TRUE(lease.held()) << lease.lost().detail;
  EXPECT_GE(renewals, 2);
  EXPECT_TRUE(lease.try_release());
}

TEST_F(OwnServer, leases_survive_a_server_that_is_killed_and_tokens_rise) {
  Reply mine;
  {
    Caller ours(server_.url());
    ours.acquire("free", "ann");
    ours.release("free", "ann");
    mine = ours.acquire("k", "ann");
    server_.kill();
    const auto lost = ours.try_ask({.verb = Verb::renew, .key = {"k"}, .owner = {"ann"}, .ttl = 1h});
    ASSERT_FALSE(lost);
    EXPECT_TRUE(lost.error().retryable());
  }
  const auto down = try_store(server_.url()).value()->connect(soon());
  ASSERT_FALSE(down);
  EXPECT_EQ(down.error().code, Errc::unavailable);
  server_.start();
  Caller ours(server_.url());
  EXPECT_EQ(ours.acquire("k", "bob").owner, "ann");
  EXPECT_EQ(ours.renew("k", "ann", mine.token).verdict, Verdict::granted);
  EXPECT_EQ(ours.release("k", "ann", mine.token).verdict, Verdict::released);
  EXPECT_GT(ours.acquire("k", "bob").token, mine.token);
}

TEST_F(OwnServer, a_kept_lease_outlives_a_restart_that_is_shorter_than_its_ttl) {
  Client client = open(server_.url());
  const Lease lease = client.acquire("k", {.ttl = 20s});
  server_.kill();
  server_.start();
  Caller other(server_.url());
  EXPECT_EQ(other.acquire("k", "bob").verdict, Verdict::busy);
  EXPECT_TRUE(lease.held());
}

TEST_F(OwnServer, an_acquire_that_was_given_up_grants_nothing_when_the_server_wakes) {
  Psql psql(server_.url());
  Caller late(server_.url());
  // Until it is prepared: the next is sent at once.
  for (const char* key : {"one", "two", "three"}) late.acquire(key, "late");
  const int pid = backend(psql);
  const std::string before =
      psql.value("SELECT state_change FROM pg_stat_activity WHERE pid = $1", {std::to_string(pid)});
  server_.pause_backend(pid);
  const auto reply = late.try_acquire("k", "late", BootClock::now() + 2s);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::in_doubt);
  let_pass(10ms);
  server_.resume_backend(pid);
  EXPECT_TRUE(await([&] {  // it has read what we sent, and done with it
    return psql.run("SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND state = 'idle' AND state_change <> $2",
                    {std::to_string(pid), before}) == 1;
  }));
  EXPECT_EQ(psql.value("SELECT locked_by FROM locks WHERE key = 'k'"), "");
}

TEST_F(OwnServer, a_frozen_server_delays_no_call_past_its_deadline) {
  Caller ours(server_.url());
  server_.pause();
  const auto reply =
      ours.try_ask({.verb = Verb::renew, .key = {"k"}, .owner = {"ann"}, .ttl = 1h}, BootClock::now() + 2s);
  const auto connected = try_store(server_.url()).value()->connect(BootClock::now() + 1s);
  server_.resume();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::in_doubt);
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code, Errc::unavailable);
  EXPECT_THAT(connected.error().detail, HasSubstr("is it a PostgreSQL server?"));
}

}  // namespace
}  // namespace holdfast::test
