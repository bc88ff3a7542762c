// SPDX-License-Identifier: Apache-2.0
// Claiming, running and finishing, on every store that keeps jobs.
#include "core/job_rule.h"
#include "tests/engines/suite.h"

namespace holdfast::test {
namespace {

TEST_P(Engine, a_job_is_claimed_with_its_lock_and_finished_once) {
  const JobId id = a_.enqueue("lock:Job:1", {.args = R"(["ä",1])"}).id;
  const Claimed claimed = b_.claim("w1");
  ASSERT_EQ(claimed.what, Got::running);
  EXPECT_EQ(claimed.job.id, id);
  EXPECT_EQ(claimed.job.args, R"(["ä",1])");
  EXPECT_EQ(claimed.job.owner, "w1");
  EXPECT_EQ(claimed.job.lock, "lock:Job:1");
  EXPECT_EQ(claimed.job.attempt, 1);
  EXPECT_GT(to_number(claimed.job.token), 0u);
  EXPECT_GT(claimed.lock_remaining, 29s);
  EXPECT_FALSE(claimed.recovered);

  const Reply busy = lease_.acquire("lock:Job:1", "somebody");
  EXPECT_EQ(busy.verdict, Verdict::busy);
  EXPECT_EQ(busy.owner, "w1");
  EXPECT_EQ(busy.token, claimed.job.token);

  const Finished done = b_.finish(claimed);
  EXPECT_TRUE(done.finished);
  EXPECT_TRUE(done.released);
  EXPECT_EQ(a_.row(id).state, JobState::done);
  EXPECT_TRUE(a_.row(id).finished_at);
  EXPECT_EQ(lease_.acquire("lock:Job:1", "somebody").verdict, Verdict::granted);
  const Finished again = b_.finish(claimed);
  EXPECT_FALSE(again.finished);
  EXPECT_FALSE(again.released);
  EXPECT_EQ(a_.claim("w2").what, Got::nothing);
}

TEST_P(Engine, a_token_of_a_lock_rises_from_job_to_job) {
  a_.enqueue("k"), a_.enqueue("k");
  const Claimed first = a_.claim("w1");
  a_.finish(first);
  EXPECT_GT(b_.claim("w2").job.token, first.job.token);
}

TEST_P(Engine, the_smallest_priority_comes_first_then_the_earliest_then_the_first_enqueued) {
  const JobId late = a_.enqueue("late", {.priority = 5}).id;
  const JobId second = a_.enqueue("second").id;
  const JobId third = a_.enqueue("third").id;
  const JobId first = a_.enqueue("first", {.at = Moment(1us)}).id;
  const JobId urgent = a_.enqueue("urgent", {.priority = -1}).id;
  for (const JobId id : {urgent, first, second, third, late})
    EXPECT_EQ(to_number(b_.claim("w" + std::to_string(to_number(id))).job.id), to_number(id));
}

TEST_P(Engine, a_job_of_another_queue_is_not_claimed) {
  a_.enqueue("k", {.queue = "other"});
  EXPECT_EQ(a_.claim("w1").what, Got::nothing);
  EXPECT_EQ(a_.claim("w1", 1h, {"default", "other"}).what, Got::running);
}

TEST_P(Engine, a_job_is_not_claimed_before_its_time) {
  const JobId id = a_.enqueue("k", {.in = 1h}).id;
  const Claimed none = a_.claim("w1");
  EXPECT_EQ(none.what, Got::nothing);
  EXPECT_EQ(none.next, 1min);
  EXPECT_GT(a_.row(id).run_at, a_.row(id).enqueued_at + 59min);
  const JobId soon = a_.enqueue("soon", {.in = 20ms}).id;
  Claimed claimed;
  ASSERT_TRUE(await([&] {
    claimed = a_.claim("w1");
    EXPECT_TRUE(claimed.what == Got::running || claimed.next <= 20ms);
    return claimed.what == Got::running;
  }));
  EXPECT_EQ(claimed.job.id, soon);
}

TEST_P(Engine, a_job_whose_lock_is_held_is_dropped_and_says_by_whom) {
  lease_.acquire("k", "operator");
  const JobId id = a_.enqueue("k").id;
  const Claimed claimed = a_.claim("w1");
  EXPECT_EQ(claimed.what, Got::dropped);
  EXPECT_EQ(claimed.job.id, id);
  EXPECT_EQ(claimed.blocker, "operator");
  EXPECT_EQ(a_.row(id).state, JobState::dropped);
  EXPECT_EQ(a_.row(id).error, "operator");
  EXPECT_EQ(a_.row(id).attempt, 0);
  EXPECT_EQ(a_.claim("w1").what, Got::nothing);
}

TEST_P(Engine, a_claim_that_meets_only_jobs_whose_lock_is_held_tells_the_time_of_the_store) {
  lease_.acquire("k", "operator");
  const Moment enqueued_at = a_.enqueue("k", {.on_conflict = OnConflict::wait}).now;
  for (int i = 0; i < core::parked_per_claim; ++i) a_.enqueue("k", {.on_conflict = OnConflict::wait});
  const Claimed none = a_.claim("w1");
  EXPECT_EQ(none.what, Got::nothing);
  EXPECT_GE(none.now, enqueued_at);
}

TEST_P(Engine, a_claim_respects_those_who_wait_for_the_lock) {
  lease_.acquire("k", "operator");
  Caller waiter(*database_);
  waiter.acquire("k", "waiter", 1h, 1h);
  lease_.release("k", "operator");
  a_.enqueue("k");
  EXPECT_EQ(a_.claim("w1").what, Got::dropped);
  EXPECT_EQ(waiter.acquire("k", "waiter").verdict, Verdict::granted);
}

TEST_P(Engine, a_job_that_raises_is_claimed_without_its_lock) {
  lease_.acquire("k", "operator");
  const JobId id = a_.enqueue("k", {.on_conflict = OnConflict::raise}).id;
  const Claimed claimed = a_.claim("w1");
  EXPECT_EQ(claimed.what, Got::raised);
  EXPECT_EQ(claimed.blocker, "operator");
  EXPECT_EQ(claimed.job.lock, "");
  EXPECT_EQ(a_.row(id).state, JobState::running);
  EXPECT_TRUE(a_.finish(claimed, JobState::dead, {.error = "busy"}).finished);
  EXPECT_EQ(lease_.renew("k", "operator").verdict, Verdict::granted);
}

TEST_P(Engine, a_worker_may_drop_what_it_could_not_lock) {
  const JobId id = a_.loner("k", {.on_conflict = OnConflict::raise}).id;
  lease_.acquire("k", "operator");
  EXPECT_TRUE(a_.finish(a_.claim("w1"), JobState::dropped, {.error = "operator"}).finished);
  const JobRow row = a_.row(id);
  EXPECT_EQ(row.state, JobState::dropped);
  EXPECT_EQ(row.error, "operator");
  EXPECT_EQ(row.attempt, 0);
  EXPECT_TRUE(row.trail.empty());
  EXPECT_FALSE(row.slotted);
}

TEST_P(Engine, a_job_that_waits_lets_others_go_first_and_is_due_when_a_job_frees_its_lock) {
  const NewJob waits{.on_conflict = OnConflict::wait};
  const JobId one = a_.enqueue("k", waits).id;
  const JobId two = a_.enqueue("k", waits).id;
  const JobId three = a_.enqueue("k", waits).id;
  const JobId other = a_.enqueue("other").id;
  const Claimed first = a_.claim("w1");
  EXPECT_EQ(first.job.id, one);
  EXPECT_EQ(b_.claim("w2").job.id, other);
  EXPECT_EQ(b_.claim("w2").what, Got::nothing);
  EXPECT_TRUE(a_.row(two).parked);
  EXPECT_TRUE(a_.row(three).parked);
  a_.finish(first);
  const Claimed second = b_.claim("w2");
  EXPECT_EQ(second.job.id, two);
  EXPECT_FALSE(a_.row(two).parked);
  EXPECT_EQ(a_.claim("w3").what, Got::nothing);
  b_.finish(second);
  EXPECT_EQ(a_.claim("w3").job.id, three);
}

TEST_P(Engine, a_job_that_waits_for_a_lease_that_is_no_jobs_sees_it_end) {
  lease_.acquire("k", "operator");
  const JobId id = a_.enqueue("k", {.on_conflict = OnConflict::wait}).id;
  const Claimed none = a_.claim("w1");
  EXPECT_EQ(none.what, Got::nothing);
  EXPECT_LE(none.next, 1s);
  EXPECT_GT(none.next, 0ms);
  lease_.release("k", "operator");
  Claimed claimed;
  ASSERT_TRUE(await([&] { return (claimed = a_.claim("w1")).what == Got::running; }));
  EXPECT_EQ(claimed.job.id, id);
}

TEST_P(Engine, a_parked_job_that_is_cancelled_leaves_its_turn_to_the_next) {
  const NewJob waits{.on_conflict = OnConflict::wait};
  lease_.acquire("k", "operator");
  const JobId one = a_.enqueue("k", waits).id;
  const JobId two = a_.enqueue("k", waits).id;
  a_.claim("w1");
  EXPECT_TRUE(a_.row(two).parked);
  lease_.release("k", "operator");
  EXPECT_TRUE(a_.change(one, JobChange::cancel).has_value());
  EXPECT_EQ(a_.claim("w1").job.id, two);
}

TEST_P(Engine, when_the_first_parked_job_has_started_the_next_checks_the_lock) {
  const NewJob timed{.lock_ttl = 1500ms, .lock_fixed = true, .on_conflict = OnConflict::wait};
  lease_.acquire("k", "operator");
  const JobId one = a_.enqueue("k", timed).id;
  const JobId two = a_.enqueue("k", timed).id;
  const JobId three = a_.enqueue("k", timed).id;
  a_.claim("w1");
  lease_.release("k", "operator");
  // None of them ends; each lock does, after its time.
  for (const JobId id : {one, two, three}) {
    Claimed claimed;
    ASSERT_TRUE(await(
        [&] { return (claimed = a_.claim("w" + std::to_string(to_number(id)))).what == Got::running; }));
    EXPECT_EQ(claimed.job.id, id);
  }
}

TEST_P(Engine, when_a_running_job_is_cancelled_the_next_parked_job_checks_the_lock) {
  const NewJob timed{.lock_ttl = 3s, .lock_fixed = true, .on_conflict = OnConflict::wait};
  const JobId one = a_.enqueue("k", timed).id;
  a_.enqueue("k", timed);
  const JobId three = a_.enqueue("k", timed).id;
  a_.claim("w1");  // whose worker is not heard of again
  a_.claim("w2");
  ASSERT_TRUE(a_.row(three).parked);
  ASSERT_TRUE(a_.change(one, JobChange::cancel).has_value());
  EXPECT_TRUE(await([&] { return a_.claim("w2").what == Got::running; }));
  EXPECT_TRUE(await([&] { return a_.claim("w3").what == Got::running; }));
}

TEST_P(Engine, a_parked_job_that_is_replaced_to_a_later_time_blocks_nobody) {
  NewJob replaced{.priority = -1, .on_conflict = OnConflict::replace, .unique = Unique::until_start};
  const NewJob waits{.on_conflict = OnConflict::wait};
  a_.enqueue("k", waits);
  const Claimed first = a_.claim("w1");
  const JobId one = a_.enqueue("k", replaced).id;
  const JobId two = a_.enqueue("k", waits).id;
  a_.claim("w2");
  ASSERT_TRUE(a_.row(one).parked);
  replaced.in = 1h;
  ASSERT_EQ(a_.enqueue("k", replaced).what, EnqueueOutcome::replaced);
  a_.finish(first);
  EXPECT_EQ(a_.claim("w2").job.id, two);
}

TEST_P(Engine, as_many_run_at_once_as_the_limit_says) {
  const NewJob three{.limit = 3};
  for (int i = 0; i < 5; ++i) a_.enqueue("k", three);
  const Claimed one = a_.claim("w1"), two = a_.claim("w2"), last = a_.claim("w3");
  EXPECT_EQ(one.job.lock, "k#1");
  EXPECT_EQ(two.job.lock, "k#2");
  EXPECT_EQ(last.job.lock, "k#3");
  EXPECT_EQ(a_.claim("w4").what, Got::dropped);
  a_.finish(two);
  EXPECT_EQ(a_.claim("w5").job.lock, "k#2");
}

TEST_P(Engine, a_job_without_a_lock_needs_none) {
  const NewJob free{.limit = 0};
  a_.enqueue("k", free), a_.enqueue("k", free);
  const Claimed one = a_.claim("w1"), two = a_.claim("w2");
  EXPECT_EQ(one.what, Got::running);
  EXPECT_EQ(two.what, Got::running);
  EXPECT_EQ(one.job.lock, "");
  EXPECT_EQ(lease_.acquire("k", "x").verdict, Verdict::granted);
  EXPECT_TRUE(a_.finish(one).finished);
}

TEST_P(Engine, a_claim_is_renewed_by_its_holder_only) {
  const JobId id = a_.enqueue("k").id;
  a_.claim("w1", 1min);
  EXPECT_FALSE(b_.renew(id, "w2"));
  EXPECT_LE(a_.row(id).claim_remaining, 1min);
  EXPECT_TRUE(b_.renew(id, "w1", 1h));
  EXPECT_GT(a_.row(id).claim_remaining, 59min);
  EXPECT_TRUE(b_.renew(id, "w1", 1min));
  EXPECT_GT(a_.row(id).claim_remaining, 59min);
  EXPECT_FALSE(b_.renew(JobId{to_number(id) + 1000}, "w1"));
}

TEST_P(Engine, a_claim_that_ran_out_is_claimed_again_with_the_lock_and_the_late_one_finishes_nothing) {
  const JobId id = a_.enqueue("k", {.lock_ttl = 1h, .lock_fixed = true}).id;
  const Claimed first = a_.claim_and_let_expire("w1");
  a_.enqueue("other");
  const Claimed second = b_.claim("w2");
  ASSERT_EQ(second.what, Got::running);
  EXPECT_EQ(second.job.id, id);
  EXPECT_TRUE(second.recovered);
  EXPECT_EQ(second.job.attempt, 2);
  EXPECT_EQ(second.job.crashes, 1);
  EXPECT_GT(second.job.token, first.job.token);
  EXPECT_NE(trail_text(second.job).find("crashed w1"), std::string::npos);
  EXPECT_FALSE(a_.renew(id, "w1"));
  const Finished late = a_.finish(first);
  EXPECT_FALSE(late.finished);
  EXPECT_FALSE(late.released);
  EXPECT_EQ(lease_.acquire("k", "x").owner, "w2");
  EXPECT_TRUE(b_.finish(second).released);
}

TEST_P(Engine, a_claim_that_ran_out_and_that_nobody_took_is_still_finished_and_renewed) {
  const JobId id = a_.enqueue("k").id;
  const Claimed claimed = a_.claim_and_let_expire("w1");
  EXPECT_TRUE(a_.renew(id, "w1", 2ms));
  let_pass(4ms);
  EXPECT_TRUE(a_.finish(claimed).finished);
}

TEST_P(Engine, a_lock_that_ended_before_its_job_is_not_released) {
  a_.enqueue("k", {.lock_ttl = 20ms, .lock_fixed = true});
  const Claimed first = a_.claim("w1");
  ASSERT_TRUE(await([&] { return lease_.acquire("k", "next").verdict == Verdict::granted; }));
  const Finished finished = a_.finish(first);
  EXPECT_TRUE(finished.finished);
  EXPECT_FALSE(finished.released);
  EXPECT_EQ(lease_.renew("k", "next").verdict, Verdict::granted);
}

TEST_P(Engine, a_job_that_was_started_is_never_dropped_for_its_lock) {
  const JobId id = a_.enqueue("k", {.lock_ttl = 20ms, .lock_fixed = true}).id;
  a_.claim_and_let_expire("w1");
  ASSERT_TRUE(await([&] { return lease_.acquire("k", "next").verdict == Verdict::granted; }));
  EXPECT_EQ(a_.claim("w2").what, Got::nothing);
  EXPECT_EQ(a_.row(id).state, JobState::queued);
  EXPECT_TRUE(a_.row(id).parked);
  lease_.release("k", "next");
  Claimed claimed;
  ASSERT_TRUE(await([&] { return (claimed = a_.claim("w2")).what == Got::running; }));
  EXPECT_EQ(claimed.job.id, id);
}

TEST_P(Engine, a_job_that_took_three_workers_with_it_is_dead) {
  const JobId id = a_.loner("k").id;
  EXPECT_EQ(a_.claim_and_let_expire("w1").what, Got::running);
  EXPECT_EQ(a_.claim_and_let_expire("w2").what, Got::running);
  EXPECT_EQ(a_.claim_and_let_expire("w3").what, Got::running);
  const Claimed last = a_.claim("w4");
  EXPECT_EQ(last.what, Got::poisoned);
  EXPECT_EQ(last.job.id, id);
  EXPECT_EQ(a_.row(id).state, JobState::dead);
  EXPECT_EQ(lease_.acquire("k", "x").verdict, Verdict::granted);
  lease_.release("k", "x");
  EXPECT_EQ(a_.loner("k").what, EnqueueOutcome::enqueued);
}

TEST_P(Engine, a_job_that_failed_is_queued_again_and_one_that_is_handed_back_has_not_been_tried) {
  const JobId id = a_.enqueue("k").id;
  a_.finish(a_.claim("w1"), JobState::queued, {.error = "no paper\nat all"});
  JobRow row = a_.row(id);
  EXPECT_EQ(row.state, JobState::queued);
  EXPECT_EQ(row.attempt, 1);
  EXPECT_EQ(row.error, "no paper\nat all");
  ASSERT_EQ(row.trail.size(), 1u);
  EXPECT_EQ(row.trail[0].event, "failed");
  EXPECT_EQ(row.trail[0].detail, "no paper at all");
  EXPECT_GE(row.trail[0].at, row.enqueued_at);
  EXPECT_EQ(lease_.acquire("k", "x").verdict, Verdict::granted);
  lease_.release("k", "x");
  const Claimed again = a_.claim("w2");
  EXPECT_EQ(again.job.attempt, 2);
  a_.finish(again, JobState::queued, {.in = 1h, .counts = false});
  row = a_.row(id);
  EXPECT_EQ(row.attempt, 1);
  EXPECT_GT(row.due_at, row.enqueued_at + 59min);
  EXPECT_EQ(a_.claim("w3").what, Got::nothing);
}

TEST_P(Engine, a_job_that_was_handed_back_is_not_dropped_for_its_lock) {
  const JobId id = a_.enqueue("k").id;
  a_.finish(a_.claim("w1"), JobState::queued, {.counts = false});
  lease_.acquire("k", "operator");
  EXPECT_EQ(a_.claim("w2").what, Got::nothing);
  EXPECT_TRUE(a_.row(id).parked);
}

TEST_P(Engine, a_job_that_is_retried_while_its_cancelled_run_has_the_lock_waits_for_it) {
  const JobId id = a_.enqueue("k").id;
  const Claimed first = a_.claim("w1");
  ASSERT_TRUE(a_.change(id, JobChange::cancel).has_value());
  ASSERT_TRUE(a_.change(id, JobChange::retry).has_value());
  EXPECT_EQ(a_.claim("w2").what, Got::nothing);
  EXPECT_TRUE(a_.finish(first).released);
  EXPECT_EQ(a_.claim("w2").job.id, id);
}

TEST_P(Engine, a_running_job_that_is_cancelled_is_its_workers_no_more) {
  const JobId id = a_.loner("k").id;
  const Claimed claimed = a_.claim("w1");
  EXPECT_EQ(b_.change(id, JobChange::cancel).value().state, JobState::cancelled);
  EXPECT_FALSE(a_.renew(id, "w1"));
  EXPECT_EQ(lease_.acquire("k", "x").verdict, Verdict::busy);  // until its worker lets go
  const Finished finished = a_.finish(claimed);
  EXPECT_FALSE(finished.finished);
  EXPECT_TRUE(finished.released);
  EXPECT_EQ(a_.row(id).state, JobState::cancelled);
  EXPECT_EQ(a_.loner("k").what, EnqueueOutcome::enqueued);
}

// As a dead waiter's place looks once the store's clock has been set back by an hour.
TEST_P(Engine, a_place_written_before_the_clock_was_set_back_keeps_no_job_from_its_lock) {
  Caller dead(*database_);
  lease_.acquire("k", "ann");
  EXPECT_EQ(dead.acquire("k", "bob", 1h, 1h + 1min).verdict, Verdict::busy);
  lease_.release("k", "ann");
  const JobId id = a_.enqueue("k", {.on_conflict = OnConflict::wait}).id;
  EXPECT_EQ(a_.claim("w1").what, Got::nothing) << "the waiter comes first";
  EXPECT_TRUE(a_.row(id).parked);
  const JobId next = a_.enqueue("k", {.priority = -1, .on_conflict = OnConflict::wait}).id;
  const Claimed claimed = a_.claim("w2", 1h, {"default"}, 3s);
  EXPECT_EQ(claimed.what, Got::running);
  EXPECT_EQ(claimed.job.id, next);
}

HOLDFAST_ON_STORES(Engine, job_kinds());

}  // namespace
}  // namespace holdfast::test
