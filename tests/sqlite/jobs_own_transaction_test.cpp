// SPDX-License-Identifier: Apache-2.0
// Enqueueing in a transaction of the caller's own: the job is there exactly if they commit.
#include <thread>

#include "stores/sqlite/store.h"
#include "tests/sqlite/jobs_suite.h"

namespace holdfast::test {
namespace {

class JobsOwnTransaction : public SqliteTest {
 protected:
  static std::unique_ptr<Enqueuer> enqueuer(const RawDatabase& db, const char* schema = "main") {
    return sqlite::enqueuer(db.raw(), "locks", schema).value();
  }
  static EnqueueReply enqueue(Enqueuer& enqueuer, const NewJob& job) {
    return enqueuer.enqueue(job, soon()).value();
  }

  Worker worker_{store_at(path_)};
  RawDatabase db_{path_};
};

TEST_F(JobsOwnTransaction, a_job_is_there_when_the_caller_commits_and_not_before) {
  db_.ask("CREATE TABLE orders (id INTEGER PRIMARY KEY, what TEXT)");
  const auto ours = enqueuer(db_);
  db_.ask("BEGIN IMMEDIATE; INSERT INTO orders VALUES (77, 'paper')");
  const EnqueueReply told = enqueue(*ours, loner_of("k", {.args = "[77]", .tick_name = "t", .tick = 1}));
  EXPECT_EQ(told.what, EnqueueOutcome::enqueued);
  EXPECT_TRUE(worker_.list().empty());
  EXPECT_EQ(sqlite3_last_insert_rowid(db_.raw()), 77) << "the caller's own";
  db_.ask("COMMIT");
  const Claimed claimed = worker_.claim();
  EXPECT_EQ(claimed.job.id, told.id);
  EXPECT_EQ(claimed.job.args, "[77]");
  EXPECT_EQ(worker_.engine().tick("t", soon()).value().tick, 1);
  worker_.finish(claimed);

  db_.ask("BEGIN IMMEDIATE; INSERT INTO orders VALUES (78, 'ink')");
  EXPECT_EQ(enqueue(*ours, loner_of("k", {.tick_name = "t", .tick = 2})).what, EnqueueOutcome::enqueued);
  db_.ask("ROLLBACK");
  EXPECT_EQ(worker_.claim().what, Got::nothing);
  EXPECT_EQ(worker_.engine().tick("t", soon()).value().tick, 1);
  EXPECT_EQ(worker_.enqueue(loner_of("k")).what, EnqueueOutcome::enqueued) << "its slot went with it";
}

TEST_F(JobsOwnTransaction, the_same_rules_hold) {
  const auto ours = enqueuer(db_);
  const JobId first = worker_.enqueue(loner_of("k")).id;
  SqliteCaller lease(path_);
  lease.acquire("held", "operator");
  db_.ask("BEGIN IMMEDIATE");
  const EnqueueReply duplicate = enqueue(*ours, loner_of("k"));
  EXPECT_EQ(duplicate.what, EnqueueOutcome::duplicate);
  EXPECT_EQ(duplicate.id, first);
  const EnqueueReply locked = enqueue(*ours, loner_of("held"));
  EXPECT_EQ(locked.what, EnqueueOutcome::locked);
  EXPECT_EQ(locked.owner, "operator");
  const NewJob tick = job_of("x", {.tick_name = "cron", .tick = 5});
  EXPECT_EQ(enqueue(*ours, tick).what, EnqueueOutcome::enqueued);
  EXPECT_EQ(enqueue(*ours, tick).what, EnqueueOutcome::duplicate);
  EXPECT_EQ(enqueue(*ours, loner_of("k", {.args = "[2]", .on_conflict = OnConflict::replace})).what,
            EnqueueOutcome::replaced);
  db_.ask("COMMIT");
  EXPECT_EQ(worker_.list({.id = first}).at(0).duplicates, 2u);
  EXPECT_EQ(worker_.list({.id = first}).at(0).args, "[2]");
}

TEST_F(JobsOwnTransaction, the_winner_rolls_back_and_the_losers_job_exists) {
  const auto ours = enqueuer(db_);
  for (const bool commits : {false, true}) {
    const std::string key = commits ? "commits" : "rolls back";
    db_.ask("BEGIN IMMEDIATE");
    const EnqueueReply winner = enqueue(*ours, loner_of(key));
    ASSERT_EQ(winner.what, EnqueueOutcome::enqueued);
    EnqueueReply loser;
    std::thread other([&] { loser = worker_.enqueue(loner_of(key)); });  // waits for the first to end
    db_.ask(commits ? "COMMIT" : "ROLLBACK");
    other.join();
    EXPECT_EQ(loser.what, commits ? EnqueueOutcome::duplicate : EnqueueOutcome::enqueued);
    ASSERT_EQ(worker_.list({.key = key}).size(), 1u);
    EXPECT_EQ(worker_.list({.key = key}).at(0).id, loser.id);
    if (commits) {
      EXPECT_EQ(loser.id, winner.id);
    }
  }
}

TEST_F(JobsOwnTransaction, our_file_may_be_attached_to_theirs) {
  RawDatabase shop(scratch_.path() + "/shop.db");
  shop.ask("PRAGMA journal_mode = WAL");
  shop.ask(
      "CREATE TABLE orders (id INTEGER); CREATE TABLE holdfast_jobs (id INTEGER); "
      "CREATE TABLE locks (key TEXT)");
  shop.ask("ATTACH '" + path_ + "' AS \"the \"\"queue\"\"\"");
  const auto ours = enqueuer(shop, "the \"queue\"");
  SqliteCaller lease(path_);
  lease.acquire("held", "operator");
  shop.ask("BEGIN IMMEDIATE; INSERT INTO orders VALUES (1)");
  EXPECT_EQ(enqueue(*ours, loner_of("k")).what, EnqueueOutcome::enqueued);
  EXPECT_EQ(enqueue(*ours, loner_of("held")).what, EnqueueOutcome::locked);
  shop.ask("COMMIT");
  EXPECT_EQ(worker_.claim().job.key, "k");
  EXPECT_EQ(shop.ask("SELECT count(*) FROM main.holdfast_jobs"), "0");
}

TEST_F(JobsOwnTransaction, the_version_that_counts_is_that_of_our_file) {
  RawDatabase shop(scratch_.path() + "/shop.db");
  shop.ask("PRAGMA user_version = 99");
  shop.ask("ATTACH '" + path_ + "' AS queue");
  const auto ours = enqueuer(shop, "queue");
  shop.ask("BEGIN IMMEDIATE");
  EXPECT_EQ(enqueue(*ours, loner_of("k")).what, EnqueueOutcome::enqueued);
  shop.ask("COMMIT");
  shop.ask("PRAGMA user_version = 3; PRAGMA queue.user_version = 99");
  const auto refused = sqlite::enqueuer(shop.raw(), "locks", "queue");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused);
  EXPECT_NE(refused.error().detail.find("newer Holdfast"), std::string::npos) << refused.error().detail;
}

TEST_F(JobsOwnTransaction, without_our_tables_it_is_refused_and_says_what_to_do) {
  const auto expect = [](const Result<std::unique_ptr<Enqueuer>>& made, Errc code, const char* word) {
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, code);
    EXPECT_NE(made.error().detail.find(word), std::string::npos) << made.error().detail;
  };
  const std::string path = scratch_.path() + "/leases-only.db";
  { SqliteCaller lease(path); }
  RawDatabase leases_only(path), memory(":memory:");
  expect(sqlite::enqueuer(leases_only.raw()), Errc::refused, "opening its jobs once");
  expect(sqlite::enqueuer(db_.raw(), "other"), Errc::refused, "jobs of 'other'");
  expect(sqlite::enqueuer(db_.raw(), "locks", "elsewhere"), Errc::invalid,
         "'elsewhere' is not a database file");
  expect(sqlite::enqueuer(memory.raw()), Errc::invalid, "ATTACH");
  expect(sqlite::enqueuer(db_.raw(), "no table"), Errc::invalid, "'no table' cannot be a table name");
}

