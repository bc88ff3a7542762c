// SPDX-License-Identifier: Apache-2.0
// Doctor on servers that are set up well, and on some that are not.  Each topic is a row of the table in
// docs/stores/postgres.md.
#include <gmock/gmock.h>

#include <filesystem>
#include <optional>
#include <thread>

#include "tests/postgres/suite.h"
#include "tests/support/findings.h"
#include "tests/support/servers/pgbouncer.h"
#include "tests/support/servers/relay.h"

namespace holdfast::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

Diagnosis diagnosis_of(const std::string& url) {
  return try_store(url).value()->admin()->diagnose(soon()).value();
}

std::vector<std::string> topics_at(const std::string& url) { return topics_of(diagnosis_of(url).findings); }

class Diagnosed : public PostgresTest {
 protected:
  ~Diagnosed() override {
    if (has_role_) shared_postgres().execute("DROP OWNED BY " + role_ + "; DROP ROLE " + role_);
  }
  // Of a role that may do what a client does, and no more.
  std::string least() {
    make_tables(url());
    shared_postgres().execute("CREATE ROLE " + role_ + " LOGIN PASSWORD 'p'");
    has_role_ = true;
    psql()->run("GRANT USAGE ON SCHEMA " + schema_ + " TO " + role_ +
                "; GRANT SELECT, INSERT, UPDATE ON locks TO " + role_ +
                "; GRANT USAGE ON SEQUENCE locks_id_seq TO " + role_ +
                "; GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast_waiters TO " + role_ +
                "; GRANT SELECT, INSERT, UPDATE ON holdfast_facts TO " + role_ +
                "; GRANT SELECT, INSERT ON holdfast_log TO " + role_ +
                "; GRANT SELECT ON holdfast_state TO " + role_);
    return shared_postgres().url(role_, "postgres", "p") + "?table=" + schema_ + ".locks";
  }
  const std::string role_ = "r_" + random_hex(16);
  bool has_role_ = false;
};

TEST_F(Diagnosed, a_server_that_is_set_up_well_has_nothing_to_be_said_about) {
  const Diagnosis diagnosis = diagnosis_of(least());
  EXPECT_TRUE(diagnosis.findings.empty()) << found(diagnosis).front();
  EXPECT_EQ(diagnosis.grade, Grade::B);
  EXPECT_THAT(diagnosis.server, ::testing::MatchesRegex("PostgreSQL [0-9.]+"));
}

TEST_F(Diagnosed, a_superuser_is_more_than_leases_need) {
  make_tables(url());
  EXPECT_THAT(topics_at(url()), ::testing::ElementsAre("note postgres.superuser"));
}

TEST_F(Diagnosed, tables_that_are_missing_are_no_danger_and_are_not_made) {
  const Diagnosis diagnosis = diagnosis_of(url());
  EXPECT_THAT(topics_of(diagnosis.findings), Contains("warning postgres.tables"));
  EXPECT_THAT(the(diagnosis, "postgres.tables").advice, HasSubstr("init"));
  EXPECT_EQ(diagnosis.grade, Grade::C);
  EXPECT_EQ(psql()->run("SELECT 1 FROM pg_tables WHERE schemaname = '" + schema_ + "'"), 0);
  make_tables(url());
  psql()->run("DROP TABLE holdfast_ticks");
  EXPECT_THAT(topics_at(url()), Contains("note postgres.jobs"));
  psql()->run("DROP INDEX index_locks_on_key");
  EXPECT_THAT(found(diagnosis_of(url())), Contains(HasSubstr("unique index")));
}

TEST_F(Diagnosed, a_time_that_depends_on_the_time_zone_is_a_danger) {
  psql()->run(
      "CREATE TABLE locks (key varchar PRIMARY KEY, locked_by varchar, locked_at timestamp, "
      "locked_until timestamptz, sequence bigint)");
  const Diagnosis diagnosis = diagnosis_of(url());
  EXPECT_EQ(the(diagnosis, "postgres.columns").severity, Severity::danger);
  EXPECT_THAT(the(diagnosis, "postgres.columns").what, HasSubstr("\"locked_until\""));
  EXPECT_EQ(diagnosis.grade, Grade::D);
}

