// SPDX-License-Identifier: Apache-2.0
// layout=shedlock: JVMs with ShedLock and ours on one table, both ways round.
#include "tests/postgres/suite.h"
#include "tests/support/shedlock_sql.h"

namespace holdfast::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ShedLockLayout : public PostgresTest, public ShedLockTable<ShedLockLayout> {
 public:
  ShedLockLayout() { make_tables(shedlock()); }

  Caller ours() const { return Caller(shedlock()); }
  std::shared_ptr<Store> store() const { return try_store(shedlock()).value(); }
  std::string value(const std::string& sql) const { return psql()->value(sql); }
  static std::string utc() { return "(clock_timestamp() AT TIME ZONE 'UTC')"; }
  Jvm jvm(const std::string& host, std::optional<Millis> ahead = std::nullopt) const {
    const std::shared_ptr<Psql> connection = psql();
    return {[=](const std::string& sql) { return connection->run(sql); }, ShedLockOn::postgres, host, ahead};
  }

 protected:
  std::string shedlock() const {
    return shared_postgres().url() + "?layout=shedlock&table=" + schema_ + ".shedlock";
  }
  // The server process that waits for this one; empty: none does.
  std::string blocked_by(const std::string& pid) const {
    return value("SELECT pid FROM pg_stat_activity WHERE " + pid + " = ANY (pg_blocking_pids(pid))");
  }
  Error refused(const std::string& table) const {
    const auto made = try_store(shared_postgres().url() + "?layout=shedlock&table=" + schema_ + "." + table)
                          .value()
                          ->admin()
                          ->init(soon());
    EXPECT_FALSE(made);
    return made ? Error{Errc::busy, ""} : made.error();
  }
};

HOLDFAST_SHEDLOCK_SCENES_ON_SQL(TEST_F, ShedLockLayout)

TEST_F(ShedLockLayout, a_table_that_is_there_is_used_and_not_changed) {
  const auto table = psql();
  table->run(
      "CREATE TABLE old_lock (name varchar(20) PRIMARY KEY, lock_until timestamp(3) NOT NULL, locked_at "
      "timestamp(3) NOT NULL, locked_by text NOT NULL, remark text)");
  const std::string url = shared_postgres().url() + "?layout=shedlock&table=" + schema_ + ".old_lock";
  for (const std::string& statement : try_store(url).value()->admin()->plan(soon()).value())
    EXPECT_THAT(statement, HasSubstr("_holdfast_")) << "only tables of ours";
  make_tables(url);
  Caller ours(url);
  EXPECT_EQ(ours.acquire("Name", "ann").verdict, Verdict::granted);
  EXPECT_EQ(ours.acquire("name", "bob").verdict, Verdict::granted) << "names are bytes";
  EXPECT_THAT(table->value("SELECT locked_by FROM old_lock WHERE name = 'Name'"),
              ::testing::StartsWith("ann holdfast-"));
  EXPECT_EQ(table->value("SELECT count(*) FROM old_lock WHERE lock_until > locked_at + interval '1 hour'"),
            "2")
      << "ShedLock sees the end one millisecond after ours";
}

TEST_F(ShedLockLayout, it_is_found_where_the_search_path_has_it) {
  const std::string role = "r_" + random_hex(16);
  shared_postgres().execute("CREATE ROLE " + role + " LOGIN PASSWORD 'p' SUPERUSER; CREATE SCHEMA " + role +
                            "; ALTER ROLE " + role + " SET search_path = " + role + ", " + schema_);
  const std::string url = shared_postgres().url(role, "postgres", "p") + "?layout=shedlock";
  EXPECT_TRUE(try_store(url).value()->admin()->plan(soon()).value().empty());
  EXPECT_EQ(Caller(url).acquire("nightly", "ann").verdict, Verdict::granted);
  EXPECT_EQ(ours().acquire("nightly", "bob").owner, "ann");
  shared_postgres().execute("DROP SCHEMA " + role + "; DROP ROLE " + role);
}

TEST_F(ShedLockLayout, a_table_that_is_not_shedlocks_is_refused_by_what_is_wrong) {
  psql()->run(
      "CREATE TABLE zoned (name varchar(64) PRIMARY KEY, lock_until timestamptz NOT NULL, locked_at "
      "timestamp "
      "NOT NULL, locked_by varchar(255) NOT NULL);"
      "CREATE TABLE coarse (name varchar(64) PRIMARY KEY, lock_until timestamp(0) NOT NULL, locked_at "
      "timestamp NOT NULL, locked_by varchar(255) NOT NULL);"
      "CREATE TABLE twice (name varchar(64), lock_until timestamp NOT NULL, locked_at timestamp NOT NULL, "
      "locked_by varchar(255) NOT NULL);"
      "CREATE TABLE narrow (name varchar(64) PRIMARY KEY, lock_until timestamp NOT NULL, locked_at timestamp "
      "NOT NULL, locked_by varchar(31) NOT NULL);"
      "CREATE TABLE more (name varchar(64) PRIMARY KEY, lock_until timestamp NOT NULL, locked_at timestamp "
      "NOT NULL, locked_by varchar(255) NOT NULL, tenant text NOT NULL);"
      "CREATE TABLE less (name varchar(64) PRIMARY KEY); CREATE VIEW seen AS SELECT * FROM shedlock");
  EXPECT_THAT(refused("zoned").detail,
              AllOf(HasSubstr("\"lock_until\" is timestamp with time zone"), HasSubstr("without time zone")));
  EXPECT_THAT(refused("coarse").detail, HasSubstr("with milliseconds"));
  EXPECT_THAT(refused("twice").detail, HasSubstr("\"name\" needs a primary key or a unique index"));
  EXPECT_THAT(refused("narrow").detail, HasSubstr("needs 32"));
  EXPECT_THAT(refused("more").detail, HasSubstr("\"tenant\" is NOT NULL"));
  EXPECT_THAT(refused("less").detail, HasSubstr("\"lock_until\""));
  EXPECT_EQ(refused("seen").code, Errc::refused);
}

