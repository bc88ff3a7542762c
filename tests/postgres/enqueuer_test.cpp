// SPDX-License-Identifier: Apache-2.0
// Enqueueing in a transaction of the caller's own.
#include <gmock/gmock.h>

#include <thread>

#include "holdfast/postgres.h"
#include "tests/postgres/jobs_suite.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;

class InTheirTransaction : public JobsTest {
 protected:
  // A connection as an application has it.
  struct Theirs {
    explicit Theirs(const std::string& url, const std::string& table)
        : connection(PQconnectdb(url.c_str())), enqueuer(postgres::enqueuer(connection, table).value()) {}
    ~Theirs() { PQfinish(connection); }
    std::string run(const std::string& sql) const {
      const postgres::OwnedResult result(PQexec(connection, sql.c_str()));
      if (*PQresultErrorMessage(result.get()) != '\0') return PQresultErrorMessage(result.get());
      return PQntuples(result.get()) == 0 ? "" : PQgetvalue(result.get(), 0, 0);
    }
    Result<EnqueueReply> enqueue(const NewJob& job, Millis wait = 10s) const {
      return enqueuer->enqueue(job, BootClock::now() + wait);
    }
    PGconn* const connection;
    const std::unique_ptr<Enqueuer> enqueuer;
  };
  Theirs theirs() const { return Theirs(shared_postgres().url(), schema_ + ".locks"); }
  void await_waiter(const Theirs& winner) {
    const auto looker = psql();
    ASSERT_TRUE(await([&] {
      return looker->run("SELECT 1 FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))",
                         {std::to_string(PQbackendPID(winner.connection))}) == 1;
    }));
  }
  Worker worker_{url()};
};

TEST_F(InTheirTransaction, a_job_is_there_when_they_commit) {
  const Theirs a = theirs();
  a.run("BEGIN");
  const EnqueueReply told = a.enqueue(job_of("k")).value();
  EXPECT_EQ(told.what, EnqueueOutcome::enqueued);
  EXPECT_EQ(worker_.claim("w1").what, Got::nothing);
  EXPECT_EQ(PQtransactionStatus(a.connection), PQTRANS_INTRANS);
  a.run("COMMIT");
  EXPECT_EQ(worker_.claim("w1").job.id, told.id);
}

TEST_F(InTheirTransaction, a_job_is_gone_when_they_roll_back_and_so_is_its_tick) {
  const Theirs a = theirs();
  a.run("BEGIN");
  EXPECT_EQ(a.enqueue(job_of("k", {.tick_name = "t", .tick = 1}))->what, EnqueueOutcome::enqueued);
  a.run("ROLLBACK");
  EXPECT_TRUE(worker_.list().empty());
  EXPECT_EQ(worker_.enqueue(job_of("k", {.tick_name = "t", .tick = 1})).what, EnqueueOutcome::enqueued);
}

TEST_F(InTheirTransaction, outside_of_one_each_job_is_committed_by_itself) {
  const Theirs a = theirs();
  EXPECT_EQ(a.enqueue(job_of("k"))->what, EnqueueOutcome::enqueued);
  EXPECT_EQ(a.run("SHOW lock_timeout"), "0");
  EXPECT_EQ(worker_.claim("w1").what, Got::running);
}

TEST_F(InTheirTransaction, the_loser_enqueues_if_the_winner_rolls_back) {
  const Theirs winner = theirs();
  winner.run("BEGIN");
  EXPECT_EQ(winner.enqueue(loner_of("k"))->what, EnqueueOutcome::enqueued);
  EnqueueReply loser;
  std::jthread losing([&] { loser = worker_.enqueue(loner_of("k")); });
  await_waiter(winner);
  winner.run("ROLLBACK");
  losing.join();
  EXPECT_EQ(loser.what, EnqueueOutcome::enqueued);
  ASSERT_EQ(worker_.list().size(), 1u);
  EXPECT_EQ(worker_.list()[0].id, loser.id);
}

TEST_F(InTheirTransaction, the_loser_gets_the_winners_job_if_the_winner_commits) {
  const Theirs winner = theirs(), second = theirs();
  winner.run("BEGIN");
  const JobId id = winner.enqueue(loner_of("k"))->id;
  EnqueueReply loser;
  std::jthread losing([&] {
    second.run("BEGIN");
    loser = second.enqueue(loner_of("k")).value();
    second.run("COMMIT");
  });
  await_waiter(winner);
  winner.run("COMMIT");
  losing.join();
  EXPECT_EQ(loser.what, EnqueueOutcome::duplicate);
  EXPECT_EQ(loser.id, id);
  EXPECT_EQ(worker_.row(id).duplicates, 0u) << "whoever counts has its row to themselves until they commit";
}

TEST_F(InTheirTransaction, a_transaction_that_does_not_end_in_time_makes_an_enqueue_unavailable) {
  const Theirs winner = theirs(), second = theirs();
  winner.run("BEGIN");
  EXPECT_EQ(winner.enqueue(loner_of("k"))->what, EnqueueOutcome::enqueued);
  const auto engine = worker_.engine().enqueue(loner_of("k"), BootClock::now() + 2s);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, Errc::unavailable) << engine.error().detail;
  EXPECT_THAT(engine.error().detail, HasSubstr("timed out waiting for an open transaction"));
  second.run("BEGIN");
  second.run("CREATE TEMPORARY TABLE work (n int)");
  const auto told = second.enqueue(loner_of("k"), 500ms);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Errc::unavailable) << told.error().detail;
  EXPECT_EQ(PQtransactionStatus(second.connection), PQTRANS_INTRANS) << "theirs goes on";
  EXPECT_EQ(second.run("INSERT INTO work VALUES (7) RETURNING n"), "7");
  EXPECT_EQ(second.run("COMMIT"), "");
  winner.run("ROLLBACK");
  EXPECT_TRUE(worker_.list().empty());
}