TEST_F(Diagnosed, tables_that_a_crash_empties_are_a_danger) {
  make_tables(url());
  psql()->run("ALTER TABLE holdfast_state SET UNLOGGED");
  EXPECT_THAT(topics_at(url()), Contains("danger postgres.unlogged"));
  EXPECT_THAT(found(diagnosis_of(url())), Contains(HasSubstr("holdfast_state")));
  psql()->run("ALTER TABLE holdfast_state SET LOGGED; ALTER TABLE locks SET UNLOGGED");
  EXPECT_THAT(topics_at(url()), Contains("danger postgres.unlogged"));
}

TEST_F(Diagnosed, a_missing_privilege_comes_with_the_grant_that_gives_it) {
  const std::string url = least();
  psql()->run("REVOKE UPDATE ON locks FROM " + role_ + "; REVOKE ALL ON holdfast_facts FROM " + role_ +
              "; REVOKE USAGE ON SEQUENCE locks_id_seq FROM " + role_);
  const Diagnosis diagnosis = diagnosis_of(url);
  EXPECT_THAT(topics_of(diagnosis.findings), ::testing::ElementsAre("danger postgres.privileges"));
  const std::string advice = the(diagnosis, "postgres.privileges").advice;
  psql()->run(advice);  // it is SQL
  EXPECT_TRUE(diagnosis_of(url).findings.empty()) << advice;
  EXPECT_EQ(Caller(url).acquire("k", "ann").verdict, Verdict::granted);
}

TEST_F(Diagnosed, a_role_with_few_connections_still_gets_all_findings_and_one_about_that) {
  const std::string url = least();
  psql()->run("REVOKE UPDATE ON locks FROM " + role_);
  for (const char* const limit : {"1", "2"}) {
    shared_postgres().execute("ALTER ROLE " + role_ + " CONNECTION LIMIT " + limit);
    std::optional<Diagnosis> diagnosis;
    // The server may not have seen yet that the last one has gone.
    ASSERT_TRUE(await([&] {
      auto told = try_store(url).value()->admin()->diagnose(soon());
      if (told) diagnosis = *std::move(told);
      return diagnosis.has_value();
    }));
    EXPECT_TRUE(has(*diagnosis, "postgres.connections", Severity::warning)) << limit;
    EXPECT_TRUE(has(*diagnosis, "postgres.privileges", Severity::danger)) << limit;
  }
}

TEST_F(Diagnosed, a_schema_that_the_user_may_not_use_is_reported_too) {
  const std::string url = least();
  psql()->run("REVOKE USAGE ON SCHEMA " + schema_ + " FROM " + role_);
  const Diagnosis diagnosis = diagnosis_of(url);
  EXPECT_THAT(topics_of(diagnosis.findings), ::testing::ElementsAre("danger postgres.privileges"));
  psql()->run(the(diagnosis, "postgres.privileges").advice);
  EXPECT_TRUE(diagnosis_of(url).findings.empty());
}

TEST_F(Diagnosed, a_user_who_may_only_read_is_a_danger_where_connecting_refuses) {
  const std::string url = least() + "&options=-cdefault_transaction_read_only%3Don";
  EXPECT_FALSE(try_store(url).value()->connect(soon()));
  EXPECT_THAT(topics_at(url), Contains("danger postgres.read-only"));
}

TEST_F(Diagnosed, commits_that_are_not_waited_for_and_another_isolation_are_notes) {
  const std::string url = least() +
                          "&options=-csynchronous_commit%3Doff%20"
                          "-cdefault_transaction_isolation%3Dserializable";
  const Diagnosis diagnosis = diagnosis_of(url);
  EXPECT_THAT(topics_of(diagnosis.findings),
              ::testing::UnorderedElementsAre("note postgres.synchronous-commit", "note postgres.isolation"));
  EXPECT_EQ(diagnosis.grade, Grade::B);
}

