// SPDX-License-Identifier: Apache-2.0
// Documents of 0.1.0, as tests/fixtures has them: used as they are, and given the indexes of today by init
// beside processes that use them.
#include <gmock/gmock.h>

#include <atomic>
#include <sstream>
#include <thread>

#include "base/time.h"
#include "tests/mongodb/suite.h"
#include "tests/support/fixture.h"
#include "tests/support/worker.h"

namespace holdfast::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class MigrationOfMongo : public MongoTest {
 protected:
  void SetUp() override {
    MongoTest::SetUp();
    if (IsSkipped()) return;
    const Micros in_an_hour = wall_now().time_since_epoch() + 1h;
    std::istringstream lines(
        fixture(HOLDFAST_FIXTURES "/0.1.0/mongodb.txt", {{"IN_AN_HOUR", std::to_string(in_an_hour / 1ms)}}));
    std::string command;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("#")) command += line;
      if (!line.empty() || command.empty()) continue;
      mongo(command);
      command.clear();
    }
    mongo(command);
  }
  std::unique_ptr<StoreAdmin> admin() const { return try_store(url()).value()->admin(); }
  std::vector<std::string> shown() const {
    std::vector<std::string> keys;
    for (const LeaseRow& row : Caller(url()).list({.free = false}).leases) keys.push_back(row.key);
    return keys;
  }
  std::string documents() const {
    std::string all;
    for (const char* rest : {"", ".holdfast_log", ".holdfast_jobs", ".holdfast_ticks"})
      all += mongo(R"({"find": "locks)" + std::string(rest) +
                   R"(", "sort": {"_id": 1}, "batchSize": 1000, "singleBatch": true})") +
             "\n";
    return all;
  }
};

TEST_F(MigrationOfMongo, documents_of_0_1_0_are_used_as_they_are) {
  EXPECT_THAT(shown(), ElementsAre("endless", "expired", "held", "job", "waited"));
  Caller here(url());
  const Reply busy = here.acquire("held", "eve");
  EXPECT_EQ(busy.owner, "ann");
  EXPECT_EQ(busy.token, Token{1767225600845000});
  EXPECT_EQ(here.row("held").note, "by hand");
  EXPECT_EQ(here.row("held").ttl, std::nullopt);
  EXPECT_EQ(here.renew("held", "ann", no_token, 2h).verdict, Verdict::granted);
  EXPECT_EQ(here.row("held").ttl, Millis(2h));
  EXPECT_EQ(here.acquire("endless", "eve").owner, "bob");
  EXPECT_EQ(here.renew("endless", "bob", no_token, never).verdict, Verdict::granted);
  EXPECT_EQ(here.acquire("free", "eve").token, Token{4000000000000001}) << "the clock is far behind it";
  EXPECT_EQ(here.release("held", "ann").verdict, Verdict::released);
  EXPECT_EQ(here.acquire("held", "eve").verdict, Verdict::busy) << "carl is first in the queue";
  EXPECT_EQ(here.acquire("expired", "fay").verdict, Verdict::granted);
  const auto log = here.list({.what = Query::What::log}).log;
  ASSERT_EQ(log.size(), 3u);
  EXPECT_EQ(log[0].event + " " + log[0].owner, "taken-over eve");
  EXPECT_EQ(log[1].event + " " + log[1].owner, "broken dora");
  EXPECT_EQ(log[2].event + " " + log[2].owner, "broken hal") << "its key was purged";
}

TEST_F(MigrationOfMongo, init_adds_the_indexes_of_leases_and_nothing_is_lost) {
  const std::string before = documents();
  const auto plan = admin()->plan(soon()).value();
  ASSERT_EQ(plan.size(), 1u) << "those of jobs are there";
  EXPECT_THAT(plan[0], AllOf(HasSubstr(R"("name": "held")"), HasSubstr(R"("name": "waited_for")"),
                             HasSubstr(R"("name": "logged")")));
  const std::string indexes = R"({"listIndexes": "locks"})";
  EXPECT_THAT(mongo(indexes), Not(HasSubstr("held"))) << "a plan changes nothing";
  EXPECT_EQ(admin()->init(soon()).value(), plan);
  EXPECT_THAT(mongo(indexes), AllOf(HasSubstr("held"), HasSubstr("waited_for"), HasSubstr("logged")));
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
  EXPECT_THAT(admin()->init(soon()).value(), IsEmpty());
  EXPECT_EQ(documents(), before);
  EXPECT_THAT(shown(), ElementsAre("endless", "expired", "held", "job", "waited"));
}