TEST_F(ShedLockLayout, a_waiter_is_notified_by_our_release_and_polls_for_theirs) {
  Client client = open(shedlock() + "&unsafe=allow");
  Jvm jvm = this->jvm("web1");
  ASSERT_TRUE(jvm.lock("nightly"));
  std::jthread unlocks([&] {
    EXPECT_TRUE(await([&] { return value("SELECT count(*) FROM shedlock_holdfast_waiters") == "1"; }));
    EXPECT_TRUE(jvm.unlock("nightly"));
  });
  Lease lease = client.acquire("nightly", {.ttl = 1h, .wait = 1min});
  EXPECT_FALSE(jvm.lock("nightly"));
  lease.release();
  EXPECT_TRUE(jvm.lock("nightly"));
}

// Somebody who tidies up their table deletes a row that nobody holds, while we are about to take it.
TEST_F(ShedLockLayout, a_row_that_is_deleted_while_we_acquire_is_made_again) {
  Caller ours(shedlock());
  ours.release("k", "ann", ours.acquire("k", "ann").token);
  const auto other = psql(), watching = psql();
  other->run("BEGIN; DELETE FROM shedlock WHERE name = 'k'");
  const std::string blocked = "SELECT count(*) FROM pg_stat_activity WHERE " +
                              std::to_string(other->backend()) + " = ANY (pg_blocking_pids(pid))";
  std::jthread deletes([&] {
    EXPECT_TRUE(await([&] { return watching->value(blocked) == "1"; }));
    other->run("COMMIT");
  });
  EXPECT_EQ(ours.acquire("k", "bob").verdict, Verdict::granted);
  deletes.join();
  EXPECT_EQ(value("SELECT count(*) FROM shedlock WHERE name = 'k'"), "1");
  EXPECT_FALSE(jvm("web1").lock("k"));
}

TEST_F(ShedLockLayout, their_lock_that_is_committed_while_we_wait_for_its_row_counts) {
  Caller ours(shedlock());
  ours.release("k", "ann", ours.acquire("k", "ann").token);
  const auto other = psql();
  const std::string pid = std::to_string(other->backend());
  other->run("BEGIN; UPDATE shedlock SET locked_by = 'web1', lock_until = " + utc() +
             " + interval '10 minutes' WHERE name = 'k'");
  std::jthread commits([&] {
    EXPECT_TRUE(await([&] { return !blocked_by(pid).empty(); }));
    other->run("COMMIT");
  });
  Reply busy;
  // Who has waited for the row for too long asks again.
  do busy = ours.acquire("k", "ann");
  while (busy.owner == "(a transaction that has its row locked)");
  EXPECT_EQ(busy.verdict, Verdict::busy);
  EXPECT_EQ(busy.owner, "web1 (ShedLock)");
  EXPECT_EQ(value("SELECT locked_by FROM shedlock"), "web1");
}

// Ann's release has locked the row of `a` and waits for that of `b`; meanwhile Bob waits for that of `a`.
TEST_F(ShedLockLayout, our_release_that_is_committed_while_we_wait_for_its_row_is_no_loss) {
  Caller ann(shedlock()), bob(shedlock());
  const auto other = psql();
  const std::string pid = std::to_string(other->backend());
  // Ann gives up waiting after half a second, which a busy machine may exceed: then it is played again.
  EXPECT_TRUE(await([&] {
    for (const char* const key : {"a", "b"}) EXPECT_EQ(ann.acquire(key, "ann").verdict, Verdict::granted);
    other->run("BEGIN; SELECT FROM shedlock WHERE name = 'b' FOR UPDATE");
    std::atomic<bool> met = false, over = false;
    std::jthread releases([&] {
      ann.ask_all({{.verb = Verb::release, .key = {"a"}, .owner = {"ann"}},
                   {.verb = Verb::release, .key = {"b"}, .owner = {"ann"}}});
      over = true;
    });
    std::string anns;
    EXPECT_TRUE(await([&] { return over || !(anns = blocked_by(pid)).empty(); }));
    std::jthread commits([&] {
      EXPECT_TRUE(await([&] { return over || (met = !blocked_by(anns).empty()); }));
      other->run("COMMIT");
    });
    EXPECT_TRUE(await([&] { return bob.acquire("a", "bob").verdict == Verdict::granted; }));
    for (std::jthread* const thread : {&releases, &commits}) thread->join();
    EXPECT_EQ(bob.list({.what = Query::What::log}).log.size(), 0u) << "nothing was taken over";
    EXPECT_EQ(bob.release("a", "bob").verdict, Verdict::released);
    return met.load();
  }));
}

