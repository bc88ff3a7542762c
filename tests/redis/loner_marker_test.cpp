// SPDX-License-Identifier: Apache-2.0
// Jobs beside Ruby processes with active_job_lock: each side sees what the other has queued and what runs.
#include "tests/redis/ruby.h"
#include "tests/redis/suite.h"
#include "tests/support/worker.h"

namespace holdfast::test {
namespace {

class LonerMarker : public RedisTest {
 protected:
  Ruby ruby_{server_, "lock:Job:1"};
  Worker worker_{server_.url() + "?layout=active_job_lock"};
};

TEST_F(LonerMarker, a_loner_that_ruby_has_queued_is_not_enqueued) {
  ASSERT_TRUE(ruby_.acquire_loner());
  const EnqueueReply told = worker_.loner("lock:Job:1");
  EXPECT_EQ(told.what, EnqueueOutcome::locked);
  EXPECT_EQ(told.owner, stranger);
  EXPECT_EQ(worker_.enqueue("lock:Job:1").what, EnqueueOutcome::enqueued)
      << "one that is no loner minds nothing";
  EXPECT_EQ(ruby_.marker(), "true");
  ruby_.release_loner();
  EXPECT_EQ(worker_.loner("lock:Job:1").what, EnqueueOutcome::enqueued);
}

TEST_F(LonerMarker, a_marker_of_rubys_with_a_timeout_counts_until_then) {
  ASSERT_TRUE(ruby_.acquire_loner(60));
  EXPECT_EQ(worker_.loner("lock:Job:1").what, EnqueueOutcome::locked);
  redis({"SET", "loner:lock:Job:1", std::to_string(ruby_.now() - 1)});
  EXPECT_EQ(worker_.loner("lock:Job:1").what, EnqueueOutcome::enqueued);
  EXPECT_EQ(ruby_.marker(), "true") << "ours by now";
}

TEST_F(LonerMarker, a_loner_that_ruby_runs_is_not_enqueued) {
  ASSERT_TRUE(ruby_.acquire(60));
  const EnqueueReply told = worker_.loner("lock:Job:1");
  EXPECT_EQ(told.what, EnqueueOutcome::locked);
  EXPECT_EQ(told.owner, stranger);
  EXPECT_EQ(ruby_.marker(), "(nil)");
}

TEST_F(LonerMarker, a_loner_of_ours_is_queued_for_ruby_until_it_runs_and_then_it_is_locked) {
  worker_.loner("lock:Job:1");
  EXPECT_EQ(ruby_.marker(), "true");
  EXPECT_TRUE(ruby_.enqueued());
  EXPECT_FALSE(ruby_.acquire_loner());
  EXPECT_FALSE(ruby_.locked());
  const Claimed claimed = worker_.claim("w");
  EXPECT_EQ(ruby_.marker(), "(nil)");
  EXPECT_TRUE(ruby_.locked());
  worker_.finish(claimed);
  EXPECT_FALSE(ruby_.locked());
  EXPECT_TRUE(ruby_.acquire_loner());
}

TEST_F(LonerMarker, one_with_a_timeout_of_its_lock_is_marked_so_long) {
  const EnqueueReply told = worker_.loner("lock:Job:1", {.lock_ttl = 90s, .lock_fixed = true});
  const auto second = std::chrono::floor<std::chrono::seconds>(told.now.time_since_epoch()).count();
  EXPECT_EQ(ruby_.marker(), std::to_string(second + 90));
  EXPECT_FALSE(ruby_.acquire_loner(60));
  worker_.claim("w");
  EXPECT_EQ(ruby_.marker(), "(nil)");
}

TEST_F(LonerMarker, a_job_that_is_no_loner_is_not_marked) {
  worker_.enqueue("lock:Job:1");
  EXPECT_EQ(ruby_.marker(), "(nil)");
}

TEST_F(LonerMarker, without_the_layout_there_is_no_marker_and_none_counts) {
  Worker own(server_.url());
  ASSERT_TRUE(ruby_.acquire_loner());
  EXPECT_EQ(own.loner("lock:Job:1").what, EnqueueOutcome::enqueued);
  ruby_.release_loner();
  EXPECT_EQ(own.loner("lock:Job:2").what, EnqueueOutcome::enqueued);
  EXPECT_EQ(redis({"EXISTS", "loner:lock:Job:2"}), "0");
}

TEST_F(LonerMarker, it_goes_when_the_job_is_dropped_cancelled_or_removed) {
  worker_.loner("lock:Job:1");
  ASSERT_TRUE(ruby_.acquire(60));
  const Claimed dropped = worker_.claim("w");
  EXPECT_EQ(dropped.what, Got::dropped);
  EXPECT_EQ(dropped.blocker, stranger);
  EXPECT_EQ(ruby_.marker(), "(nil)");
  ruby_.release();
  for (const JobChange what : {JobChange::cancel, JobChange::remove}) {
    const JobId id = worker_.loner("lock:Job:1").id;
    EXPECT_EQ(ruby_.marker(), "true");
    EXPECT_TRUE(worker_.change(id, what));
    EXPECT_EQ(ruby_.marker(), "(nil)");
  }
}

TEST_F(LonerMarker, it_goes_when_the_job_dies_because_its_unique_is_damaged) {
  worker_.loner("lock:Job:1");
  redis({"HSET", "holdfast:jobs:job:1", "unique", "often"});
  EXPECT_EQ(worker_.claim("w").what, Got::nothing);
  EXPECT_EQ(worker_.row(JobId{1}).state, JobState::dead);
  EXPECT_EQ(ruby_.marker(), "(nil)");
}

TEST_F(LonerMarker, one_that_is_to_be_tried_again_is_marked_again) {
  worker_.loner("lock:Job:1");
  const Claimed claimed = worker_.claim("w");
  worker_.finish(claimed, JobState::queued, {.in = 1h, .error = "x"});
  EXPECT_EQ(ruby_.marker(), "true");
  EXPECT_TRUE(worker_.change(claimed.job.id, JobChange::cancel));
  EXPECT_TRUE(worker_.change(claimed.job.id, JobChange::retry));
  EXPECT_EQ(ruby_.marker(), "true");
}

TEST_F(LonerMarker, one_that_ruby_has_put_in_the_place_of_ours_is_left_alone) {
  worker_.loner("lock:Job:1", {.lock_ttl = 1s, .lock_fixed = true});
  ASSERT_TRUE(await([&] { return ruby_.acquire_loner(60); })) << "a second and a half later";
  const std::string theirs = ruby_.marker();
  worker_.claim("w");
  EXPECT_EQ(ruby_.marker(), theirs);
}

TEST_F(LonerMarker, a_marker_left_by_a_job_that_is_gone_blocks_only_ruby) {
  worker_.loner("lock:Job:1");
  redis({"DEL", "holdfast:jobs:job:1"});  // as an eviction would
  EXPECT_TRUE(ruby_.enqueued());
  EXPECT_EQ(worker_.loner("lock:Job:1").what, EnqueueOutcome::enqueued);
  EXPECT_EQ(ruby_.marker(), "true");
  worker_.claim("w");
  EXPECT_EQ(ruby_.marker(), "(nil)");
}

TEST_F(LonerMarker, a_job_that_waits_runs_when_ruby_lets_go) {
  ASSERT_TRUE(ruby_.acquire());
  worker_.enqueue("lock:Job:1", {.on_conflict = OnConflict::wait});
  EXPECT_EQ(worker_.claim("w").what, Got::nothing);
  ruby_.release();
  ASSERT_TRUE(await([&] { return worker_.claim("w").what == Got::running; }));
  EXPECT_FALSE(ruby_.acquire(10));
}

TEST_F(LonerMarker, behind_the_namespace_of_resque_so_is_the_marker) {
  Worker resque(try_store(server_.url() + "?layout=active_job_lock").value()->in("resque").value());
  resque.loner("lock:RJ:1-a");
  EXPECT_EQ(redis({"GET", "resque:loner:lock:RJ:1-a"}), "true");
  resque.claim("w");
  EXPECT_EQ(redis({"EXISTS", "resque:loner:lock:RJ:1-a"}), "0");
  EXPECT_EQ(redis({"EXISTS", "resque:lock:RJ:1-a"}), "1");
}

}  // namespace
}  // namespace holdfast::test