TEST_F(MigrationOfMongo, a_plan_can_be_run_by_hand) {
  for (const std::string& command : admin()->plan(soon()).value()) {
    const std::string before = "db.runCommand(";
    ASSERT_THAT(command, StartsWith(before));
    mongo(command.substr(before.size(), command.size() - before.size() - 1));
  }
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
}

TEST_F(MigrationOfMongo, jobs_of_before_go_on) {
  (void)admin()->init(soon()).value();
  Worker worker(url());
  EXPECT_EQ(worker.loner("other").what, EnqueueOutcome::duplicate) << "a slot of before counts";
  const Claimed waited = worker.claim();
  EXPECT_EQ(waited.job.name, "Wait");
  EXPECT_EQ(waited.job.args, "[2]");
  EXPECT_TRUE(worker.finish(waited).finished);
  EXPECT_EQ(worker.claim().what, Got::nothing) << "a claim of before counts, and so does its lock";
  EXPECT_TRUE(worker.renew(JobId{1}, "worker"));
  const Finish how{.id = JobId{1},
                   .owner = {"worker"},
                   .to = JobState::done,
                   .lock = {"job"},
                   .token = Token{1767225600971000}};
  const Finished finished = worker.engine().finish(how, soon()).value();
  EXPECT_TRUE(finished.finished && finished.released);
  EXPECT_EQ(worker.claim().job.name, "Park");
  EXPECT_TRUE(worker.change(JobId{6}, JobChange::retry));
  EXPECT_EQ(worker.claim().job.name, "Dead");
  EXPECT_EQ(worker.row(JobId{4}).state, JobState::queued);
  EXPECT_EQ(worker.row(JobId{5}).state, JobState::done);
  EXPECT_GT(to_number(worker.enqueue("new").id), 6u);
  EXPECT_FALSE(worker.take_tick("nightly", 7).taken);
  EXPECT_TRUE(worker.take_tick("nightly", 8).taken);
}

TEST_F(MigrationOfMongo, processes_go_on_through_it) {
  std::atomic<bool> over = false;
  std::atomic<int> rounds = 0;
  std::jthread busy([&] {
    Caller here(url());
    for (; !over; ++rounds) {
      ASSERT_EQ(here.acquire("mine", "eve").verdict, Verdict::granted);
      ASSERT_EQ(here.renew("mine", "eve", no_token, 2h).verdict, Verdict::granted);
      ASSERT_EQ(here.release("mine", "eve").verdict, Verdict::released);
    }
  });
  std::vector<std::jthread> many;
  for (int i = 0; i < 4; ++i) {
    many.emplace_back([&] {
      ASSERT_TRUE(await([&] { return rounds > 2; }));
      const auto made = admin()->init(soon());
      EXPECT_TRUE(made) << made.error().detail;
    });
  }
  many.clear();
  const int then = rounds;
  EXPECT_TRUE(await([&] { return rounds > then + 2; }));
  over = true;
  busy.join();
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
  EXPECT_THAT(shown(), ElementsAre("endless", "expired", "held", "job", "waited"));
}

// It changes the end alone.
TEST_F(MigrationOfMongo, a_ttl_that_a_process_of_before_has_outlived_is_not_believed) {
  Caller here(url());
  here.acquire("k", "eve", 1h);
  EXPECT_EQ(here.row("k").ttl, Millis(1h));
  mongo(R"({"update": "locks", "updates": [{"q": {"_id": "k"},
            "u": [{"$set": {"expires_at": {"$add": ["$$NOW", 10800000]}}}]}]})");
  EXPECT_EQ(here.row("k").ttl, std::nullopt);
  here.renew("k", "eve", no_token, 4h);
  EXPECT_EQ(here.row("k").ttl, Millis(4h));
}

}  // namespace
}  // namespace holdfast::test