TEST_F(JobsOwnTransaction, without_a_transaction_nothing_is_enqueued) {
  const auto told = enqueuer(db_)->enqueue(job_of("k"), soon());
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Errc::invalid);
  EXPECT_NE(told.error().detail.find("BEGIN IMMEDIATE"), std::string::npos) << told.error().detail;
  EXPECT_TRUE(worker_.list().empty());
}

TEST_F(JobsOwnTransaction, one_that_has_only_begun_sees_what_others_have_committed) {
  const auto ours = enqueuer(db_);
  db_.ask("BEGIN");
  worker_.enqueue(loner_of("k"));
  EXPECT_EQ(enqueue(*ours, loner_of("k")).what, EnqueueOutcome::duplicate);
  db_.ask("COMMIT");
}

TEST_F(JobsOwnTransaction, a_result_stays_true_until_the_transaction_ends) {
  const auto ours = enqueuer(db_);
  SqliteCaller lease(path_);
  lease.acquire("k", "operator");
  db_.ask("BEGIN");
  ASSERT_EQ(enqueue(*ours, loner_of("k")).what, EnqueueOutcome::locked);  // writes nothing
  EXPECT_EQ(sqlite3_exec(RawDatabase(path_).raw(), "BEGIN IMMEDIATE", nullptr, nullptr, nullptr),
            SQLITE_BUSY);
  db_.ask("COMMIT");
}

