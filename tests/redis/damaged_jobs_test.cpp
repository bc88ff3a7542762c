// SPDX-License-Identifier: Apache-2.0
// Jobs in which somebody has changed a field by hand, to what means nothing or to what means something else.
#include "tests/support/damaged_jobs.h"

#include <array>

#include "tests/redis/suite.h"

namespace holdfast::test {
namespace {

class DamagedJobsOfRedis : public RedisTest {
 protected:
  static std::string hash_of(JobId id) { return "holdfast:jobs:job:" + std::to_string(to_number(id)); }
  void set(JobId id, const std::string& field, const std::string& value) {
    redis({"HSET", hash_of(id), field, value});
  }
  void remove(JobId id, const std::string& field) { redis({"HDEL", hash_of(id), field}); }
};

TEST_F(DamagedJobsOfRedis, a_damaged_job_dies_and_harms_no_other_of_its_queue) {
  Worker worker(server_.url());
  const auto to = [&](const char* field, const char* value) {
    return [this, field, value](JobId id) { set(id, field, value); };
  };
  expect_it_dies_and_harms_no_other(worker, "on_conflict", to("on_conflict", "hope"));
  expect_it_dies_and_harms_no_other(worker, "unique", to("unique", "often"));
  expect_it_dies_and_harms_no_other(worker, "on_conflict", to("on_conflict", "drop wait"), "two words");
  expect_it_dies_and_harms_no_other(worker, "limit", to("limit", "one"));
  for (const char* limit : {"1001", "-1", "2000000000", "4294967297"})
    expect_it_dies_and_harms_no_other(worker, "limit", to("limit", limit), limit);
  expect_it_dies_and_harms_no_other(worker, "duplicates", to("duplicates", "1.5"));
  expect_it_dies_and_harms_no_other(worker, "lock_ttl", to("lock_ttl", ""));
  const char* too_long = "99999999999999999999";
  expect_it_dies_and_harms_no_other(worker, "max_attempts", to("max_attempts", too_long));
  expect_it_dies_and_harms_no_other(worker, "priority", to("priority", "2147483648"));
  expect_a_state_can_be_repaired(worker, to("state", "lost"));
}

TEST_F(DamagedJobsOfRedis, a_job_with_a_damaged_state_and_another_damaged_field_is_not_forgotten) {
  for (const auto& [field, bad, good] : std::vector<std::array<std::string, 3>>{
           {"limit", "-1", "0"}, {"on_conflict", "hope", "drop"}, {"lock_ttl", "", "30000"}}) {
    redis({"FLUSHALL"});
    Worker worker(server_.url());
    expect_a_job_with_two_damaged_fields_is_not_forgotten(
        worker, field,
        [&](JobId id) {
          set(id, "state", "lost");
          set(id, field, bad);
        },
        [&](JobId id) { set(id, field, good); });
  }
}

TEST_F(DamagedJobsOfRedis, a_job_with_a_lock_ttl_that_no_lease_can_have_dies_and_harms_no_other) {
  for (const char* ttl : {"0", "9223372036854775807"}) {
    redis({"FLUSHALL"});
    Worker worker(server_.url());
    expect_it_dies_and_harms_no_other(worker, "lock_ttl", [&](JobId id) { set(id, "lock_ttl", ttl); });
  }
}

// A parked job is found by its order and its key.
TEST_F(DamagedJobsOfRedis, a_parked_job_with_a_damaged_order_or_key_does_not_stop_those_behind_it) {
  Worker worker(server_.url());
  const NewJob waits{.priority = 1, .on_conflict = OnConflict::wait};
  for (const std::string field : {"run_at", "priority", "key", "due_at"}) {
    SCOPED_TRACE(field);
    worker.enqueue(field, waits);
    const Claimed running = worker.claim("w1");
    const JobId bad = worker.enqueue(field, waits).id, behind = worker.enqueue(field, waits).id;
    EXPECT_EQ(worker.claim("w2").what, Got::nothing);
    ASSERT_TRUE(worker.row(behind).parked);
    remove(bad, field);
    worker.finish(running);
    const Claimed next = worker.claim("w2");
    EXPECT_EQ(next.job.id, behind);
    EXPECT_EQ(worker.row(bad).state, JobState::dead);
    EXPECT_TRUE(mentions(worker.row(bad).error, "field " + field)) << worker.row(bad).error;
    worker.finish(next);
  }
}

TEST_F(DamagedJobsOfRedis, a_running_job_without_a_holder_dies_when_its_claim_runs_out) {
  Worker worker(server_.url());
  for (const std::string field : {"holder", "claim_until"}) {
    const JobId bad = worker.enqueue(field).id, good = worker.enqueue("good " + field).id;
    ASSERT_EQ(worker.claim_and_let_expire("w1").job.id, bad);
    remove(bad, field);
    const auto claimed = worker.try_claim("w2");
    ASSERT_TRUE(claimed) << claimed.error().detail;
    EXPECT_EQ(claimed->job.id, good);
    EXPECT_EQ(worker.row(bad).state, JobState::dead);
    EXPECT_TRUE(mentions(worker.row(bad).error, "field " + field)) << worker.row(bad).error;
  }
}

TEST_F(DamagedJobsOfRedis, a_running_job_without_a_queue_is_renewed_with_the_others) {
  Worker worker(server_.url());
  worker.enqueue("a"), worker.enqueue("b");
  const Claimed a = worker.claim("w"), b = worker.claim("w");
  remove(a.job.id, "queue");
  const ClaimRef both[] = {{a.job.id, {"w"}, 2h}, {b.job.id, {"w"}, 2h}};
  ClaimReply replies[2];
  const Status renewed = worker.engine().renew(both, replies, soon());
  ASSERT_TRUE(renewed) << renewed.error().detail;
  EXPECT_TRUE(replies[0].held);
  EXPECT_TRUE(replies[1].held);
}

TEST_F(DamagedJobsOfRedis, a_queued_job_with_another_priority_or_queue_runs_once_and_there) {
  Worker worker(server_.url());
  const JobId later = worker.enqueue("a").id, elsewhere = worker.enqueue("b").id;
  const JobId first = worker.enqueue("c", {.priority = 3}).id;
  set(later, "priority", "5");
  set(elsewhere, "queue", "other");
  redis({"ZADD", "holdfast:jobs:ready:default", "0", "nonsense"});
  EXPECT_EQ(worker.claim("w1").job.id, first);
  EXPECT_EQ(worker.claim("w2").job.id, later);
  EXPECT_EQ(worker.claim("w3").what, Got::nothing);
  EXPECT_EQ(worker.claim("w4", 1h, {"other"}).job.id, elsewhere);
  EXPECT_EQ(worker.claim("w5", 1h, {"other", "default"}).what, Got::nothing);
}

TEST_F(DamagedJobsOfRedis, a_queued_job_that_is_over_by_hand_is_not_started) {
  Worker worker(server_.url());
  for (const std::string state : {"cancelled", "done", "dropped", "dead"}) {
    const JobId over = worker.enqueue(state).id, good = worker.enqueue("good " + state).id;
    set(over, "state", state);
    EXPECT_EQ(worker.claim("w1").job.id, good);
    EXPECT_EQ(worker.claim("w1").what, Got::nothing) << state;
    EXPECT_EQ(worker.row(over).attempt, 0) << state;
  }
}

TEST_F(DamagedJobsOfRedis, a_running_job_that_is_moved_by_hand_runs_where_it_is_then) {
  Worker worker(server_.url());
  const JobId elsewhere = worker.enqueue("a").id, again = worker.enqueue("", {.limit = 0}).id,
              over = worker.enqueue("b").id;
  for (int i = 0; i < 3; ++i) worker.claim("w" + std::to_string(i), 200ms);
  set(elsewhere, "queue", "other");
  set(again, "state", "queued");
  set(over, "state", "done");
  Claimed claimed;
  ASSERT_TRUE(await([&] { return (claimed = worker.claim("v")).what != Got::nothing; }));
  EXPECT_EQ(claimed.job.id, again);
  EXPECT_EQ(claimed.job.crashes, 0);
  ASSERT_TRUE(await([&] { return worker.claim("v").next > 1s; })) << "nothing is left in the queue";
  const Claimed recovered = worker.claim("u", 1h, {"other"});
  EXPECT_EQ(recovered.job.id, elsewhere);
  EXPECT_TRUE(recovered.recovered);
  EXPECT_EQ(worker.claim("u", 1h, {"other", "default"}).what, Got::nothing);
  EXPECT_EQ(worker.row(over).state, JobState::done);
}

TEST_F(DamagedJobsOfRedis, a_job_that_is_queued_again_by_hand_is_not_purged_and_runs) {
  Worker worker(server_.url());
  const JobId id = worker.enqueue("k").id;
  worker.finish(worker.claim("w1"));
  set(id, "state", "queued");
  worker.engine().purge({.older_than = 0ms}, soon()).value();
  ASSERT_EQ(worker.list({.id = id}).size(), 1u);
  EXPECT_EQ(worker.claim("w2").job.id, id);
}

TEST_F(DamagedJobsOfRedis, a_damaged_job_that_a_duplicate_has_repaired_runs_once) {
  Worker worker(server_.url());
  const JobId id = worker.loner("k", {.priority = 7, .in = 20ms}).id;
  set(id, "priority", "high");
  EXPECT_EQ(worker.loner("k", {.on_conflict = OnConflict::replace}).what, EnqueueOutcome::replaced);
  EXPECT_EQ(worker.claim("w1").job.id, id);
  let_pass(30ms);
  EXPECT_EQ(worker.claim("w2").what, Got::nothing);
  EXPECT_EQ(worker.row(id).owner, "w1");
  EXPECT_EQ(redis({"ZCARD", "holdfast:jobs:ready:default"}), "0");
}

}  // namespace
}  // namespace holdfast::test
