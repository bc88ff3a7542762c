// SPDX-License-Identifier: Apache-2.0
// Jobs: their tables, what a claim costs, and servers that are set up in odd ways.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "holdfast/job_worker.h"
#include "stores/postgres/statements.h"
#include "tests/postgres/jobs_suite.h"
#include "tests/support/damaged_jobs.h"
#include "tests/support/servers/pgbouncer.h"

namespace holdfast::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Jobs : public JobsTest {
 protected:
  std::string url_of_role_with(const std::string& setting) {
    shared_postgres().execute("CREATE ROLE " + role_ + " LOGIN PASSWORD 'p'; GRANT ALL ON SCHEMA " + schema_ +
                              " TO " + role_ + "; GRANT ALL ON ALL TABLES IN SCHEMA " + schema_ + " TO " +
                              role_ + "; GRANT ALL ON ALL SEQUENCES IN SCHEMA " + schema_ + " TO " + role_);
    shared_postgres().execute("ALTER ROLE " + role_ + " SET " + setting);
    return shared_postgres().url(role_, "postgres", "p") + "?table=" + schema_ + ".locks";
  }
  ~Jobs() override {
    try {
      shared_postgres().execute("DROP OWNED BY " + role_ + "; DROP ROLE " + role_);
    } catch (const std::exception&) {
      // Not every test makes it.
    }
  }
  const std::string role_ = "r_" + random_hex(16);
};

TEST_F(Jobs, only_clients_that_use_jobs_need_their_tables) {
  const auto psql = this->psql();
  psql->run("DROP TABLE holdfast_jobs, holdfast_ticks");
  EXPECT_EQ(Caller(url()).acquire("lease", "ann").verdict, Verdict::granted)
      << "a database of an older build";
  const auto store = try_store(url()).value();
  const auto jobs = store->jobs(soon());
  ASSERT_FALSE(jobs);
  EXPECT_EQ(jobs.error().code, Errc::unprepared);
  EXPECT_THAT(jobs.error().detail, AllOf(HasSubstr("holdfast_jobs"), HasSubstr(" init")));
  EXPECT_EQ(store->admin()->plan(soon())->size(), 9u);
  EXPECT_EQ(store->admin()->init(soon())->size(), 9u);
  EXPECT_TRUE(store->admin()->plan(soon())->empty());
  use_all_of_jobs(url());
  psql->run("ALTER TABLE holdfast_jobs ALTER started_at TYPE timestamptz");
  EXPECT_THAT(store->jobs(soon()).error().detail, HasSubstr("\"started_at\""));
  EXPECT_EQ(Caller(url()).acquire("k2", "ann").verdict, Verdict::granted);
}

TEST_F(Jobs, work_behind_a_pooler) {
  const PgBouncer bouncer{shared_postgres(), {"default_pool_size = 2"}};
  use_all_of_jobs(bouncer.url() + "?table=" + schema_ + ".locks");
  Psql other(bouncer.url());
  EXPECT_EQ(other.value("SHOW lock_timeout"), "0");
}

TEST_F(Jobs, work_at_any_isolation) {
  use_all_of_jobs(url_of_role_with("default_transaction_isolation = 'serializable'"));
}

TEST_F(Jobs, work_without_pipelines_as_libpq_13_has_none) {
  const auto pipelines = postgres::PQenterPipelineMode;
  postgres::PQenterPipelineMode = nullptr;
  use_all_of_jobs(url());
  postgres::PQenterPipelineMode = pipelines;
}

TEST_F(Jobs, are_durable_whatever_the_role_says) {
  psql()->run(
      "CREATE TABLE seen (synchronous_commit text); CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql "
      "AS "
      "$$ BEGIN INSERT INTO " +
      schema_ +
      ".seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$; "
      "CREATE CONSTRAINT TRIGGER see AFTER INSERT OR UPDATE ON holdfast_jobs DEFERRABLE INITIALLY DEFERRED "
      "FOR EACH ROW EXECUTE FUNCTION see()");
  Worker worker(url_of_role_with("synchronous_commit = off"));
  for (int i = 0; i < 3; ++i) {
    worker.enqueue(job_of("k"));
    worker.finish(worker.claim("w"));
  }
  EXPECT_EQ(psql()->value("SELECT string_agg(DISTINCT synchronous_commit, ',') || ' ' || count(*) FROM seen"),
            "on 9");
}