TEST_F(JobsOwnTransaction, a_job_whose_tick_cannot_be_written_is_not_there_either) {
  const auto ours = enqueuer(db_);
  db_.ask("CREATE TEMP TRIGGER t BEFORE INSERT ON holdfast_ticks BEGIN SELECT RAISE(FAIL, 'no'); END");
  db_.ask("BEGIN IMMEDIATE");
  EXPECT_FALSE(ours->enqueue(job_of("k", {.tick_name = "t", .tick = 1}), soon()));
  db_.ask("COMMIT");
  EXPECT_TRUE(worker_.list().empty());
}

TEST_F(JobsOwnTransaction, a_transaction_with_an_old_snapshot_gets_an_error_and_can_go_on_reading) {
  const auto ours = enqueuer(db_);
  db_.ask("BEGIN");
  ASSERT_EQ(db_.ask("SELECT count(*) FROM holdfast_jobs"), "0");
  worker_.enqueue(loner_of("k"));
  const auto told = ours->enqueue(loner_of("k"), soon());
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Errc::unavailable);
  EXPECT_NE(told.error().detail.find("BEGIN IMMEDIATE"), std::string::npos) << told.error().detail;
  EXPECT_EQ(db_.ask("SELECT count(*) FROM holdfast_jobs"), "0");
  db_.ask("ROLLBACK");
}

TEST_F(JobsOwnTransaction, while_somebody_else_writes_enqueue_fails_and_nothing_is_enqueued) {
  const auto ours = enqueuer(db_);
  RawDatabase other(path_);
  other.ask("BEGIN IMMEDIATE");
  db_.ask("BEGIN");
  const auto told = ours->enqueue(loner_of("k"), soon());
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Errc::unavailable);
  other.ask("ROLLBACK");
  db_.ask("COMMIT");
  EXPECT_TRUE(worker_.list().empty());
}

TEST_F(JobsOwnTransaction, a_job_that_is_refused_leaves_the_rest_of_the_transaction_as_it_was) {
  const auto ours = enqueuer(db_);
  db_.ask("CREATE TABLE orders (id INTEGER)");
  db_.ask("BEGIN IMMEDIATE; INSERT INTO orders VALUES (1)");
  const std::string too_long(1'100'000, 'x');
  EXPECT_EQ(ours->enqueue(job_of("k", {.args = too_long}), soon()).error().code, Errc::invalid);
  EXPECT_EQ(ours->enqueue(job_of("k"), BootClock::now()).error().code, Errc::unavailable);
  db_.ask("INSERT INTO orders VALUES (2)");
  db_.ask("COMMIT");
  EXPECT_EQ(db_.ask("SELECT count(*) FROM orders"), "2");
  EXPECT_TRUE(worker_.list().empty());
}

TEST_F(JobsOwnTransaction, a_lease_of_the_dead_or_of_another_boot_is_no_obstacle) {
  PeerProcess owner(url_);
  ASSERT_TRUE(owner.ask("acquire k - 3600000 0").starts_with("granted"));
  ASSERT_TRUE(owner.ask("acquire l @ 3600000 0").starts_with("granted"));
  owner.kill();
  sqlite::Machine machine = sqlite::this_machine().value();
  db_.ask("BEGIN IMMEDIATE");
  EXPECT_EQ(enqueue(*enqueuer(db_), loner_of("k")).what, EnqueueOutcome::enqueued);
  EXPECT_EQ(enqueue(*enqueuer(db_), loner_of("l")).what, EnqueueOutcome::locked);
  ++machine.time_namespace;
  const auto elsewhere = sqlite::enqueuer(db_.raw(), "locks", "main", machine).value();
  EXPECT_EQ(elsewhere->enqueue(loner_of("l"), soon()).error().code, Errc::refused);
  machine.boot_id = "another boot";
  const auto rebooted = sqlite::enqueuer(db_.raw(), "locks", "main", machine).value();
  EXPECT_EQ(enqueue(*rebooted, loner_of("l")).what, EnqueueOutcome::enqueued);
  db_.ask("ROLLBACK");
}

}  // namespace
}  // namespace holdfast::test
