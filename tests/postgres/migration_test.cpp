// SPDX-License-Identifier: Apache-2.0
// Tables of 0.1.0, as tests/fixtures has them: used as they are, migrated beside processes that use them, or
// refused where only a newer Holdfast can use them.
#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/postgres/jobs_suite.h"

namespace holdfast::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Migration : public PostgresTest {
 protected:
  Migration() {
    std::ifstream file(HOLDFAST_FIXTURES "/0.1.0/postgres.sql");
    psql()->run({std::istreambuf_iterator<char>(file), {}});
  }
  std::unique_ptr<StoreAdmin> admin() const { return try_store(url()).value()->admin(); }
  // All rows, without what the migration adds.
  std::string rows() const {
    std::string rows;
    for (const char* table : {"locks", "holdfast_waiters", "holdfast_facts", "holdfast_log", "holdfast_state",
                              "holdfast_jobs", "holdfast_ticks"})
      rows += psql()->value(
                  std::string("SELECT string_agg(r.row, chr(10) ORDER BY r.row) FROM (SELECT (to_jsonb(t) - "
                              "'{ttl_ms,ttl_until,version,needs}'::text[])::text AS row FROM ") +
                  table + " AS t) AS r") +
              "\n";
    return rows;
  }
  std::string columns_of(const std::string& table) const {
    return psql()->value(
        "SELECT string_agg(column_name, ' ' ORDER BY ordinal_position) FROM information_schema.columns WHERE "
        "table_schema = $1 AND table_name = $2",
        {schema_, table});
  }
};

TEST_F(Migration, tables_of_0_1_0_are_migrated_and_nothing_is_lost) {
  const std::string before = rows();
  ASSERT_THAT(before, AllOf(HasSubstr("\"held\""), HasSubstr("\"carl\""), HasSubstr("\"nightly\"")));
  const auto plan = admin()->plan(soon()).value();
  EXPECT_THAT(plan, AllOf(::testing::SizeIs(2), Each(HasSubstr("ALTER TABLE"))));
  EXPECT_THAT(columns_of("locks"), Not(HasSubstr("ttl_ms"))) << "a plan changes nothing";
  EXPECT_EQ(admin()->init(soon()).value(), plan);
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
  EXPECT_EQ(rows(), before);
  EXPECT_EQ(psql()->value("SELECT version || ' ' || needs FROM holdfast_state"), "3 2");
}

TEST_F(Migration, leases_and_jobs_of_before_go_on_behind_it) {
  make_tables(url());
  Caller ours(url());
  const Reply busy = ours.acquire("held", "eve");
  EXPECT_EQ(busy.owner, "ann");
  EXPECT_EQ(busy.token, Token{1800000000000000});
  EXPECT_EQ(ours.renew("held", "ann", busy.token, 2h).verdict, Verdict::granted);
  EXPECT_EQ(ours.row("held").ttl, Millis(2h));
  EXPECT_EQ(ours.acquire("endless", "eve").owner, "bob");
  EXPECT_EQ(ours.acquire("free", "eve").token, Token{4000000000000001}) << "the clock is far behind it";
  EXPECT_EQ(ours.release("held", "ann").verdict, Verdict::released);
  EXPECT_EQ(ours.acquire("held", "eve").verdict, Verdict::busy) << "carl is first in the queue";
  Worker worker(url());
  const Claimed claimed = worker.claim("w");
  EXPECT_EQ(claimed.job.name, "Wait");
  EXPECT_TRUE(worker.finish(claimed).finished);
  EXPECT_EQ(worker.row(JobId{1}).state, JobState::running);
  EXPECT_EQ(worker.claim("w").what, Got::nothing) << "a claim of before counts";
}

TEST_F(Migration, tables_of_before_are_used_as_they_are) {
  Caller ours(url());
  EXPECT_EQ(ours.acquire("mine", "eve").verdict, Verdict::granted);
  EXPECT_EQ(ours.row("mine").ttl, std::nullopt);
  EXPECT_EQ(ours.renew("mine", "eve").verdict, Verdict::granted);
  EXPECT_EQ(ours.release("mine", "eve").verdict, Verdict::released);
  EXPECT_EQ(ours.acquire("mine", "eve").verdict, Verdict::granted);
  psql()->run("DELETE FROM holdfast_jobs");
  use_all_of_jobs(url());
}