TEST_F(Jobs, a_claim_of_a_dead_lease_takes_it_over_and_writes_that_down) {
  Caller ours(url());
  Worker worker(url());
  const Reply old = ours.acquire("k", "ann", 1ms);
  let_pass(5ms);
  worker.enqueue(job_of("k"));
  const Claimed claimed = worker.claim("w1");
  ASSERT_EQ(claimed.what, Got::running);
  EXPECT_GT(claimed.job.token, old.token);
  const Page log = ours.list({.what = Query::What::log});
  ASSERT_EQ(log.log.size(), 1u);
  EXPECT_EQ(log.log[0].event, "taken-over");
  EXPECT_EQ(log.log[0].by, "w1");
}

TEST_F(Jobs, a_damaged_one_dies_and_harms_no_other_of_its_queue) {
  Worker worker(url());
  const auto psql = this->psql();
  const auto set = [&](const std::string& change) {
    return [&, change](JobId id) {
      psql->run("UPDATE holdfast_jobs SET " + change + " WHERE id = " + std::to_string(to_number(id)));
    };
  };
  expect_it_dies_and_harms_no_other(worker, "on_conflict", set("on_conflict = 'hope'"));
  expect_it_dies_and_harms_no_other(worker, "uniqueness", set("uniqueness = 'often'"));
  for (const std::string limit : {"1001", "-1", "2000000000", "4294967297"})
    expect_it_dies_and_harms_no_other(worker, "lock_limit", set("lock_limit = " + limit), limit);
  expect_a_state_can_be_repaired(worker, set("state = 'lost'"));
}

TEST_F(Jobs, a_job_with_a_damaged_state_and_another_damaged_field_is_not_forgotten) {
  Worker worker(url());
  const auto psql = this->psql();
  const auto set = [&](const std::string& change) {
    return [&, change](JobId id) {
      psql->run("UPDATE holdfast_jobs SET " + change + " WHERE id = " + std::to_string(to_number(id)));
    };
  };
  expect_a_job_with_two_damaged_fields_is_not_forgotten(
      worker, "lock_limit", set("state = 'lost', lock_limit = -1"), set("lock_limit = 0"));
  expect_a_job_with_two_damaged_fields_is_not_forgotten(
      worker, "on_conflict", set("state = 'lost', on_conflict = 'hope'"), set("on_conflict = 'drop'"));
}

TEST_F(Jobs, a_trail_stays_short_and_has_a_line_for_each_event) {
  Worker worker(url());
  const JobId id = worker.enqueue(job_of("k", {.max_attempts = 1000})).id;
  for (int i = 0; i < 40; ++i) {
    const Claimed claimed = worker.claim("w");
    Finish failed = done(claimed);
    const std::string error = std::to_string(i) + "\n" + std::string(300, 'x') + "ü";
    failed.to = JobState::queued;
    failed.error = error;
    ASSERT_TRUE(worker.engine().finish(failed, soon())->finished);
  }
  const std::string trail = psql()->value("SELECT trail FROM holdfast_jobs");
  EXPECT_LE(trail.size(), 8000u);
  EXPECT_GT(trail.size(), 7000u);
  EXPECT_THAT(trail, HasSubstr(" failed 39 xxx"));
  EXPECT_EQ(trail.back(), '\n');
  EXPECT_NE(trail.substr(0, trail.find('\n')).find(" failed "), std::string::npos) << "whole lines";
  const std::vector<TrailEntry> read = worker.row(id).trail;
  EXPECT_EQ(read.size(), static_cast<std::size_t>(std::count(trail.begin(), trail.end(), '\n')));
  EXPECT_EQ(read.back().event, "failed");
  EXPECT_THAT(read.back().detail, StartsWith("39 xxx"));
}

TEST_F(Jobs, one_that_fails_in_letters_that_the_database_lacks_has_ended_all_the_same) {
  const LatinDatabase latin;
  holdfast::Jobs jobs{open(latin.url())};
  std::atomic<int> runs = 0;
  jobs.define("Snow", {.max_attempts = 1}, [&](JobContext&, const Args&) {
    ++runs;
    throw std::runtime_error("\xe2\x98\x83 falls");
  });
  jobs.enqueue("Snow");
  const JobWorker worker(jobs, {.claim = 2s, .poll = 10ms});
  ASSERT_TRUE(await([&] { return !jobs.list({.state = JobState::dead}).empty(); }));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(jobs.list().at(0).error, "\\xe2\\x98\\x83 falls");
}

