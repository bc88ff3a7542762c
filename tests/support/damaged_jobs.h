// SPDX-License-Identifier: Apache-2.0
// damaged_jobs.h - what every store makes of a job in which somebody has changed a field by hand.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/support/await.h"
#include "tests/support/caller.h"
#include "tests/support/worker.h"

namespace holdfast::test {

// Changes a field of a job to what means nothing.
using Damage = std::function<void(JobId)>;

// REQUIRES: the worker's store has no other job that is due, and none of this field and `value`.
inline void expect_it_dies_and_harms_no_other(Worker& worker, const std::string& field, const Damage& damage,
                                              const std::string& value = "") {
  SCOPED_TRACE(field + " " + value);
  const std::string key = "damaged " + field + value;
  const NewJob waits{.lock_ttl = 1h, .on_conflict = OnConflict::wait};
  const auto next = [&](const std::string& owner) {
    const auto claimed = worker.try_claim(owner, 1h, BootClock::now() + 5s);
    EXPECT_TRUE(claimed) << claimed.error().detail;
    return claimed ? claimed->job.id : no_job;
  };
  const auto expect_dead = [&](JobId id) {
    const JobRow row = worker.row(id);
    EXPECT_EQ(row.state, JobState::dead);
    EXPECT_TRUE(row.finished_at);
    EXPECT_FALSE(row.parked);
    EXPECT_EQ(row.lock, "");
    EXPECT_TRUE(mentions(row.error, "field " + field)) << row.error;
    EXPECT_TRUE(mentions(row.error, "repair")) << row.error;
    ASSERT_FALSE(row.trail.empty());
    EXPECT_EQ(row.trail.back().event, "failed");
  };

  const JobId queued = worker.enqueue(key, {.priority = 1}).id, good = worker.enqueue("good").id;
  damage(queued);
  EXPECT_EQ(worker.list({.key = key}).size(), 1u);
  EXPECT_TRUE(mentions(worker.row(queued).error, field)) << "also before anybody claims it";
  EXPECT_EQ(next("w1"), good);
  EXPECT_EQ(worker.claim("w2").what, Got::nothing);
  expect_dead(queued);

  // Its worker died: the lease of an hour is given back.
  const JobId expired = worker.enqueue(key, waits).id;
  ASSERT_EQ(worker.claim_and_let_expire("w1").job.id, expired);
  const JobId second = worker.enqueue(key, waits).id, third = worker.enqueue(key, waits).id,
              fourth = worker.enqueue(key, waits).id;
  damage(expired);
  EXPECT_EQ(next("w2"), second);
  expect_dead(expired);

  // It waits for its lock: who waits behind it goes on.
  EXPECT_EQ(worker.claim("w3").what, Got::nothing);
  ASSERT_TRUE(worker.row(third).parked);
  damage(third);
  damage(second);  // and its worker does not notice
  EXPECT_TRUE(worker.renew(second, "w2"));
  const JobRow running = worker.row(second);
  EXPECT_EQ(running.state, JobState::running);
  EXPECT_TRUE(worker.finish({.job = running}).finished);
  EXPECT_EQ(worker.row(second).state, JobState::done);
  EXPECT_EQ(next("w4"), fourth);
  expect_dead(third);

  EXPECT_TRUE(worker.change(third, JobChange::retry));
  EXPECT_EQ(worker.claim("w5").what, Got::nothing) << "nobody has repaired it";
  expect_dead(third);
  EXPECT_TRUE(worker.change(third, JobChange::remove));
  EXPECT_TRUE(worker.change(queued, JobChange::cancel));
  worker.change(fourth, JobChange::cancel).value();
}

// A state that nobody knows is a dead one.
inline void expect_a_state_can_be_repaired(Worker& worker, const Damage& damage) {
  const JobId bad = worker.enqueue("lost").id, good = worker.enqueue("good").id;
  damage(bad);
  EXPECT_EQ(worker.list({.key = "lost"}).size(), 1u);
  EXPECT_EQ(worker.row(bad).state, JobState::dead);
  EXPECT_TRUE(mentions(worker.row(bad).error, "field state")) << worker.row(bad).error;
  EXPECT_EQ(worker.claim("w1").job.id, good);
  EXPECT_EQ(worker.claim("w1").what, Got::nothing);
  const auto retried = worker.change(bad, JobChange::retry);
  ASSERT_TRUE(retried) << retried.error().detail;
  EXPECT_EQ(worker.claim("w2").job.id, bad);
  EXPECT_EQ(worker.row(bad).error, "");
}

// Its state counts as what is damaged: it is final, and nothing is forgotten of such a job.  What else is
// damaged is found when it is to run again.
//
// REQUIRES: the worker's store has no other job.  `both` damages the state and `field`, `mend` repairs
// `field` of a job without a lock.
inline void expect_a_job_with_two_damaged_fields_is_not_forgotten(Worker& worker, const std::string& field,
                                                                  const Damage& both, const Damage& mend) {
  for (const bool claimed : {false, true}) {
    SCOPED_TRACE(claimed ? "it was claimed" : "it was queued");
    const JobId bad = worker.enqueue("two " + field, {.limit = 0}).id;
    if (claimed) {
      ASSERT_EQ(worker.claim_and_let_expire("w0").job.id, bad);
    }
    both(bad);
    const JobId good = worker.enqueue("good").id;
    EXPECT_EQ(worker.row(bad).state, JobState::dead);
    EXPECT_TRUE(mentions(worker.row(bad).error, "field state")) << worker.row(bad).error;
    const Claimed next = worker.claim("w1");
    EXPECT_EQ(next.job.id, good);
    worker.finish(next);
    EXPECT_EQ(worker.claim("w1").what, Got::nothing);
    ASSERT_TRUE(!worker.list({.id = bad}).empty());

    worker.change(bad, JobChange::retry).value();
    EXPECT_EQ(worker.claim("w2").what, Got::nothing);
    EXPECT_EQ(worker.list({.state = JobState::dead}).size(), 1u);
    EXPECT_TRUE(mentions(worker.row(bad).error, "field " + field)) << worker.row(bad).error;
    mend(bad);
    worker.change(bad, JobChange::retry).value();
    const Claimed again = worker.claim("w3");
    EXPECT_EQ(again.job.id, bad);
    EXPECT_TRUE(worker.finish(again).finished);
  }
}

}  // namespace holdfast::test