TEST_F(Migration, connections_of_before_go_on_through_it) {
  Caller old(url());
  Worker old_worker(url());
  std::atomic<bool> over = false;
  std::atomic<int> rounds = 0;
  std::jthread busy([&] {
    for (; !over; ++rounds) {
      ASSERT_EQ(old.acquire("mine", "old").verdict, Verdict::granted);
      ASSERT_EQ(old.renew("mine", "old").verdict, Verdict::granted);
      ASSERT_EQ(old.release("mine", "old").verdict, Verdict::released);
      old_worker.enqueue(job_of("mine too"));
      const Claimed claimed = old_worker.claim("old worker");
      ASSERT_EQ(claimed.what, Got::running);
      ASSERT_TRUE(old_worker.finish(claimed).finished);
    }
  });
  ASSERT_TRUE(await([&] { return rounds > 2; }));
  make_tables(url());
  const int then = rounds;
  EXPECT_TRUE(await([&] { return rounds > then + 2; }));
  over = true;
}

TEST_F(Migration, what_one_of_before_has_changed_since_is_not_believed) {
  Caller old(url());
  make_tables(url());
  Caller ours(url());
  ours.acquire("k", "eve", 1h);
  EXPECT_EQ(ours.row("k").ttl, Millis(1h));
  EXPECT_EQ(old.renew("k", "eve", no_token, 3h).verdict, Verdict::granted);
  EXPECT_EQ(ours.row("k").ttl, std::nullopt) << "renewed by one that records nothing";
  ours.renew("k", "eve", no_token, 4h);
  EXPECT_EQ(ours.row("k").ttl, Millis(4h));
  ours.release("k", "eve");
  EXPECT_EQ(ours.row("k").ttl, std::nullopt);
  EXPECT_EQ(old.acquire("k", "old", 2h).verdict, Verdict::granted);
  EXPECT_EQ(ours.row("k").ttl, std::nullopt) << "granted by one that records nothing";
}

TEST_F(Migration, a_lease_that_ruby_takes_has_no_ttl) {
  make_tables(url());
  Caller ours(url());
  ours.acquire("k", "eve", 1h);
  ours.release("k", "eve");
  psql()->run(
      "UPDATE locks SET locked_by = 'ruby', locked_at = now() AT TIME ZONE 'UTC', locked_until = "
      "(now() AT TIME ZONE 'UTC') + interval '5s', sequence = sequence + 1 WHERE key = 'k'");
  EXPECT_EQ(ours.row("k").ttl, std::nullopt);
}

TEST_F(Migration, a_lock_table_that_init_did_not_make_is_not_changed) {
  psql()->run("UPDATE holdfast_state SET made = false");
  EXPECT_THAT(admin()->init(soon()).value(), ::testing::ElementsAre(HasSubstr("holdfast_state")));
  EXPECT_THAT(columns_of("locks"), Not(HasSubstr("ttl_ms")));
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
  EXPECT_EQ(Caller(url()).acquire("k", "eve").verdict, Verdict::granted);
}

TEST_F(Migration, many_may_migrate_at_once) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      const auto made = admin()->init(soon());
      EXPECT_TRUE(made) << made.error().detail;
    });
  }
  threads.clear();
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
}

TEST_F(Migration, an_open_transaction_puts_it_off_and_nobody_waits_behind_it_for_long) {
  const auto reader = psql();
  reader->run("BEGIN; SELECT 1 FROM locks");
  std::atomic<bool> over = false;
  std::jthread init([&] {
    const auto made = admin()->init(BootClock::now() + 1s);
    over = true;
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Errc::unavailable);
    EXPECT_THAT(made.error().detail, HasSubstr("in use by an open transaction"));
  });
  Caller ours(url());
  for (int i = 0; !over; ++i)
    ASSERT_EQ(ours.acquire("k" + std::to_string(i), "eve").verdict, Verdict::granted);
  init.join();
  EXPECT_THAT(columns_of("holdfast_state"), Not(HasSubstr("version"))) << "all of it or nothing";
  reader->run("COMMIT");
  make_tables(url());
  EXPECT_THAT(columns_of("locks"), HasSubstr("ttl_ms"));
}

TEST_F(Migration, tables_that_need_a_newer_holdfast_are_refused) {
  make_tables(url());
  psql()->run("ALTER TABLE holdfast_state ALTER version SET DEFAULT 99");
  EXPECT_EQ(Caller(url()).acquire("k", "eve").verdict, Verdict::granted)
      << "which this version can still use";
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
  psql()->run("ALTER TABLE holdfast_state ALTER needs SET DEFAULT 98");
  const auto store = try_store(url()).value();
  const auto is_refused = [](const auto& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::refused);
    EXPECT_THAT(result.error().detail,
                AllOf(HasSubstr("locks\" was written by a newer Holdfast (version 98 of the tables; this "
                                "Holdfast knows 3)"),
                      HasSubstr("nothing was changed; install the newer one")));
  };
  is_refused(store->connect(soon()));
  is_refused(store->jobs(soon()));
  is_refused(store->admin()->plan(soon()));
  is_refused(store->admin()->init(soon()));
  is_refused(store->admin()->purge({}, soon()));
}

}  // namespace
}  // namespace holdfast::test
