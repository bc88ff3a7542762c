// SPDX-License-Identifier: Apache-2.0
// The tables: made, completed, or refused with what to do.
#include <gmock/gmock.h>

#include <sstream>
#include <thread>

#include "tests/postgres/jobs_suite.h"
#include "tests/support/findings.h"

namespace holdfast::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Schema : public PostgresTest {
 protected:
  std::unique_ptr<StoreAdmin> admin() const { return try_store(url()).value()->admin(); }
  Error refused() const {
    const auto connected = try_store(url()).value()->connect(soon());
    EXPECT_FALSE(connected);
    return connected ? Error{Errc::busy, ""} : connected.error();
  }
};

TEST_F(Schema, connecting_creates_nothing_and_names_the_command_that_does) {
  const Error error = refused();
  EXPECT_EQ(error.code, Errc::unprepared);
  EXPECT_THAT(error.detail,
              AllOf(HasSubstr("\"" + schema_ + ".locks\""), HasSubstr("database \"postgres\""),
                    HasSubstr("holdfast --store 'postgres://postgres@127.0.0.1"), HasSubstr(" init")));
  EXPECT_EQ(psql()->run("SELECT 1 FROM pg_tables WHERE schemaname = '" + schema_ + "'"), 0);
}

TEST_F(Schema, the_lock_table_is_that_of_rubys_locker_and_two_columns_that_may_be_null) {
  make_tables(url());
  EXPECT_EQ(
      psql()->value(
          "SELECT string_agg(column_name || ' ' || data_type || ' ' || coalesce(column_default, '-'), ', ' "
          "ORDER BY ordinal_position) FROM information_schema.columns WHERE table_name = 'locks' AND "
          "column_name <> 'id' AND table_schema = $1",
          {schema_}),
      "locked_by character varying -, key character varying -, sequence bigint 0, "
      "locked_at timestamp without time zone -, locked_until timestamp without time zone -, "
      "ttl_ms bigint -, ttl_until timestamp without time zone -");
  EXPECT_EQ(psql()->value(
                "SELECT indexdef FROM pg_indexes WHERE indexname = 'index_locks_on_key' AND schemaname = $1",
                {schema_}),
            "CREATE UNIQUE INDEX index_locks_on_key ON " + schema_ + ".locks USING btree (key)");
}

TEST_F(Schema, a_table_of_locker_0_0_1_is_completed_and_goes_on) {
  const auto psql = this->psql();
  psql->run(
      "CREATE TABLE locks (id serial PRIMARY KEY, locked_by varchar(255), key varchar(255), locked_at "
      "timestamp, "
      "locked_until timestamp); CREATE UNIQUE INDEX index_locks_on_key ON locks (key); "
      "INSERT INTO locks (key, locked_by, locked_until) VALUES ('old', 'ruby', now() + interval '1 hour')");
  EXPECT_THAT(refused().detail, HasSubstr("lacks the column \"sequence\""));
  const auto plan = admin()->plan(soon()).value();
  EXPECT_THAT(plan.front(), HasSubstr("ADD COLUMN sequence bigint DEFAULT 0"));
  EXPECT_EQ(admin()->init(soon()).value(), plan);
  Caller ours(url());
  EXPECT_EQ(ours.acquire("old", "ann").owner, "ruby");
  EXPECT_EQ(ours.acquire("new", "ann").verdict, Verdict::granted);
}

TEST_F(Schema, clients_purge_only_a_table_that_init_has_made) {
  const auto left_to_people = [&] { return Caller(url()).examine().tidies; };
  make_tables(url());
  EXPECT_FALSE(left_to_people());
  psql()->run("DROP TABLE holdfast_state");
  make_tables(url());
  EXPECT_TRUE(left_to_people()) << "the lock table was there before";
}

TEST_F(Schema, narrow_columns_refuse_by_name_what_they_cannot_take) {
  psql()->run(
      "CREATE TABLE locks (id serial PRIMARY KEY, locked_by varchar(255), key varchar(255), locked_at "
      "timestamp, "
      "locked_until timestamp, sequence bigint DEFAULT 0)");
  make_tables(url());
  Caller ours(url());
  const std::string longest(255, 'k'), longer(256, 'k');
  EXPECT_EQ(ours.acquire(longest, "ann").verdict, Verdict::granted);
  std::string umlauts;
  for (int i = 0; i < 255; ++i) umlauts += "\xc3\xa4";  // letters count, not bytes
  EXPECT_EQ(ours.acquire(umlauts, "ann").verdict, Verdict::granted);
  for (const auto& [key, owner] :
       {std::pair(longer, std::string("ann")), std::pair(std::string("k"), longer)}) {
    const auto reply = ours.try_acquire(key, owner);
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, Errc::refused);
    EXPECT_THAT(reply.error().detail, AllOf(HasSubstr("255 letters"), HasSubstr(longer)));
  }
}

