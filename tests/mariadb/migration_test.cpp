// SPDX-License-Identifier: Apache-2.0
// Tables of 0.1.0, as tests/fixtures has them: used as they are, migrated beside processes that use them, or
// refused where only a newer Holdfast can use them.
#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/mariadb/suite.h"
#include "tests/support/worker.h"

namespace holdfast::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Migration : public MariaTest {
 protected:
  Migration() {
    std::ifstream file(HOLDFAST_FIXTURES "/0.1.0/mariadb.sql");
    query({std::istreambuf_iterator<char>(file), {}});
  }
  std::unique_ptr<StoreAdmin> admin() const { return try_store(url()).value()->admin(); }
  // All rows, without what the migration adds.
  std::string rows() const {
    return query("SELECT `key`, locked_by, locked_at, locked_until, sequence FROM locks ORDER BY 1") + "\n" +
           query("SELECT * FROM holdfast_waiters") + "\n" + query("SELECT * FROM holdfast_facts") + "\n" +
           query("SELECT * FROM holdfast_log") + "\n" +
           query("SELECT one, purged_token FROM holdfast_state") + "\n" +
           query("SELECT * FROM holdfast_jobs ORDER BY id") + "\n" + query("SELECT * FROM holdfast_ticks");
  }
  std::string columns_of(const std::string& table) const {
    return query(
        "SELECT GROUP_CONCAT(COLUMN_NAME) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() "
        "AND "
        "TABLE_NAME = '" +
        table + "'");
  }
};

TEST_P(Migration, tables_of_0_1_0_are_migrated_and_nothing_is_lost) {
  const std::string before = rows();
  ASSERT_THAT(before, AllOf(HasSubstr("held"), HasSubstr("carl"), HasSubstr("nightly")));
  const auto plan = admin()->plan(soon()).value();
  EXPECT_THAT(plan, AllOf(::testing::SizeIs(2), Each(HasSubstr("ALTER TABLE"))));
  EXPECT_THAT(columns_of("locks"), Not(HasSubstr("ttl_ms"))) << "a plan changes nothing";
  EXPECT_EQ(admin()->init(soon()).value(), plan);
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
  EXPECT_EQ(rows(), before);
  EXPECT_EQ(query("SELECT CONCAT(version, ' ', needs) FROM holdfast_state"), "3 2");
}

TEST_P(Migration, leases_and_jobs_of_before_go_on_behind_it) {
  make_tables(url());
  MariaCaller ours(url());
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
  EXPECT_EQ(worker.claim("w").what, Claimed::What::nothing) << "a claim of before counts";
}

TEST_P(Migration, tables_of_before_are_used_as_they_are) {
  MariaCaller ours(url());
  EXPECT_EQ(ours.acquire("k", "eve").verdict, Verdict::granted);
  EXPECT_EQ(ours.row("k").ttl, std::nullopt);
  EXPECT_EQ(ours.renew("k", "eve").verdict, Verdict::granted);
  EXPECT_EQ(ours.release("k", "eve").verdict, Verdict::released);
  const Request batch[] = {{.verb = Verb::acquire, .key = {"k"}, .owner = {"ann"}, .ttl = 1h},
                           {.verb = Verb::acquire, .key = {"new"}, .owner = {"ann"}, .ttl = 1h}};
  Reply replies[2];
  ASSERT_TRUE(ours.connection().apply(batch, replies, soon()));
  EXPECT_EQ(replies[0].verdict, Verdict::granted);
  EXPECT_EQ(replies[1].verdict, Verdict::granted);
  Worker worker(url());
  EXPECT_EQ(worker.claim("w").job.name, "Wait");
}

TEST_P(Migration, connections_of_before_go_on_through_it) {
  MariaCaller old(url());
  Worker old_worker(url());
  std::atomic<bool> over = false;
  std::atomic<int> rounds = 0;
  std::jthread busy([&] {
    for (; !over; ++rounds) {
      ASSERT_EQ(old.acquire("mine", "old").verdict, Verdict::granted);
      ASSERT_EQ(old.renew("mine", "old").verdict, Verdict::granted);
      ASSERT_EQ(old.release("mine", "old").verdict, Verdict::released);
      old_worker.enqueue("mine too");
      const Claimed claimed = old_worker.claim("old worker");
      ASSERT_EQ(claimed.what, Claimed::What::running);
      ASSERT_TRUE(old_worker.finish(claimed).finished);
    }
  });
  ASSERT_TRUE(await([&] { return rounds > 2; }));
  make_tables(url());
  const int then = rounds;
  EXPECT_TRUE(await([&] { return rounds > then + 2; }));
  over = true;
}

TEST_P(Migration, what_one_of_before_has_changed_since_is_not_believed) {
  MariaCaller old(url());
  make_tables(url());
  MariaCaller ours(url());
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

TEST_P(Migration, many_may_migrate_at_once) {
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

TEST_P(Migration, one_that_was_ended_in_between_is_completed) {
  query("ALTER TABLE locks ADD COLUMN ttl_ms BIGINT, ADD COLUMN ttl_until DATETIME(6)");
  make_tables(url());
  EXPECT_THAT(columns_of("holdfast_state"), HasSubstr("version"));
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
}

TEST_P(Migration, an_open_transaction_puts_it_off) {
  const auto reader = stranger();
  reader->run("START TRANSACTION");
  reader->run("SELECT 1 FROM locks");
  const auto made = admin()->init(BootClock::now() + 2s);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::unavailable);
  EXPECT_THAT(made.error().detail, HasSubstr("in use by an open transaction"));
  EXPECT_EQ(MariaCaller(url()).acquire("k", "eve").verdict, Verdict::granted);
  reader->run("COMMIT");
  make_tables(url());
  EXPECT_THAT(columns_of("locks"), HasSubstr("ttl_ms"));
}

TEST_P(Migration, tables_that_need_a_newer_holdfast_are_refused) {
  make_tables(url());
  query("ALTER TABLE holdfast_state ALTER version SET DEFAULT 99");
  EXPECT_EQ(MariaCaller(url()).acquire("k", "eve").verdict, Verdict::granted)
      << "which this version can still use";
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
  query("ALTER TABLE holdfast_state ALTER needs SET DEFAULT 98");
  const auto store = try_store(url()).value();
  const auto is_refused = [](const auto& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::refused);
    EXPECT_THAT(result.error().detail,
                AllOf(HasSubstr("\"locks\" was written by a newer Holdfast (version 98 of the tables; this "
                                "Holdfast knows 3)"),
                      HasSubstr("nothing was changed; install the newer one")));
  };
  is_refused(store->connect(soon()));
  is_refused(store->jobs(soon()));
  is_refused(store->admin()->plan(soon()));
  is_refused(store->admin()->init(soon()));
  is_refused(store->admin()->purge({}, soon()));
}

HOLDFAST_ON_BOTH(Migration);

}  // namespace
}  // namespace holdfast::test