TEST_F(Jobs, one_whose_lock_cannot_be_written_is_dead_and_the_others_go_on) {
  Worker before(url());
  const JobId bad = before.enqueue(job_of("a_key_of_another_time", {.on_conflict = OnConflict::wait})).id;
  const JobId good = before.enqueue(job_of("k")).id;
  psql()->run("ALTER TABLE locks ALTER key TYPE varchar(20)");
  Worker worker(url());
  const auto claimed = worker.try_claim("w1");
  ASSERT_TRUE(claimed) << claimed.error().detail;
  EXPECT_EQ(claimed->job.id, good);
  const JobRow row = worker.row(bad);
  EXPECT_EQ(row.state, JobState::dead);
  EXPECT_THAT(row.error, HasSubstr("too narrow"));
  EXPECT_EQ(row.trail.at(0).event, "failed");
}

TEST_F(Jobs, a_lease_of_a_dead_worker_whose_row_is_locked_is_given_back_later) {
  Worker worker(url());
  const JobId id = worker.enqueue(job_of("k", {.lock_ttl = 1h, .limit = 2})).id;
  ASSERT_EQ(worker.claim("w1", 2ms).job.id, id);
  const JobId other = worker.enqueue(job_of("other")).id;
  const auto theirs = psql();
  theirs->run("BEGIN");
  theirs->run("SELECT FROM locks WHERE key = 'k#1' FOR UPDATE");
  let_pass(5ms);
  EXPECT_EQ(worker.claim("w2").job.id, other);
  theirs->run("ROLLBACK");
  Claimed again;
  ASSERT_TRUE(await([&] { return (again = worker.claim("w3")).what == Got::running; }));
  EXPECT_EQ(again.job.id, id);
  EXPECT_TRUE(again.recovered);
  EXPECT_EQ(again.job.crashes, 1);
  EXPECT_EQ(psql()->value("SELECT string_agg(key || ' ' || locked_by, ',' ORDER BY key) FROM locks WHERE "
                          "locked_by IS NOT NULL"),
            "k#1 w3,other w2");
}

TEST_F(Jobs, a_connection_that_knew_the_tables_small_does_not_read_them_when_they_are_large) {
  {
    Worker worker(url());
    const auto use = [&] {
      for (int i = 0; i < 5; ++i) {
        worker.enqueue(loner_of("k"));
        worker.finish(worker.claim("w"));
      }
    };
    use();
    psql()->run("ALTER TABLE holdfast_jobs SET (autovacuum_enabled = off)");
    psql()->run("VACUUM ANALYZE holdfast_jobs");  // one page, and new plans
    use();
    psql()->run(
        "INSERT INTO holdfast_jobs (name, queue, "
        "args, key, priority, state, enqueued_at, run_at, due_at, max_attempts, lock_ttl, lock_fixed, "
        "lock_limit, on_conflict, uniqueness) SELECT 'Job', 'default', '[]', 'k', 0, 'dead', 'now', 'now', "
        "'now', 1, 1, false, 1, 'drop', 'no' FROM generate_series(1, 20000)");
    use();
  }
  // Connections report their statistics when they end.
  const auto psql = this->psql();
  ASSERT_TRUE(await([&] {
    return psql->value("SELECT pg_stat_get_tuples_inserted('holdfast_jobs'::regclass) >= 20015") == "t";
  }));
  EXPECT_EQ(psql->value("SELECT pg_stat_get_tuples_returned('holdfast_jobs'::regclass) < 20000"), "t");
}