TEST_F(Schema, a_table_that_cannot_keep_leases_is_refused_and_left_alone) {
  psql()->run(
      "CREATE TABLE locks (key varchar PRIMARY KEY, locked_by varchar, locked_at timestamptz, "
      "locked_until timestamptz, sequence bigint)");
  EXPECT_THAT(refused().detail,
              AllOf(HasSubstr("\"locked_at\" is timestamp with time zone"),
                    HasSubstr("; if it belongs to another program, name another table with ?table=")));
  const auto made = admin()->init(soon());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::refused);
  EXPECT_EQ(psql()->run("SELECT 1 FROM pg_tables WHERE schemaname = '" + schema_ + "'"), 1);
}

TEST_F(Schema, a_column_that_is_missing_beside_it_is_named_by_everybody) {
  for (const auto& [table, column] :
       {std::pair("holdfast_waiters", "ticket"), std::pair("holdfast_facts", "note"),
        std::pair("holdfast_log", "by"), std::pair("holdfast_state", "purged_token")}) {
    make_tables(url());
    psql()->run("ALTER TABLE " + std::string(table) + " DROP COLUMN " + column);
    const auto names = AllOf(HasSubstr("\"" + std::string(table) + "\""),
                             HasSubstr("\"" + std::string(column) + "\""), HasSubstr(" ADD COLUMN "));
    const std::string what = refused().detail;
    EXPECT_THAT(what, names);
    for (const auto& said : {admin()->init(soon()), admin()->plan(soon())}) {
      ASSERT_FALSE(said);
      EXPECT_EQ(said.error().code, Errc::refused);
      EXPECT_THAT(said.error().detail, names);
    }
    psql()->run(what.substr(what.find("ALTER TABLE")));
    EXPECT_EQ(Caller(url()).acquire("k", table).verdict, Verdict::granted) << what;
    EXPECT_EQ(Caller(url()).release("k", table).verdict, Verdict::released);
  }
}

// The advice is run as it stands.
TEST_F(Schema, a_missing_column_can_be_added_where_there_are_rows) {
  make_tables(url());
  Caller(url()).acquire("k", "ann");
  Caller(url()).acquire("k", "bob", 1h, 1h);
  const auto store = try_store(url()).value();
  store->jobs(soon()).value()->enqueue({.name = "Job", .key = "j"}, soon()).value();
  psql()->run(
      "INSERT INTO holdfast_facts VALUES ('f', 1, false, 'n'); INSERT INTO holdfast_log (at, key, event, "
      "holder, token, by, reason) VALUES (now(), 'k', 'broken', 'ann', 1, 'bob', '')");
  const auto columns = psql()->value(
      "SELECT string_agg(table_name || '.' || column_name, ' ') FROM information_schema.columns WHERE "
      "table_schema = $1 AND table_name IN ('holdfast_waiters', 'holdfast_facts', 'holdfast_log', "
      "'holdfast_state', 'holdfast_jobs') AND column_name NOT IN ('one', 'key', 'client') ",
      {schema_});
  std::istringstream list(columns);
  int tried = 0;
  for (std::string column; list >> column; ++tried) {
    const std::string table = column.substr(0, column.find('.'));
    psql()->run("ALTER TABLE " + table + " DROP COLUMN " + column.substr(column.find('.') + 1));
    const auto said = admin()->plan(soon());
    ASSERT_FALSE(said) << column;
    const std::string what = said.error().detail;
    const std::size_t from = what.find("ALTER TABLE");
    ASSERT_NE(from, std::string::npos) << what;
    EXPECT_EQ(what.find("delete"), std::string::npos) << what;
    psql()->run(what.substr(from, what.find(';', from) - from));
    EXPECT_EQ(psql()->value("SELECT count(*) FROM " + table), "1") << column;
  }
  EXPECT_GT(tried, 35);
  EXPECT_EQ(Caller(url()).acquire("new", "ann").verdict, Verdict::granted);
}

