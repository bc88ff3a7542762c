// SPDX-License-Identifier: Apache-2.0
// What only SQLite's jobs do: two clocks, a reboot, tables on demand, the dead found out.
#include <filesystem>

#include "core/job_rule.h"
#include "tests/sqlite/jobs_suite.h"

namespace holdfast::test {
namespace {

class Jobs : public SqliteTest {
 protected:
  sqlite::Machine machine() {
    return {.boot_id = boot_id_,
            .time_namespace = 7,
            .boottime = [this] { return boottime_; },
            .walltime = [this] { return walltime_; }};
  }
  std::shared_ptr<Store> client() { return sqlite::store({.path = path_}, machine()).value(); }
  std::string ask_file(const std::string& sql) { return RawDatabase(path_).ask(sql); }

  std::string boot_id_ = "one boot";
  Micros boottime_ = 1h, walltime_ = std::chrono::hours(24 * 365 * 50);
};

constexpr const char* count_tables =
    "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND tbl_name IN ('holdfast_jobs', "
    "'holdfast_ticks')";

// As a file of an earlier build is: without them.
TEST_F(Jobs, a_client_that_uses_only_leases_creates_no_tables_of_jobs) {
  SqliteCaller lease(path_);
  EXPECT_TRUE(lease.granted("k"));
  EXPECT_EQ(ask_file(count_tables), "0");
  {
    Worker worker(store_at(path_));
    EXPECT_EQ(ask_file(count_tables), "2");
    EXPECT_EQ(worker.enqueue(loner_of("k")).what, EnqueueOutcome::locked);
    EXPECT_EQ(worker.enqueue(loner_of("l")).what, EnqueueOutcome::enqueued);
  }
  EXPECT_EQ(lease.acquire("k").verdict, Verdict::granted) << "its holder still has it";
  EXPECT_TRUE(SqliteCaller(path_).granted("other"));
  EXPECT_EQ(Worker(store_at(path_)).list().size(), 1u);
}

TEST_F(Jobs, each_lock_table_of_a_file_has_jobs_of_its_own) {
  Worker here(store_at(path_));
  Worker other(sqlite::store({.path = path_, .table = "other"}).value());
  here.enqueue(loner_of("k"));
  EXPECT_EQ(other.claim().what, Got::nothing);
  EXPECT_EQ(other.enqueue(loner_of("k")).what, EnqueueOutcome::enqueued);
  EXPECT_EQ(ask_file("SELECT count(*) FROM other_holdfast_jobs"), "1");
}

TEST_F(Jobs, jobs_are_on_the_disk_when_a_commit_returns_and_leases_need_not_be) {
  {
    Opened opened;
    Worker worker(store_at(path_));
    EXPECT_EQ(ask(opened.first(), "PRAGMA synchronous"), "2");
  }
  Opened opened;
  SqliteCaller lease(path_);
  EXPECT_EQ(ask(opened.first(), "PRAGMA synchronous"), "1");
}

TEST_F(Jobs, the_wall_clock_says_when_a_job_is_due_and_the_boot_clock_when_a_claim_has_run_out) {
  Worker worker(client());
  worker.enqueue(job_of("now"));
  worker.enqueue(job_of("later", {.in = 1h}));
  ASSERT_EQ(worker.claim("w1", 10min).what, Got::running);
  boottime_ += 9min;
  EXPECT_EQ(worker.claim("w2").what, Got::nothing);
  walltime_ += 1h;  // set by somebody
  const Claimed later = worker.claim("w2");
  EXPECT_EQ(later.job.key, "later");
  EXPECT_FALSE(later.recovered);
  EXPECT_EQ(worker.claim("w3").what, Got::nothing);
  boottime_ += 1min;
  EXPECT_EQ(worker.claim("w3").job.key, "now");
}

// Against the rule itself, applied to all that is listed.
TEST_F(Jobs, the_order_of_claims_is_the_rules_whatever_was_put_off) {
  const std::uint64_t seed = random_bits();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Jitter dice(seed);
  Worker worker(client());
  const std::vector<std::string> queues = {"default", "other"};
  int claimed = 0;
  for (int i = 0; i < 400; ++i) {
    const Millis later(static_cast<std::int64_t>(dice.below(5)));
    walltime_ += Micros(later);
    const auto priority = static_cast<int>(dice.below(3));
    if (dice.below(2) == 0) {
      worker.enqueue(job_of("k", {.queue = dice.below(2) == 0 ? "default" : "other",
                                  .priority = priority - 1,
                                  .in = later,
                                  .limit = 0}));
      continue;
    }
    std::optional<JobRow> first;
    const Moment wall(walltime_);
    std::optional<Moment> next;
    for (JobRow& row : worker.list({.state = JobState::queued, .limit = 1000})) {
      next = std::min(row.due_at, next.value_or(row.due_at));
      if (row.due_at <= wall && (!first || core::before(row, *first))) first = std::move(row);
    }
    const Claimed got = worker.claim("w" + std::to_string(i), 1h, queues);
    ASSERT_EQ(got.what, first ? Got::running : Got::nothing);
    if (!first) {
      EXPECT_EQ(got.next, next ? std::chrono::ceil<Millis>(*next - wall) : 1min);
      continue;
    }
    ASSERT_EQ(to_number(got.job.id), to_number(first->id));
    ++claimed;
    const bool hand_back = dice.below(2) == 0;
    ASSERT_TRUE(worker.engine().finish({.id = got.job.id,
                                        .owner = {got.job.owner},
                                        .to = hand_back ? JobState::queued : JobState::done,
                                        .in = Millis(static_cast<std::int64_t>(dice.below(9))),
                                        .counts = dice.below(2) == 0},
                                       soon()));
  }
  EXPECT_GT(claimed, 50);
}

TEST_F(Jobs, after_a_reboot_no_claim_is_left_whichever_client_opens_the_file_first) {
  const std::string longest = "[\"" + std::string((1 << 20) - 17, 'x') + "\"]";
  for (const bool lease_first : {false, true}) {
    boot_id_ = lease_first ? "third boot" : "first boot";
    boottime_ = 100h;
    JobId id{};
    {
      Worker worker(client());
      id = worker.enqueue(loner_of("k", {.args = longest})).id;
      ASSERT_EQ(worker.claim("w1", 1h).job.id, id);
    }
    boot_id_ = lease_first ? "fourth boot" : "second boot";
    boottime_ = 5s;
    if (lease_first) SqliteCaller passer_by(client());
    Worker worker(client());
    const Claimed again = worker.claim("w2");
    EXPECT_EQ(again.what, Got::running);
    EXPECT_EQ(again.job.id, id);
    EXPECT_TRUE(again.recovered);
    EXPECT_EQ(worker.claim("w3").what, Got::nothing) << "the boot is remembered";
    EXPECT_TRUE(worker.finish(again).released);
  }
}

TEST_F(Jobs, ids_are_not_given_twice) {
  Worker worker(store_at(path_));
  const JobId first = worker.enqueue(job_of("k")).id;
  ASSERT_TRUE(worker.engine().change(first, JobChange::remove, "me", soon()));
  EXPECT_GT(worker.enqueue(job_of("k")).id, first);
}

TEST_F(Jobs, a_lock_of_a_dead_process_is_no_obstacle) {
  Worker worker(store_at(path_));
  PeerProcess owner(url_);
  ASSERT_TRUE(owner.ask("acquire k - 3600000 0").starts_with("granted"));
  ASSERT_TRUE(owner.ask("acquire l alice 3600000 0").starts_with("granted"));
  worker.enqueue(job_of("k"));
  EXPECT_EQ(worker.enqueue(loner_of("l")).what, EnqueueOutcome::locked);
  owner.kill();
  EXPECT_EQ(worker.claim().what, Got::running);
  EXPECT_EQ(worker.enqueue(loner_of("l")).what, EnqueueOutcome::enqueued);
  EXPECT_EQ(SqliteCaller(path_).log("k").at(0).reason, "its process was dead");
}

TEST_F(Jobs, the_lock_of_a_job_whose_process_died_is_free_at_once) {
  SqliteCaller lease(path_);
  {
    Worker worker(store_at(path_));
    worker.enqueue(job_of("k"));
    ASSERT_EQ(worker.claim().what, Got::running);
    ASSERT_EQ(lease.acquire("k").verdict, Verdict::busy);
  }
  EXPECT_TRUE(lease.granted("k"));
}

TEST_F(Jobs, a_waiter_for_the_lock_of_a_job_is_notified_when_it_ends) {
  Worker worker(store_at(path_));
  SqliteCaller waiter(path_);
  worker.enqueue(job_of("k"));
  const Claimed claimed = worker.claim();
  ASSERT_TRUE(waiter.queues("k"));
  ASSERT_FALSE(waiter.is_rung());
  worker.finish(claimed);
  EXPECT_TRUE(waiter.is_rung());
  EXPECT_TRUE(waiter.granted("k"));
}

TEST_F(Jobs, a_job_that_is_too_long_is_refused_by_its_name_and_a_long_one_is_kept) {
  Worker worker(store_at(path_));
  const std::string long_args(1'000'000, 'x'), too_long(1'100'000, 'x');
  worker.enqueue(job_of("k", {.args = long_args}));
  EXPECT_EQ(worker.claim().job.args.size(), long_args.size());
  const auto refused = worker.engine().enqueue(job_of("k", {.args = too_long}), soon());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid);
  EXPECT_NE(refused.error().detail.find("job 'Job' has 11000"), std::string::npos) << refused.error().detail;
  EXPECT_EQ(worker.list().size(), 1u);
}

TEST_F(Jobs, a_job_that_is_as_long_as_one_may_be_ends_like_any_other) {
  Worker worker(store_at(path_));
  const std::string longest((1 << 20) - 30, 'x'), error(100'000, 'e');
  worker.enqueue(job_of("k", {.args = longest}));
  const Claimed claimed = worker.claim();
  ASSERT_EQ(claimed.what, Claimed::What::running);
  const auto finished = worker.engine().finish({.id = claimed.job.id,
                                                .owner = {claimed.job.owner},
                                                .to = JobState::dead,
                                                .error = error,
                                                .lock = {claimed.job.lock},
                                                .token = claimed.job.token},
                                               soon());
  ASSERT_TRUE(finished.has_value()) << finished.error().detail;
  EXPECT_TRUE(finished->finished);
  EXPECT_EQ(worker.list().at(0).error, error.substr(0, 65536));
}

TEST_F(Jobs, a_file_that_was_replaced_is_not_written_any_more) {
  Worker worker(store_at(path_));
  std::filesystem::remove(path_);
  const auto told = worker.engine().enqueue(job_of("k"), soon());
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Errc::unavailable);
  EXPECT_NE(told.error().detail.find("removed or replaced"), std::string::npos) << told.error().detail;
  EXPECT_TRUE(worker.store().jobs(soon())) << "opened anew";
}

TEST_F(Jobs, tables_of_jobs_that_are_not_exactly_ours_are_refused) {
  const struct {
    const char* sql;
    const char* word;
  } table[] = {
      {"CREATE TRIGGER t AFTER INSERT ON holdfast_jobs BEGIN DELETE FROM locks; END", "create, 't'"},
      {"CREATE INDEX i ON holdfast_jobs (name)", "'i' on its table 'holdfast_jobs'"},
      {"DROP INDEX holdfast_jobs_slot", "lacks the index 'holdfast_jobs_slot'"},
      {"DROP INDEX holdfast_jobs_due; CREATE INDEX holdfast_jobs_due ON holdfast_jobs (queue)",
       "index 'holdfast_jobs_due' differs from the one"},
      {"DROP TABLE holdfast_ticks", "lacks the table 'holdfast_ticks'"},
      {"ALTER TABLE holdfast_jobs ADD COLUMN more TEXT", "table 'holdfast_jobs' differs from the one"},
  };
  for (const auto& row : table) {
    SCOPED_TRACE(row.sql);
    for (const char* const suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + suffix);
    { Worker worker(store_at(path_)); }
    ask_file(row.sql);
    const auto refused = store_at(path_)->jobs(soon());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::refused);
    EXPECT_NE(refused.error().detail.find(row.word), std::string::npos) << refused.error().detail;
  }
}

}  // namespace
}  // namespace holdfast::test