// How many pages a claim touches in a table with so many jobs of each kind that a claim must not read.
class Cost : public Jobs {
 protected:
  struct Plan {
    std::string text;
    long buffers = 0;
  };
  Plan claim_among(const std::string& many) {
    const auto psql = this->psql();
    psql->run("TRUNCATE holdfast_jobs");
    const std::string columns =
        "INSERT INTO holdfast_jobs (name, queue, args, key, priority, state, enqueued_at, run_at, due_at, "
        "max_attempts, lock_ttl, lock_fixed, lock_limit, on_conflict, uniqueness, parked, finished_at) "
        "SELECT "
        "'Job', 'default', '[]', 'k' || g, ";
    const std::string rest = ", 1, 30000000, false, 1, 'drop', 'no', ";
    // One moment for all columns, and no row is written twice: while others work on this server, a vacuum
    // may not take away what has been overwritten.
    const std::string from =
        " FROM generate_series(1, " + many + ") g, (SELECT clock_timestamp() AT TIME ZONE 'UTC' AS now) t";
    const std::string later = "t.now + interval '1h'", due = "t.now - interval '1s'";
    for (const std::string& kind :
         {"-1, 'queued', t.now, " + later + ", " + later + rest + "false, NULL",  // not yet due
          "-2, 'queued', t.now, t.now, " + later + rest + "true, NULL",           // waits for its lock
          "g % 5, 'queued', t.now, " + due + ", " + due + rest + "false, NULL",
          "0, 'done', t.now, t.now, t.now" + rest + "false, t.now"}) {
      psql->run(columns + kind + from);
    }
    psql->run("ANALYZE holdfast_jobs");
    psql->run("VACUUM holdfast_jobs");
    return explained();
  }
  Plan explained() {
    const auto psql = this->psql();
    const auto tables = postgres::Tables::named(schema_ + ".locks").value();
    psql->run("SET plan_cache_mode = force_generic_plan; SET jit = off; DEALLOCATE ALL; PREPARE claim AS " +
              tables.expand(text(postgres::Sql::claim)));
    Plan plan;
    for (int i = 0; i < 3; ++i) {  // the first has to load the catalogue
      plan.text = psql->value(
          "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE claim(9000000000000000, 1000, 'client', false, "
          "'w" +
          std::to_string(i) + "', 30000000, 3, NULL, '{default}')");
      const std::size_t at = plan.text.find("\"Shared Hit Blocks\": ");
      const std::size_t read = plan.text.find("\"Shared Read Blocks\": ");
      plan.buffers = std::atol(plan.text.c_str() + at + 21) + std::atol(plan.text.c_str() + read + 22);
    }
    EXPECT_EQ(psql->value("SELECT count(*) FROM holdfast_jobs WHERE state = 'running'"), "3");
    return plan;
  }
};

TEST_F(Cost, a_claim_does_not_read_priorities_after_the_first_that_is_due) {
  psql()->run(
      "INSERT INTO holdfast_jobs (name, queue, args, key, priority, state, enqueued_at, run_at, due_at, "
      "max_attempts, lock_ttl, lock_fixed, lock_limit, on_conflict, uniqueness) SELECT 'Job', 'default', "
      "'[]', 'k' || g, g, 'queued', t.at, t.at, t.at, 1, 1000000, false, 1, 'drop', 'no' FROM "
      "generate_series(1, 10000) g, (SELECT clock_timestamp() AT TIME ZONE 'UTC' - interval '1s' AS at) t");
  psql()->run("VACUUM ANALYZE holdfast_jobs");
  EXPECT_LT(explained().buffers, 300);
}

TEST_F(Cost, a_list_by_key_or_id_does_not_read_all_jobs) {
  claim_among("1000");
  const auto tables = postgres::Tables::named(schema_ + ".locks").value();
  const auto psql = this->psql();
  psql->run("SET plan_cache_mode = force_generic_plan; PREPARE by_key AS " +
            tables.expand(text(postgres::Sql::list_key)));
  psql->run("PREPARE by_id AS " + tables.expand(text(postgres::Sql::list_id)));
  for (const std::string call :
       {"by_key(NULL, 'k7', NULL, NULL, NULL, NULL, 100)", "by_id(7, NULL, NULL, NULL, NULL, NULL, 100)"}) {
    const std::string plan = psql->value("EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE " + call);
    EXPECT_THAT(plan, HasSubstr("\"Index Cond\"")) << plan;
  }
}

TEST_F(Cost, a_claim_does_not_read_more_pages_if_there_are_more_jobs) {
  const Plan few = claim_among("1000"), many = claim_among("100000");
  for (std::size_t at = many.text.find("\"Seq Scan\""); at != std::string::npos;
       at = many.text.find("\"Seq Scan\"", at + 1)) {
    const std::size_t name = many.text.find("\"Relation Name\": ", at);
    EXPECT_NE(many.text.substr(name + 18, 13), "holdfast_jobs");
  }
  EXPECT_GT(few.buffers, 10);
  EXPECT_LT(many.buffers, 2 * few.buffers);
  std::printf("pages: %ld of 1,000 jobs of each kind, %ld of 100,000\n", few.buffers, many.buffers);
  const std::size_t cost = many.text.find("\"Total Cost\": ");
  EXPECT_LT(std::atof(many.text.c_str() + cost + 14), 100000) << "dear enough to be compiled (jit)";
}

}  // namespace
}  // namespace holdfast::test