TEST_F(Diagnosed, dead_rows_and_full_pages_are_notes) {
  const std::string url = least();
  psql()->run("ALTER TABLE locks SET (autovacuum_enabled = off, fillfactor = 100)");
  psql()->run("INSERT INTO locks (key) SELECT 'k' || i FROM generate_series(1, 12000) AS i");
  // A snapshot from before keeps the dead rows: otherwise each read of the table removes some of them, and
  // the statistics notice it.
  const auto reader = psql();
  reader->run("BEGIN ISOLATION LEVEL REPEATABLE READ");
  reader->value("SELECT count(*) FROM locks");
  psql()->run("DELETE FROM locks");
  ASSERT_TRUE(await([&] {
    return psql()->value(
               "SELECT n_dead_tup >= 12000 FROM pg_stat_user_tables WHERE relname = 'locks' AND schemaname = "
               "$1",
               {schema_}) == "t";
  }));
  const auto topics = topics_at(url);
  EXPECT_THAT(topics, Contains("note postgres.bloat"));
  EXPECT_THAT(topics, Contains("note postgres.fillfactor"));
}

TEST_F(Diagnosed, objects_that_everybody_may_create_in_the_search_path_are_reported) {
  const std::string url = least() + "&options=-csearch_path%3D" + schema_;
  psql()->run("GRANT CREATE ON SCHEMA " + schema_ + " TO PUBLIC");
  EXPECT_THAT(topics_at(url), ::testing::ElementsAre("note postgres.search-path"));
  psql()->run("CREATE FUNCTION lower(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1'");
  EXPECT_THAT(topics_at(url), ::testing::ElementsAre("warning postgres.search-path"));
  psql()->run("REVOKE CREATE ON SCHEMA " + schema_ + " FROM PUBLIC");
  EXPECT_TRUE(diagnosis_of(url).findings.empty());
}

TEST_F(Diagnosed, a_search_path_that_puts_others_before_pg_catalog_is_a_warning) {
  const std::string url = least() + "&options=-csearch_path%3D" + schema_ + "%2Cpg_catalog";
  EXPECT_THAT(topics_at(url), ::testing::ElementsAre("warning postgres.search-path"));
}

TEST_F(Diagnosed, a_table_of_another_owner_and_code_that_runs_as_us_are_reported) {
  const std::string url = least();
  const std::string stranger = role_ + "_x";
  shared_postgres().execute("CREATE ROLE " + stranger + "; GRANT CREATE, USAGE ON SCHEMA " + schema_ +
                            " TO " + stranger);
  psql()->run("ALTER TABLE locks OWNER TO " + stranger);
  const Diagnosis owned = diagnosis_of(url);
  EXPECT_TRUE(has(owned, "postgres.owner", Severity::warning));
  EXPECT_THAT(the(owned, "postgres.owner").what, AllOf(HasSubstr("locks"), HasSubstr(stranger)));
  EXPECT_EQ(owned.grade, Grade::C);
  EXPECT_TRUE(has(diagnosis_of(this->url()), "postgres.owner", Severity::warning))
      << "a superuser is told too";
  // There is no finding for that owner itself, or for a role with its rights.
  shared_postgres().execute("GRANT " + stranger + " TO " + role_);
  EXPECT_TRUE(diagnosis_of(url).findings.empty());
  shared_postgres().execute("REVOKE " + stranger + " FROM " + role_);
  psql()->run("ALTER SCHEMA " + schema_ + " OWNER TO " + stranger + "; ALTER TABLE locks OWNER TO postgres");
  EXPECT_THAT(the(diagnosis_of(url), "postgres.owner").what,
              HasSubstr("the schema " + schema_ + " belongs to " + stranger))
      << "who can put another table in its place";
  psql()->run("ALTER SCHEMA " + schema_ + " OWNER TO postgres");

  psql()->run(
      "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; "
      "CREATE TRIGGER spy AFTER UPDATE ON holdfast_waiters FOR EACH STATEMENT EXECUTE FUNCTION " +
      schema_ + ".f()");
  EXPECT_THAT(the(diagnosis_of(url), "postgres.triggers").what, HasSubstr("spy on holdfast_waiters"));
  psql()->run(
      "DROP TRIGGER spy ON holdfast_waiters; CREATE RULE odd AS ON DELETE TO holdfast_log DO ALSO NOTHING");
  EXPECT_THAT(the(diagnosis_of(url), "postgres.triggers").what, HasSubstr("odd on holdfast_log"));
  psql()->run("DROP RULE odd ON holdfast_log; ALTER TABLE holdfast_jobs ENABLE ROW LEVEL SECURITY");
  EXPECT_THAT(the(diagnosis_of(url), "postgres.row-security").what, HasSubstr("holdfast_jobs"));
  psql()->run(
      "ALTER TABLE holdfast_jobs DISABLE ROW LEVEL SECURITY; ALTER TABLE holdfast_facts RENAME TO other; "
      "CREATE VIEW holdfast_facts AS SELECT * FROM other; GRANT ALL ON holdfast_facts TO " +
      role_);
  EXPECT_TRUE(has(diagnosis_of(url), "postgres.columns", Severity::danger));
  shared_postgres().execute("DROP OWNED BY " + stranger + "; DROP ROLE " + stranger);
}

