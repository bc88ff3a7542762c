// SPDX-License-Identifier: Apache-2.0
// What a step of a job costs does not depend on how many jobs there are: counted in steps of SQLite's
// machine.
#include <algorithm>
#include <map>

#include "stores/sqlite/sql.h"
#include "stores/sqlite/tables.h"
#include "tests/sqlite/jobs_suite.h"

namespace holdfast::test {
namespace {

using sqlite::Sql;

class JobsCost : public SqliteTest {
 protected:
  // So many of each kind that could stand in a claim's way.
  void fill(int times) {
    {
      Worker worker(store_at(path_));
      for (const char* const queue : {"default", "other"}) {
        for (const int priority : {0, 1}) {
          worker.enqueue(job_of("due", {.queue = queue, .priority = priority, .limit = 0}));
          worker.enqueue(job_of("later", {.queue = queue, .priority = priority - 10, .in = 1h}));
        }
      }
      worker.enqueue(job_of("waits", {.priority = -20}));
      for (int i = 0; i < 2; ++i) worker.enqueue(job_of("waits and is due", {.priority = 20}));
      worker.enqueue(job_of("later", {.queue = "idle", .in = 1h}));
      for (const char* const key : {"running", "done", "dead", "dropped", "cancelled"})
        worker.enqueue(job_of(key));
    }
    RawDatabase file(path_);
    file.ask("UPDATE holdfast_jobs SET parked = 1, due_at = run_at + 300000000 WHERE key = 'waits'");
    file.ask("UPDATE holdfast_jobs SET parked = 1, due_at = run_at + 1 WHERE key = 'waits and is due'");
    file.ask(
        "UPDATE holdfast_jobs SET state = key, finished_at = run_at, claim_until = 1 << 60 "
        "WHERE key IN ('running', 'done', 'dead', 'dropped', 'cancelled')");
    const std::string columns = file.ask(
        "SELECT group_concat(name, ', ') FROM pragma_table_info('holdfast_jobs') WHERE name <> 'id'");
    file.ask("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " + std::to_string(times) +
             ") INSERT INTO holdfast_jobs (" + columns + ") SELECT " + columns + " FROM holdfast_jobs, n");
    file.ask("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " + std::to_string(times) +
             ") INSERT INTO holdfast_ticks SELECT 'kept ' || i, 1, 0, '', 1, 0, 0 FROM n");
  }

  static int steps(sqlite3* db) {
    int sum = 0;
    for (sqlite3_stmt* s = sqlite3_next_stmt(db, nullptr); s != nullptr; s = sqlite3_next_stmt(db, s))
      sum += sqlite3_stmt_status(s, SQLITE_STMTSTATUS_VM_STEP, 1);
    return sum;
  }

  // By what is done, the least of several times: now and then the tables are swept as well.
  std::map<std::string, int> costs() {
    Opened opened;
    Worker worker(store_at(path_));
    sqlite3* const db = opened.first();
    std::map<std::string, int> least;
    const auto measure = [&](const char* what, const auto& work) {
      steps(db);
      work();
      const int now = steps(db);
      const auto known = least.find(what);
      least[what] = known == least.end() ? now : std::min(known->second, now);
    };
    for (int i = 0; i < 5; ++i) {
      const std::string key = "new " + std::to_string(i), owner = "w" + std::to_string(i);
      Claimed claimed;
      measure("enqueue", [&] {
        EXPECT_EQ(worker.enqueue(loner_of(key, {.at = Moment(Micros(1))})).what, EnqueueOutcome::enqueued);
      });
      measure("duplicate", [&] { EXPECT_EQ(worker.enqueue(loner_of(key)).what, EnqueueOutcome::duplicate); });
      measure("claim", [&] { claimed = worker.claim(owner, 1h, {"default", "other", "idle"}); });
      EXPECT_EQ(claimed.job.key, key);
      measure("renew", [&] {
        const ClaimRef ref{claimed.job.id, {owner}, 2h};
        ClaimReply reply;
        EXPECT_TRUE(worker.engine().renew({&ref, 1}, {&reply, 1}, soon()));
        EXPECT_TRUE(reply.held);
      });
      measure("finish", [&] { EXPECT_TRUE(worker.finish(claimed).finished); });
      measure("nothing", [&] { EXPECT_EQ(worker.claim(owner, 1h, {"idle"}).what, Got::nothing); });
      measure("purge", [&] {
        EXPECT_EQ(worker.engine().purge({.older_than = 0ms, .limit = 10}, soon()).value(), 10u);
      });
      measure("list", [&] { EXPECT_EQ(worker.list({.limit = 10}).size(), 10u); });
    }
    // Those that free a lock for which others wait; they are due then, and in the way of what is above.
    for (int i = 0; i < 5; ++i) {
      for (const char* const key : {"waits", "waits and is due"}) {
        worker.enqueue(job_of(key, {.queue = "frees"}));
        const Claimed claimed = worker.claim("f" + std::to_string(i), 1h, {"frees"});
        EXPECT_EQ(claimed.what, Got::running);
        measure(key, [&] { EXPECT_TRUE(worker.finish(claimed).released); });
      }
    }
    return least;
  }
};

TEST_F(JobsCost, no_statement_reads_a_table_or_sorts) {
  fill(100);
  const auto tables = sqlite::Tables::named("locks").value();
  for (const bool analyzed : {false, true}) {
    RawDatabase file(path_);
    if (analyzed) file.ask("ANALYZE");
    for (auto i = static_cast<int>(Sql::job_by_id); i < static_cast<int>(sqlite::sql_count); ++i) {
      const std::string sql = tables.expand(sqlite::text(static_cast<Sql>(i)));
      const std::string plan = file.plan(sql);
      EXPECT_EQ(plan.find("SCAN"), std::string::npos) << sql << plan;
      EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << sql << plan;
    }
  }
}

TEST_F(JobsCost, a_step_costs_the_same_with_fifty_times_as_many_jobs) {
  fill(60);  // of about seventeen kinds
  const auto few = costs();
  {
    RawDatabase file(path_);
    ASSERT_GE(std::stoi(file.ask("SELECT count(*) FROM holdfast_jobs")), 900);
    file.ask("DELETE FROM holdfast_jobs");
    file.ask("DELETE FROM holdfast_ticks");
  }
  fill(2900);
  ASSERT_GE(std::stoi(RawDatabase(path_).ask("SELECT count(*) FROM holdfast_jobs")), 48'000);
  for (const auto& [what, steps] : costs()) {
    EXPECT_GT(few.at(what), 0) << what;
    EXPECT_LE(steps, few.at(what) + few.at(what) / 10) << what;
  }
}

}  // namespace
}  // namespace holdfast::test