TEST_F(Schema, a_column_of_somebodys_own_that_has_to_be_filled_is_refused_by_name) {
  make_tables(url());
  psql()->run("ALTER TABLE locks ADD COLUMN created_at timestamp NOT NULL");
  EXPECT_THAT(refused().detail, AllOf(HasSubstr("\"created_at\""), HasSubstr("SET DEFAULT")));
  EXPECT_FALSE(admin()->init(soon()));
  psql()->run("ALTER TABLE locks ALTER created_at SET DEFAULT now()");
  EXPECT_EQ(Caller(url()).acquire("k", "ann").verdict, Verdict::granted);
  psql()->run("ALTER TABLE locks ALTER locked_by SET NOT NULL");
  EXPECT_THAT(refused().detail, HasSubstr("\"locked_by\" is NOT NULL"));
}

TEST_F(Schema, init_says_which_schema_and_which_privilege_it_lacks) {
  const std::string elsewhere = "nowhere_" + random_hex(8), role = "r_" + random_hex(16);
  const auto nowhere =
      try_store(shared_postgres().url() + "?table=" + elsewhere + ".locks").value()->admin()->init(soon());
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Errc::refused);
  EXPECT_THAT(nowhere.error().detail, HasSubstr("CREATE SCHEMA \"" + elsewhere + "\" first"));

  shared_postgres().execute("CREATE ROLE " + role + " LOGIN PASSWORD 'p'; GRANT USAGE ON SCHEMA " + schema_ +
                            " TO " + role);
  const auto made = try_store(shared_postgres().url(role, "postgres", "p") + "?table=" + schema_ + ".locks")
                        .value()
                        ->admin()
                        ->init(soon());
  shared_postgres().execute("DROP OWNED BY " + role + "; DROP ROLE " + role);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::refused);
  EXPECT_THAT(made.error().detail, HasSubstr("GRANT CREATE ON SCHEMA \"" + schema_ + "\""));
}

TEST_F(Schema, duplicate_keys_are_reported_with_a_query_that_finds_them) {
  make_tables(url());
  psql()->run("DROP INDEX index_locks_on_key; INSERT INTO locks (key) VALUES ('twice'), ('twice')");
  const auto made = admin()->init(soon());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::refused);
  EXPECT_THAT(made.error().detail,
              AllOf(HasSubstr("several rows for one key"), HasSubstr("HAVING count(*) > 1")));
}

TEST_F(Schema, a_row_without_a_beginning_is_listed_without_one) {
  make_tables(url());
  psql()->run("INSERT INTO locks (key, locked_by) VALUES ('k', 'by hand')");
  EXPECT_FALSE(Caller(url()).list({}).leases.at(0).since);
}

TEST_F(Schema, without_its_unique_index_a_table_is_not_used) {
  make_tables(url());
  psql()->run("DROP INDEX index_locks_on_key");
  EXPECT_THAT(refused().detail, HasSubstr(".locks\" lacks the unique index on \"key\""));
  EXPECT_EQ(admin()->init(soon()).value().size(), 1u);
  Caller(url()).acquire("k", "ann");
}

TEST_F(Schema, many_may_make_the_tables_at_once) {
  std::vector<std::jthread> threads;
  std::atomic<int> made = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto statements = admin()->init(soon());
      EXPECT_TRUE(statements) << statements.error().detail;
      made += statements && !statements->empty() ? 1 : 0;
    });
  }
  threads.clear();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(Caller(url()).acquire("k", "ann").verdict, Verdict::granted);
}

TEST_F(Schema, a_plan_can_be_run_by_hand) {
  const auto psql = this->psql();
  for (const std::string& statement : admin()->plan(soon()).value()) psql->run(statement);
  EXPECT_TRUE(admin()->plan(soon()).value().empty());
}

TEST_F(Schema, an_unlogged_table_and_a_server_without_fsync_are_reported) {
  make_tables(url());
  psql()->run("ALTER TABLE locks SET UNLOGGED");
  Caller ours(url());
  const Traits traits = ours.examine();
  EXPECT_THAT(told(traits), ::testing::Contains(HasSubstr("unlogged")));
  EXPECT_EQ(traits.grade, Grade::D);
}

TEST_F(Schema, tables_are_two_if_their_names_differ_in_a_letter) {
  make_tables(url());
  const std::string other = shared_postgres().url() + "?table=" + schema_ + ".Locks";
  make_tables(other);
  Caller small(url()), large(other);
  EXPECT_EQ(small.acquire("k", "ann").verdict, Verdict::granted);
  EXPECT_EQ(large.acquire("k", "bob").verdict, Verdict::granted);
}

TEST_F(Schema, the_longest_name_has_room_for_what_lies_beside_it) {
  const std::string longest = shared_postgres().url() + "?table=" + schema_ + "." + std::string(46, 'x');
  make_tables(longest);
  EXPECT_EQ(Caller(longest).acquire("k", "ann").verdict, Verdict::granted);
}

