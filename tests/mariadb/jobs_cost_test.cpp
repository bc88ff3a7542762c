// SPDX-License-Identifier: Apache-2.0
// What a claim reads does not depend on how many jobs there are, whatever they wait for.
#include <map>

#include "tests/mariadb/suite.h"
#include "tests/support/worker.h"

namespace holdfast::test {
namespace {

// A server of its own: it counts the rows that all its connections read.
class JobsCost : public MariaTest {
 protected:
  JobsCost() { make_tables(own_.url()); }

  // By whatever way, of whatever table.
  int rows_read() const {
    return std::stoi(own_.query(
        mysql() ? "SELECT SUM(VARIABLE_VALUE) FROM performance_schema.global_status WHERE VARIABLE_NAME LIKE "
                  "'Handler_read%'"
                : "SELECT CAST(SUM(VARIABLE_VALUE) AS SIGNED) FROM information_schema.GLOBAL_STATUS WHERE "
                  "VARIABLE_NAME LIKE 'HANDLER_READ%'"));
  }
  // But for what asking for it reads.
  template <class Work>
  int read_by(Work work) const {
    const int first = rows_read(), before = rows_read();
    work();
    return rows_read() - before - (before - first);
  }
  using Changes = std::map<std::string, std::string>;
  // So many more jobs, each as the first one is but for `changes`.
  void multiply(int many, const Changes& changes) const {
    std::string columns, values;
    for (const char* column :
         {"name",           "queue",       "args",        "`key`",       "priority",   "state",
          "enqueued_at",    "run_at",      "due_at",      "attempt",     "crashes",    "max_attempts",
          "lock_ttl_ms",    "lock_fixed",  "lock_limit",  "on_conflict", "uniqueness", "parked",
          "holder",         "lock_key",    "lock_token",  "duplicates",  "error",      "trail",
          "ready_priority", "finished_at", "aside_until", "claim_until", "waits_for",  "over_at"}) {
      const auto change = changes.find(column);
      columns += (columns.empty() ? "" : ", ") + std::string(column);
      values += (values.empty() ? "" : ", ") + (change == changes.end() ? column : change->second);
    }
    const std::string ten =
        "(SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL "
        "SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)";
    own_.query("INSERT INTO holdfast_jobs (" + columns + ") SELECT " + values + " FROM holdfast_jobs, " +
                   ten + " AS a, " + ten + " AS b, " + ten + " AS c, " + ten + " AS d WHERE id = 1 LIMIT " +
                   std::to_string(many),
               "app");
  }
  void multiply_all(int many) const {
    const std::string later = "UTC_TIMESTAMP(6) + INTERVAL 1 HOUR";
    const auto not_ready = [](Changes changes) {
      changes["ready_priority"] = "NULL";
      return changes;
    };
    multiply(many, {{"priority", "7"}, {"ready_priority", "7"}});
    multiply(many, not_ready({{"priority", "-5"}, {"aside_until", later}, {"due_at", later}}));
    for (const auto& [key, priority] : {std::pair("'k'", "8"), std::pair("'p'", "-5")})
      multiply(many / 2, not_ready({{"priority", priority},
                                    {"parked", "1"},
                                    {"waits_for", key},
                                    {"`key`", key},
                                    {"aside_until", later},
                                    {"due_at", later}}));
    multiply(many, not_ready({{"state", "'running'"}, {"priority", "-5"}, {"claim_until", later}}));
    multiply(
        many,
        not_ready(
            {{"state", "'done'"}, {"priority", "-5"}, {"finished_at", "run_at"}, {"over_at", "run_at"}}));
    own_.query("ANALYZE TABLE holdfast_jobs", "app");
  }

  const MariaServer own_{{.mysql = GetParam(), .fsync = false}};
};

TEST_P(JobsCost, a_claim_and_a_finish_read_no_more_rows_where_there_are_more_jobs) {
  Worker worker(own_.url());
  worker.enqueue("key", {.priority = 9, .limit = 0});
  MariaCaller(own_.url()).acquire("k", "somebody", 1ms);
  std::map<std::string, std::vector<int>> cost;
  int owners = 0;
  for (const int many : {200, 9'900}) {
    multiply_all(many);
    Claimed claimed;
    cost["enqueue"].push_back(read_by([&] { worker.enqueue("k", {.priority = -9}); }));
    cost["claim"].push_back(read_by([&] { claimed = worker.claim(std::to_string(++owners)); }));
    ASSERT_EQ(claimed.what, Got::running);
    ASSERT_EQ(claimed.job.priority, -9);
    worker.enqueue("k", {.priority = -9, .on_conflict = OnConflict::wait});
    Claimed other;
    cost["claim past one that waits"].push_back(
        read_by([&] { other = worker.claim(std::to_string(++owners)); }));
    ASSERT_EQ(other.job.priority, 7) << "those of a better priority are not due";
    cost["finish"].push_back(read_by([&] { EXPECT_TRUE(worker.finish(claimed).released); }));
    // The one that was parked is due now.
    ASSERT_EQ((claimed = worker.claim(std::to_string(++owners))).job.priority, -9);
    worker.finish(claimed);
    cost["nothing"].push_back(read_by([&] {
      static const std::vector<std::string> queues = {"nobody's"};
      EXPECT_EQ(worker.engine().claim({.queues = queues, .owner = {"w"}}, soon()).value().what, Got::nothing);
    }));
  }
  EXPECT_EQ(own_.query("SELECT COUNT(*) > 50000 FROM holdfast_jobs", "app"), "1");
  for (const auto& [what, rows] : cost) {
    std::printf("%s: %d rows read, then %d\n", what.c_str(), rows[0], rows[1]);
    // The server reads a few for itself now and then.
    EXPECT_LE(rows[1], rows[0] + 20) << what;
    EXPECT_LE(rows[0], 100) << what;
  }
}

HOLDFAST_ON_BOTH(JobsCost);

}  // namespace
}  // namespace holdfast::test