// Somebody keeps ShedLock's row locked.
TEST_F(ShedLockLayout, an_open_transaction_on_their_row_blocks_only_that_key) {
  Caller ours(shedlock());
  const Reply mine = ours.acquire("k", "ann");
  const auto other = psql();
  other->run("BEGIN; SELECT 1 FROM shedlock WHERE name = 'k' FOR UPDATE");
  EXPECT_EQ(ours.acquire("other", "ann").verdict, Verdict::granted);
  EXPECT_EQ(ours.acquire("k", "bob").verdict, Verdict::busy);
  const auto reply =
      ours.try_ask({.verb = Verb::renew, .key = {"k"}, .owner = {"ann"}, .token = mine.token, .ttl = 1h});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::unavailable) << reply.error().detail;
  other->run("ROLLBACK");
  EXPECT_EQ(ours.renew("k", "ann", mine.token).verdict, Verdict::granted);
}

// It decides about leases too, and each batch of ours writes there.
TEST_F(ShedLockLayout, doctor_examines_their_table_as_our_own) {
  const std::string named = "?layout=shedlock&table=" + schema_ + ".shedlock";
  const std::string role = "r_" + random_hex(16), theirs = role + "_x";
  shared_postgres().execute("CREATE ROLE " + role + " LOGIN PASSWORD 'p'; CREATE ROLE " + theirs);
  psql()->run("GRANT ALL ON SCHEMA " + schema_ + " TO " + role + ", " + theirs +
              "; GRANT ALL ON ALL TABLES IN SCHEMA " + schema_ + " TO " + role +
              "; GRANT ALL ON ALL SEQUENCES IN SCHEMA " + schema_ + " TO " + role +
              "; CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'");
  const std::string url = shared_postgres().url(role, "postgres", "p") + named;
  const auto diagnosed = [&] { return try_store(url).value()->admin()->diagnose(soon()).value(); };
  const auto expect_told = [&](const std::string& change, const std::string& topic, const std::string& what) {
    psql()->run(change);
    const Diagnosis diagnosis = diagnosed();
    EXPECT_THAT(found(diagnosis), ::testing::Contains(HasSubstr(what))) << change;
    EXPECT_NE(about(diagnosis, topic), nullptr) << change;
  };
  const auto expect_calm = [&](const std::string& change) {
    psql()->run(change);
    EXPECT_THAT(topics_of(diagnosed().findings), ::testing::ElementsAre("warning postgres.layout")) << change;
  };
  expect_calm("SELECT 1");
  expect_told("ALTER TABLE shedlock OWNER TO " + theirs, "postgres.owner", "shedlock belongs to " + theirs);
  expect_calm("ALTER TABLE shedlock OWNER TO postgres");
  expect_told("CREATE TRIGGER spy BEFORE UPDATE ON shedlock FOR EACH ROW EXECUTE FUNCTION f()",
              "postgres.triggers", "spy on shedlock");
  expect_calm("DROP TRIGGER spy ON shedlock");
  expect_told("CREATE RULE odd AS ON DELETE TO shedlock DO ALSO NOTHING", "postgres.triggers",
              "odd on shedlock");
  expect_calm("DROP RULE odd ON shedlock");
  expect_told("ALTER TABLE shedlock ENABLE ROW LEVEL SECURITY", "postgres.row-security", "shedlock");
  expect_calm("ALTER TABLE shedlock DISABLE ROW LEVEL SECURITY");
  expect_told("ALTER TABLE shedlock SET UNLOGGED", "postgres.unlogged", "shedlock");
  expect_calm("ALTER TABLE shedlock SET LOGGED");
  expect_told(
      "ALTER TABLE shedlock OWNER TO " + theirs + "; ALTER TABLE shedlock_holdfast_locks RENAME TO gone",
      "postgres.owner", "shedlock belongs to " + theirs);  // also before init has made ours
  expect_calm("ALTER TABLE shedlock OWNER TO postgres; ALTER TABLE gone RENAME TO shedlock_holdfast_locks");
  expect_told("ALTER TABLE shedlock RENAME TO other; CREATE VIEW shedlock AS SELECT * FROM other",
              "postgres.columns",
              "a view or another object has the name of a table that Holdfast needs: shedlock");
  shared_postgres().execute("DROP OWNED BY " + theirs + ", " + role + "; DROP ROLE " + theirs + ", " + role);
}

}  // namespace
}  // namespace holdfast::test