// By the path "$user", public.
TEST_F(Diagnosed, a_schema_that_another_user_created_in_our_name_is_reported) {
  const std::string victim = role_ + "_v", database = "d_" + random_hex(16);
  shared_postgres().execute("CREATE ROLE " + role_ + " LOGIN PASSWORD 'p'");
  has_role_ = true;
  shared_postgres().execute("CREATE ROLE " + victim + " LOGIN PASSWORD 'p'");
  shared_postgres().execute("CREATE DATABASE " + database);
  shared_postgres().execute("GRANT CREATE ON DATABASE " + database + " TO " + role_);
  {
    const std::string theirs = shared_postgres().url(role_, database, "p");
    Psql stranger(theirs);
    stranger.run("CREATE SCHEMA " + victim);
    make_tables(theirs + "?table=" + victim + ".locks");
    stranger.run("GRANT USAGE ON SCHEMA " + victim + " TO " + victim +
                 "; GRANT ALL ON ALL TABLES IN SCHEMA " + victim + " TO " + victim +
                 "; GRANT ALL ON ALL SEQUENCES IN SCHEMA " + victim + " TO " + victim);
    const Diagnosis told = diagnosis_of(shared_postgres().url(victim, database, "p"));
    EXPECT_TRUE(has(told, "postgres.owner", Severity::warning));
    EXPECT_THAT(the(told, "postgres.owner").what, AllOf(HasSubstr("locks"), HasSubstr(role_)));
    EXPECT_TRUE(diagnosis_of(theirs + "?table=" + victim + ".locks").findings.empty()) << "it is their own";
  }
  shared_postgres().execute("DROP DATABASE " + database + " WITH (FORCE)");
  shared_postgres().execute("DROP ROLE " + victim);
}

TEST_F(Diagnosed, a_function_that_runs_as_us_when_a_row_is_written_is_reported) {
  const std::string url = least();
  psql()->run(
      "CREATE FUNCTION f() RETURNS text LANGUAGE sql AS $$ SELECT 'x'::text $$; "
      "CREATE FUNCTION g(text) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT $1 $$; "
      "CREATE DOMAIN d AS text CHECK (VALUE <> '')");
  const auto expect_told = [&](const std::string& change, const std::string& what) {
    psql()->run("BEGIN; " + change + "; COMMIT");
    EXPECT_THAT(the(diagnosis_of(url), "postgres.triggers").what, HasSubstr(what)) << change;
  };
  const auto expect_calm = [&](const std::string& change) {
    psql()->run(change);
    const auto found = diagnosis_of(url).findings;
    EXPECT_TRUE(found.empty()) << change << ": " << found.front().what;
  };
  expect_told("ALTER TABLE locks ADD COLUMN more text DEFAULT f()", schema_ + ".f() on locks");
  expect_calm("ALTER TABLE locks ALTER more SET DEFAULT lower('X')");
  expect_told("ALTER TABLE holdfast_facts ADD CONSTRAINT c CHECK (g(note) = note)",
              schema_ + ".g(pg_catalog.text) on holdfast_facts");
  expect_calm("ALTER TABLE holdfast_facts DROP CONSTRAINT c");
  expect_told("CREATE INDEX i ON holdfast_log (g(reason))", schema_ + ".g(pg_catalog.text) on holdfast_log");
  expect_calm("DROP INDEX i");
  expect_told("ALTER TABLE locks ADD COLUMN copy text GENERATED ALWAYS AS (g(key)) STORED",
              schema_ + ".g(pg_catalog.text) on locks");
  expect_calm("ALTER TABLE locks DROP COLUMN copy");
  expect_told("ALTER TABLE locks ADD COLUMN fine d", schema_ + ".d on locks");
}