TEST_F(InTheirTransaction, a_transaction_with_duplicates_of_running_jobs_blocks_nobody) {
  const NewJob ticks = job_of("ticks", {.tick_name = "t", .tick = 1});
  NewJob replaces = loner_of("k");
  replaces.on_conflict = OnConflict::replace;
  worker_.enqueue(loner_of("k"));
  worker_.enqueue(ticks);
  worker_.enqueue(job_of("other"));
  const Claimed claimed[] = {worker_.claim("w1"), worker_.claim("w2"), worker_.claim("w3")};
  const Theirs a = theirs();
  a.run("BEGIN");
  for (const NewJob& job : {loner_of("k"), replaces, ticks}) {
    const auto told = a.enqueue(job);
    ASSERT_TRUE(told) << told.error().detail;
    EXPECT_EQ(told->what, EnqueueOutcome::duplicate);
    EXPECT_EQ(told->state, JobState::running);
  }
  EXPECT_EQ(worker_.engine().enqueue(ticks, soon())->what, EnqueueOutcome::duplicate);
  std::vector<ClaimRef> refs;
  for (const Claimed& one : claimed) refs.push_back({one.job.id, {one.job.owner}, 1h});
  ClaimReply replies[3];
  const Status renewed = worker_.engine().renew(refs, replies, BootClock::now() + 2s);
  ASSERT_TRUE(renewed) << renewed.error().detail;
  for (const ClaimReply& reply : replies) EXPECT_TRUE(reply.held);
  for (const Claimed& one : claimed) {
    const auto finished = worker_.engine().finish(done(one), BootClock::now() + 2s);
    ASSERT_TRUE(finished) << finished.error().detail;
    EXPECT_TRUE(finished->finished);
  }
  EXPECT_EQ(a.run("COMMIT"), "");
}

TEST_F(InTheirTransaction, a_key_that_no_lock_can_have_is_refused) {
  psql()->run("ALTER TABLE locks ALTER key TYPE varchar(20)");
  const Theirs a = theirs();
  EXPECT_TRUE(a.enqueue(job_of(std::string(20, 'k'))));
  for (const NewJob& job : {job_of("kkkkkkkkkkkkkkkkkkkkk"), job_of("kkkkkkkkkkkkkkkkkkk", {.limit = 3})}) {
    const auto told = a.enqueue(job);
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().code, Errc::refused);
    EXPECT_THAT(told.error().detail, HasSubstr("letters that the column \"key\""));
  }
  EXPECT_TRUE(a.enqueue(job_of("kkkkkkkkkkkkkkkkkkkkk", {.limit = 0}))) << "it has no lock";
}

TEST_F(InTheirTransaction, a_transaction_with_an_old_snapshot_has_to_be_retried) {
  const Theirs a = theirs();
  a.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
  a.run("SELECT 1");
  worker_.enqueue(loner_of("k"));
  const auto told = a.enqueue(loner_of("k"));
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Errc::unavailable);
  EXPECT_THAT(told.error().detail, HasSubstr("run the whole transaction again"));
  EXPECT_EQ(PQtransactionStatus(a.connection), PQTRANS_INTRANS);
}

TEST_F(InTheirTransaction, their_settings_stay_theirs) {
  const Theirs a = theirs();
  a.run(
      "BEGIN; SET LOCAL lock_timeout = '7s'; SET LOCAL synchronous_commit = off; SET LOCAL "
      "client_min_messages = "
      "error");
  EXPECT_TRUE(a.enqueue(loner_of("k")));
  EXPECT_EQ(a.run("SHOW lock_timeout"), "7s");
  EXPECT_EQ(a.run("SHOW synchronous_commit"), "off");
  EXPECT_EQ(a.run("SHOW client_min_messages"), "error");
  EXPECT_THAT(a.run("RELEASE SAVEPOINT holdfast_enqueue"), HasSubstr("ERROR"));
}

TEST_F(InTheirTransaction, a_connection_that_cannot_be_waited_on_is_refused_in_words) {
  const Theirs a = theirs();
  const auto error = [&] {
    const auto told = a.enqueue(job_of("k"));
    EXPECT_FALSE(told);
    return told ? "" : told.error().detail;
  };
  PQsetnonblocking(a.connection, 1);
  EXPECT_THAT(error(), HasSubstr("nonblocking mode"));
  PQsetnonblocking(a.connection, 0);
  PQenterPipelineMode(a.connection);
  EXPECT_THAT(error(), HasSubstr("pipeline mode"));
  PQexitPipelineMode(a.connection);
  PQsendQuery(a.connection, "SELECT 1");
  EXPECT_THAT(error(), HasSubstr("in the middle of a statement"));
  while (PGresult* result = PQgetResult(a.connection)) PQclear(result);
  a.run("BEGIN; SELECT 1 / 0");
  EXPECT_THAT(error(), HasSubstr("has failed"));
  a.run("ROLLBACK");
  EXPECT_TRUE(a.enqueue(job_of("k")));
  EXPECT_EQ(postgres::enqueuer(nullptr).error().code, Errc::invalid);
  const auto elsewhere = postgres::enqueuer(a.connection, "nowhere");
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().code, Errc::unprepared);
  EXPECT_THAT(elsewhere.error().detail, HasSubstr("init"));
}

}  // namespace
}  // namespace holdfast::test
