// SPDX-License-Identifier: Apache-2.0
// jobs_suite.h - engines of ours on one set of tables of a real server.
#pragma once
#include <string>
#include <vector>

#include "tests/postgres/suite.h"
#include "tests/support/worker.h"

namespace holdfast::test {

// Enqueue, claim, park, recover, finish, change, ticks and purge, a few times over.
inline void use_all_of_jobs(const std::string& url) {
  Worker a(url), b(url);
  Caller ours(url);
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i), l = "l" + n;
    const JobId first = a.enqueue(job_of("k", {.on_conflict = OnConflict::wait})).id;
    const JobId second = a.enqueue(job_of("k", {.on_conflict = OnConflict::wait})).id;
    const Claimed one = a.claim("w1." + n, 2ms);
    ASSERT_EQ(one.job.id, first);
    let_pass(4ms);
    const Claimed again = b.claim("w2." + n);
    ASSERT_EQ(again.job.id, first);
    EXPECT_TRUE(again.recovered);
    EXPECT_EQ(a.claim("w3." + n).what, Got::nothing);
    EXPECT_TRUE(a.row(second).parked);
    EXPECT_TRUE(a.renew(first, "w2." + n));
    EXPECT_TRUE(b.finish(again).released);
    EXPECT_EQ(a.claim("w4." + n).job.id, second);
    EXPECT_TRUE(a.change(second, JobChange::cancel));
    ours.release("k", "w4." + n);
    EXPECT_TRUE(a.change(second, JobChange::retry));
    EXPECT_TRUE(a.finish(a.claim("w5." + n)).finished);

    EXPECT_EQ(a.enqueue(loner_of(l)).what, EnqueueOutcome::enqueued);
    EXPECT_EQ(b.enqueue(loner_of(l)).what, EnqueueOutcome::duplicate);
    const NewJob replaces = job_of(l, {.on_conflict = OnConflict::replace, .unique = Unique::loner});
    EXPECT_EQ(b.enqueue(replaces).what, EnqueueOutcome::replaced);
    EXPECT_EQ(b.finish(b.claim("w6." + n)).released, true);
    EXPECT_EQ(a.enqueue(job_of("t", {.limit = 3, .tick_name = "t", .tick = i})).what,
              EnqueueOutcome::enqueued);
    EXPECT_EQ(a.enqueue(job_of("t", {.limit = 3, .tick_name = "t", .tick = i})).what,
              EnqueueOutcome::duplicate);
    EXPECT_EQ(a.enqueue(job_of("t", {.limit = 3, .tick_name = "w", .window = 24h * 36500})).what,
              i == 0 ? EnqueueOutcome::enqueued : EnqueueOutcome::duplicate);
    while (a.claim("w7").what == Got::running) {
    }
    EXPECT_TRUE(a.take_tick("r", i).taken);
    EXPECT_FALSE(a.take_tick("r", i).taken);
    EXPECT_TRUE(a.engine().note_success("r", "me", soon()));
    EXPECT_TRUE(a.engine().purge({.older_than = 1ms}, soon()));
    a.list();
  }
}

class JobsTest : public PostgresTest {
 protected:
  JobsTest() { make_tables(url()); }
};

}  // namespace holdfast::test