TEST_F(Diagnosed, a_pooler_is_noticed_and_nothing_stays_behind_in_it) {
  make_tables(url());
  const PgBouncer bouncer{shared_postgres(), {"default_pool_size = 1"}};
  EXPECT_THAT(topics_at(bouncer.url() + "?table=" + schema_ + ".locks"), Contains("note postgres.pooler"));
  EXPECT_EQ(Psql(bouncer.url()).value("SHOW search_path"), "\"$user\", public");
}

// Linux takes 0.0.0.0 for this machine; by its letters it is none that we know.
TEST_F(Diagnosed, another_machine_without_tls_is_a_warning) {
  least();
  const std::string far = "postgres://" + role_ + ":p@0.0.0.0:" + std::to_string(shared_postgres().port) +
                          "/postgres?sslmode=disable&table=" + schema_ + ".locks";
  EXPECT_THAT(topics_at(far), ::testing::ElementsAre("warning postgres.tls"));
}

TEST_F(Diagnosed, a_server_that_loses_what_it_acknowledged_and_another_behind_the_same_address) {
  make_tables(url());
  const Certificates certificates;
  const PostgresServer other({.authentication = "trust",
                              .lines = {"full_page_writes = off", "synchronous_commit = off"},
                              .tls = certificates.right(),
                              .fsync = false});
  make_tables(other.url());
  const Diagnosis diagnosis = diagnosis_of(other.url());
  const auto topics = topics_of(diagnosis.findings);
  EXPECT_THAT(topics, IsSupersetOf({"danger postgres.fsync", "danger postgres.full-page-writes",
                                    "note postgres.synchronous-commit"}));
  EXPECT_EQ(diagnosis.grade, Grade::D);
  // What every client finds is among it, in the same words.
  const auto all = found(diagnosis);
  const auto cheap = found(Caller(other.url()).examine());
  EXPECT_EQ(cheap.size(), 2u);
  for (const std::string& sentence : cheap) EXPECT_THAT(all, Contains(sentence));

  const Relay relay({shared_postgres().port, other.port});
  const std::string both = "postgres://postgres@127.0.0.1:" + std::to_string(relay.port()) + "/postgres";
  EXPECT_THAT(topics_at(both), Contains("danger postgres.several-servers"));
  // On one connection too, if a proxy switches the server behind it.
  PostgresAddress behind = shared_postgres();
  behind.port = relay.port();
  const PgBouncer bouncer(behind, {"server_lifetime = 0"});
  EXPECT_THAT(topics_at(bouncer.url()), Contains("danger postgres.several-servers"));
  const Relay same({other.port});
  const std::string one = "postgres://postgres@127.0.0.1:" + std::to_string(same.port()) + "/postgres";
  EXPECT_EQ(about(diagnosis_of(one), "postgres.several-servers"), nullptr);

  const std::string far = "postgres://postgres@0.0.0.0:" + std::to_string(other.port) + "/postgres?sslmode=";
  EXPECT_THAT(found(diagnosis_of(far + "require")), Contains(HasSubstr("certificate is not checked")));
  const std::string known = far + "verify-ca&sslrootcert=" + certificates.authority();
  EXPECT_EQ(about(diagnosis_of(known), "postgres.tls"), nullptr);

  // A commit that waits for a standby, with a notification in it, holds up those of everybody else.
  other.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  other.execute("SELECT pg_reload_conf()");
  std::jthread stuck([&] {
    Psql psql(other.url());
    psql.run("SET synchronous_commit = on");
    psql.run("BEGIN; CREATE TABLE t (i int); NOTIFY x; COMMIT");
  });
  EXPECT_TRUE(await([&] {
    return other.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "1";
  }));
  EXPECT_THAT(topics_at(other.url()), Contains("note postgres.listen"));
  other.execute("ALTER SYSTEM RESET synchronous_standby_names");
  other.execute("SELECT pg_reload_conf()");
  stuck.join();
  EXPECT_EQ(about(diagnosis_of(other.url()), "postgres.listen"), nullptr);
}