// An operator for every pair of types that pg_catalog has none for exactly, and some functions that are
// closer than those of pg_catalog: whichever of them is found says so.
constexpr const char* traps = R"(
CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION set_config(varchar, varchar, boolean) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION current_setting(varchar) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION date_part(varchar, timestamp) RETURNS float8 LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION pg_notify(varchar, text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION cardinality(text[]) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION array_position(text[], text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION array_remove(text[], text) RETURNS text[] LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION hashtextextended(text, int) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION unnest(text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION unnest(bigint[]) RETURNS SETOF bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION replace(varchar, text, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION "right"(text, bigint) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION substr(text, bigint) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION to_regclass(varchar) RETURNS regclass LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION trap_step(text[], text) RETURNS text[] LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE AGGREGATE array_agg(text) (SFUNC = trap_step, STYPE = text[]);
DO $do$
DECLARE
  types text[] := '{int2,int4,int8,float8,numeric,text,varchar,name,"char",interval,timestamp,timestamptz,date,oid,bool}';
  l text; r text; o text; result text;
BEGIN
  FOREACH l IN ARRAY types LOOP FOREACH r IN ARRAY types LOOP
    FOREACH result IN ARRAY '{bool,int8,float8,text,timestamp,interval}'::text[] LOOP
      EXECUTE format('CREATE FUNCTION trap_%s(%s, %s) RETURNS %s LANGUAGE plpgsql AS $$ BEGIN RAISE ''trapped''; END $$',
                     result, l, r, result);
    END LOOP;
    FOREACH o IN ARRAY '{+,-,*,/,&,||,=,<>,<,>,<=,>=}'::text[] LOOP
      CONTINUE WHEN EXISTS (SELECT FROM pg_operator WHERE oprname = o AND oprleft = l::regtype AND oprright = r::regtype);
      EXECUTE format('CREATE OPERATOR %s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = trap_%s)', o, l, r,
                     CASE WHEN o IN ('=', '<>', '<', '>', '<=', '>=') THEN 'bool' WHEN o = '||' THEN 'text'
                          WHEN 'interval' IN (l, r) AND o = '*' THEN 'interval'
                          WHEN l LIKE 'timestamp%' THEN 'timestamp' WHEN 'float8' IN (l, r) THEN 'float8' ELSE 'int8' END);
    END LOOP;
  END LOOP; END LOOP;
END $do$)";

TEST_F(Schema, foreign_operators_in_sight_are_not_used) {
  psql()->run(traps);
  const std::string trapped = url() + "&options=-csearch_path%3D" + schema_;
  make_tables(trapped);
  Caller ours(trapped), other(trapped);
  for (int i = 0; i < 3; ++i) {
    const Reply mine = ours.acquire("k", "ann");
    ASSERT_EQ(mine.verdict, Verdict::granted);
    EXPECT_GT(to_number(mine.token), 1'000'000u);
    EXPECT_GT(mine.remaining, 59min);
    EXPECT_EQ(ours.acquire("k", "ann").verdict, Verdict::granted);
    EXPECT_EQ(ours.renew("k", "ann", mine.token).verdict, Verdict::granted);
    EXPECT_EQ(other.acquire("k", "bob").verdict, Verdict::busy);
    EXPECT_EQ(other.acquire("k", "bob", 1h, 1h).verdict, Verdict::busy);
    EXPECT_EQ(ours.release("k", "ann", mine.token).verdict, Verdict::released);
    EXPECT_EQ(ours.acquire("k", "ann").ahead, 1u);
    EXPECT_EQ(other.leave("k", "").verdict, Verdict::lost);
    const Reply noted = ours.ask(
        {.verb = Verb::acquire, .key = {"n"}, .owner = {"ann"}, .ttl = 1h, .detached = true, .note = "n"});
    EXPECT_EQ(ours.extend("n", "ann", 1h).verdict, Verdict::granted);
    EXPECT_EQ(ours.evict("n", noted.token, "").verdict, Verdict::released);
  }
  EXPECT_EQ(ours.release("absent", "ann").verdict, Verdict::lost);
  for (const auto what : {Query::What::leases, Query::What::places, Query::What::log})
    EXPECT_TRUE(ours.connection().list({.what = what}, soon()));
  EXPECT_TRUE(ours.connection().examine(soon()));
  EXPECT_TRUE(ours.store().admin()->diagnose(soon()));
  EXPECT_TRUE(ours.store().admin()->purge({.free_for = 0ms, .log_older_than = 0ms}, soon()));
  use_all_of_jobs(trapped);
}

}  // namespace
}  // namespace holdfast::test