TEST_F(Diagnosed, a_server_that_is_far_away_is_asked_less_often_and_judged_in_time) {
  make_tables(url());
  const Relay far({shared_postgres().port}, 150ms);
  const std::string there = "postgres://postgres@127.0.0.1:" + std::to_string(far.port()) + "/postgres";
  const auto diagnosis = try_store(there).value()->admin()->diagnose(BootClock::now() + 5s);
  ASSERT_TRUE(diagnosis) << diagnosis.error().detail;
  EXPECT_NE(diagnosis->server, "");
}

TEST(Receivers, that_cannot_be_promoted_are_no_standbys) {
  const PostgresServer primary({.authentication = "trust", .fsync = false});
  primary.execute("CREATE ROLE ordinary LOGIN");
  const Scratch scratch;
  const Guarded receiver({.words = {find_program("pg_receivewal"), "-h", "127.0.0.1", "-U", "postgres", "-p",
                                    std::to_string(primary.port), "-D", scratch.path()},
                          .log = scratch.path() + "/log"});
  EXPECT_TRUE(await([&] { return primary.execute("SELECT state FROM pg_stat_replication") == "streaming"; }));
  EXPECT_EQ(about(diagnosis_of(primary.url()), "postgres.standby"), nullptr);
  EXPECT_EQ(about(diagnosis_of(primary.url("ordinary", "postgres")), "postgres.standby"), nullptr);
}

TEST(Standby, is_a_danger_and_warns_of_its_primary_unless_it_confirms) {
  const PostgresServer primary({.authentication = "trust", .fsync = false});
  PostgresServer standby({.authentication = "trust",
                          .lines = {"primary_conninfo = 'host=127.0.0.1 user=postgres port=" +
                                    std::to_string(primary.port) + "'"},
                          .fsync = false});
  // Both begin as copies of one folder, so it can follow from there.
  standby.stop();
  std::filesystem::remove_all(standby.data());
  run_to_end({.words = {"cp", "-a", postgres_template(), standby.data()}});
  write_file(standby.data() + "/standby.signal", "");
  standby.start();
  make_tables(primary.url());
  EXPECT_TRUE(await([&] { return primary.execute("SELECT count(*) FROM pg_stat_replication") == "1"; }));
  EXPECT_TRUE(await([&] { return about(diagnosis_of(primary.url()), "postgres.standby") != nullptr; }));
  EXPECT_EQ(about(diagnosis_of(primary.url()), "postgres.unseen"), nullptr);
  primary.execute("CREATE ROLE ordinary LOGIN");
  const Diagnosis unseen = diagnosis_of(primary.url("ordinary", "postgres"));
  EXPECT_THAT(the(unseen, "postgres.standby").what, HasSubstr("receive the server's WAL"));
  EXPECT_THAT(topics_of(unseen.findings), Contains("note postgres.unseen"));
  EXPECT_FALSE(try_store(standby.url()).value()->connect(soon()));
  EXPECT_THAT(topics_at(standby.url()), Contains("danger postgres.recovery"));

  primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'");
  primary.execute("SELECT pg_reload_conf()");
  EXPECT_TRUE(await([&] { return about(diagnosis_of(primary.url()), "postgres.standby") == nullptr; }));
}

}  // namespace
}  // namespace holdfast::test
