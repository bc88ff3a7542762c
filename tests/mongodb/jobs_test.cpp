// SPDX-License-Identifier: Apache-2.0
// Jobs in MongoDB: what a worker leaves behind if it dies between two steps, and where jobs are stored.
#include "tests/mongodb/suite.h"
#include "tests/support/damaged_jobs.h"
#include "tests/support/worker.h"

namespace holdfast::test {
namespace {

class JobsOfMongo : public MongoTest {
 protected:
  // The server takes no document of `collection` whose `field` is "dead".  REQUIRES: there is none yet.
  void refuse_dead(const std::string& collection, const std::string& field) {
    mongo(R"({"create": ")" + collection + R"(", "validator": {")" + field + R"(": {"$ne": "dead"}}})");
  }
  // From now on no lease can be released, and then again.
  void forbid_releases() {
    mongo(R"({"insert": "locks", "documents": [{"_id": "the only free one", "owner": ""}]})");
    mongo(R"({"createIndexes": "locks", "indexes": [{"key": {"owner": 1}, "name": "one", "unique": true,
              "partialFilterExpression": {"owner": ""}}]})");
  }
  void allow_releases() { mongo(R"({"dropIndexes": "locks", "index": "one"})"); }
  void change(JobId id, const std::string& fields) {
    mongo(R"({"update": "locks.holdfast_jobs", "updates": [{"q": {"_id": )" + text(id) +
          R"(}, "u": {"$set": {)" + fields + "}}}]}");
  }
  std::string document(JobId id) {
    return mongo(R"({"find": "locks.holdfast_jobs", "filter": {"_id": )" + text(id) + "}}");
  }
};

TEST_F(JobsOfMongo, the_layout_of_the_gem_keeps_none_and_says_so) {
  const auto jobs = try_store(with(url(), "layout=mongo-lock")).value()->jobs(soon());
  ASSERT_FALSE(jobs);
  EXPECT_EQ(jobs.error().code, Errc::refused);
  EXPECT_TRUE(mentions(jobs.error().detail, "layout=mongo-lock")) << jobs.error().detail;
}

TEST_F(JobsOfMongo, the_first_client_that_connects_creates_the_indexes) {
  Worker worker(url());
  EXPECT_TRUE(try_store(url()).value()->admin()->plan(soon()).value().empty());
  mongo(R"({"dropIndexes": "locks.holdfast_jobs", "index": "slot"})");
  const auto plan = try_store(url()).value()->admin()->plan(soon()).value();
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_TRUE(mentions(plan[0], R"("name": "slot")")) << plan[0];
  EXPECT_FALSE(mentions(plan[0], R"("name": "wake")")) << plan[0];
  Worker another(url());
  EXPECT_TRUE(try_store(url()).value()->admin()->plan(soon()).value().empty());
}

TEST_F(JobsOfMongo, jobs_of_two_collections_know_nothing_of_each_other) {
  Worker one(url()), other(with(url(), "collection=mail"));
  one.enqueue("k");
  EXPECT_EQ(other.claim("w1").what, Got::nothing);
  EXPECT_EQ(one.claim("w1").what, Got::running);
}

// Taken, and then its worker cannot have the lease.
TEST_F(JobsOfMongo, a_job_whose_taker_died_before_it_had_the_lock_is_taken_by_the_next) {
  refuse_dead("locks", "owner");
  Worker worker(url());
  const JobId id = worker.enqueue("k").id;
  const auto failed = worker.try_claim("dead", 1ms);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::in_doubt) << failed.error().detail;
  EXPECT_EQ(worker.row(id).state, JobState::queued);
  const Claimed none = worker.claim("w1");
  EXPECT_EQ(none.what, Got::nothing) << "somebody may be deciding about it";
  EXPECT_LE(none.next, 1s);
  Claimed claimed;
  ASSERT_TRUE(await([&] { return (claimed = worker.claim("w1")).what == Got::running; }));
  EXPECT_EQ(claimed.job.id, id);
  EXPECT_FALSE(claimed.recovered) << "it had not been started";
  EXPECT_EQ(claimed.job.attempt, 1);
  EXPECT_EQ(claimed.job.crashes, 0);
}

// The lease would last an hour.
TEST_F(JobsOfMongo, the_lock_of_a_taker_that_died_after_it_had_it_is_given_back) {
  refuse_dead("locks.holdfast_jobs", "holder");
  Worker worker(url());
  Caller lease(url());
  const JobId id = worker.enqueue("k", {.lock_ttl = 1h, .lock_fixed = true}).id;
  ASSERT_FALSE(worker.try_claim("dead", 1ms));
  EXPECT_EQ(lease.acquire("k", "x").owner, "dead");
  Claimed claimed;
  ASSERT_TRUE(await([&] { return (claimed = worker.claim("w1")).what != Got::nothing; }));
  EXPECT_EQ(claimed.what, Got::running) << "it is not dropped for the lock that its own taker had";
  EXPECT_EQ(claimed.job.id, id);
  EXPECT_EQ(lease.acquire("k", "x").owner, "w1");
}

// A worker that takes over a claim that ran out releases the old lease: the old worker must have stopped
// before.
TEST_F(JobsOfMongo, a_claim_that_is_being_taken_over_is_its_holders_no_more) {
  refuse_dead("locks.holdfast_jobs", "holder");
  Worker worker(url());
  Caller lease(url());
  worker.enqueue("k", {.lock_ttl = 1h});
  const Claimed late = worker.claim("late", 1ms);
  let_pass(3ms);
  ASSERT_FALSE(worker.try_claim("dead", 1ms));
  EXPECT_FALSE(worker.renew(late.job.id, "late"));
  EXPECT_FALSE(worker.finish(late).finished);
  EXPECT_EQ(worker.row(late.job.id).claim_remaining, 0ms);
  Claimed claimed;
  ASSERT_TRUE(await([&] { return (claimed = worker.claim("w1")).what == Got::running; }));
  EXPECT_TRUE(claimed.recovered);
  EXPECT_EQ(claimed.job.crashes, 1) << "the one who took over had not started it";
  EXPECT_EQ(claimed.job.attempt, 2);
  EXPECT_EQ(lease.acquire("k", "x").owner, "w1");
}

// The job is finished, but its lease is not released, and the worker got no answer.
TEST_F(JobsOfMongo, a_parked_job_checks_soon_though_a_worker_died_while_it_finished) {
  const NewJob waits{.lock_ttl = 3s, .lock_fixed = true, .on_conflict = OnConflict::wait};
  Worker worker(url());
  worker.enqueue("k", waits);
  const JobId second = worker.enqueue("k", waits).id, third = worker.enqueue("k", waits).id;
  const Claimed first = worker.claim("w1");
  EXPECT_EQ(worker.claim("w2").what, Got::nothing);
  worker.finish(first);
  const Claimed running = worker.claim("w2");
  ASSERT_EQ(running.job.id, second);
  mongo(R"({"update": "locks.holdfast_jobs", "updates": [{"q": {"_id": )" + text(third) + R"(}, "u": [{"$set":
            {"due_at": {"$add": ["$$NOW", 3600000]}, "wake_at": {"$add": ["$$NOW", 3600000]}}}]}]})");
  ASSERT_GT(worker.row(third).due_at, running.now + 1min) << "it counts on another";

  forbid_releases();
  const auto failed = worker.engine().finish(done(running), BootClock::now() + 1s);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::in_doubt) << failed.error().detail;
  allow_releases();
  EXPECT_EQ(worker.row(second).state, JobState::done);
  Claimed claimed;
  ASSERT_TRUE(await([&] { return (claimed = worker.claim("w3")).what == Got::running; }));
  EXPECT_EQ(claimed.job.id, third);
}

TEST_F(JobsOfMongo, a_finish_that_is_asked_again_does_the_rest) {
  Worker worker(url());
  Caller lease(url());
  worker.enqueue("k", {.lock_ttl = 1h});
  const Claimed claimed = worker.claim("w1");
  forbid_releases();
  ASSERT_FALSE(worker.engine().finish(done(claimed), BootClock::now() + 1s));
  allow_releases();
  const Finished again = worker.finish(claimed);
  EXPECT_FALSE(again.finished) << "it was already";
  EXPECT_TRUE(again.released);
  EXPECT_EQ(lease.acquire("k", "x").verdict, Verdict::granted);
}

// A job is there, and how far the name has come is not.
TEST_F(JobsOfMongo, a_tick_whose_enqueuer_died_half_way_is_taken_all_the_same) {
  Worker worker(url());
  const auto enqueue_and_die = [&](const char* name) {
    const JobId id = worker.enqueue("k", {.tick_name = name, .tick = 7}).id;
    mongo(R"({"delete": "locks.holdfast_ticks", "deletes": [{"q": {}, "limit": 0}]})");
    EXPECT_EQ(worker.engine().tick(name, soon()).value().tick, -1);
    return id;
  };
  const auto again = [&](const char* name) { return worker.enqueue("k", {.tick_name = name, .tick = 7}); };

  const JobId queued = enqueue_and_die("queued");
  EXPECT_EQ(again("queued").what, EnqueueOutcome::duplicate);
  EXPECT_EQ(again("queued").id, queued);
  EXPECT_EQ(worker.engine().tick("queued", soon()).value().tick, 7) << "what was left is done";
  EXPECT_EQ(worker.enqueue("k", {.tick_name = "queued", .tick = 8}).what, EnqueueOutcome::enqueued);
  for (const char* owner : {"w1", "w2"}) worker.finish(worker.claim(owner));

  EXPECT_TRUE(worker.change(enqueue_and_die("removed"), JobChange::remove));
  EXPECT_EQ(again("removed").what, EnqueueOutcome::duplicate);

  enqueue_and_die("purged");
  worker.finish(worker.claim("w3"));
  EXPECT_TRUE(await([&] {
    worker.engine().purge({.older_than = 1ms}, soon()).value();
    return worker.list({}).empty();
  }));
  EXPECT_EQ(again("purged").what, EnqueueOutcome::duplicate);
}

TEST_F(JobsOfMongo, ids_go_on_where_they_were_if_their_counter_is_lost) {
  Worker worker(url());
  const JobId first = worker.enqueue("k").id, second = worker.enqueue("k").id;
  EXPECT_LT(first, second);
  mongo(R"({"insert": "locks.holdfast_jobs", "documents": [{"_id": {"$numberLong": "1000000"}}]})");
  mongo(R"({"delete": "locks.holdfast_log", "deletes": [{"q": {"_id": "jobs"}, "limit": 1}]})");
  EXPECT_EQ(to_number(worker.enqueue("k").id), 1'000'001u);
}

// Somebody is deciding about it, by what it was: that one has to see that it is another now.
TEST_F(JobsOfMongo, a_job_that_is_replaced_while_it_is_taken_stays_taken) {
  refuse_dead("locks.holdfast_jobs", "holder");
  Worker worker(url());
  NewJob job{.args = "[1]", .on_conflict = OnConflict::replace, .unique = Unique::until_start};
  const JobId id = worker.enqueue("k", job).id;
  ASSERT_FALSE(worker.try_claim("dead"));
  job.args = "[2]";
  EXPECT_EQ(worker.enqueue("k", job).what, EnqueueOutcome::replaced);
  EXPECT_EQ(worker.row(id).args, "[2]");
  EXPECT_TRUE(mentions(document(id), R"("taker" : "dead")")) << document(id);
  EXPECT_FALSE(mentions(document(id), R"("ready")")) << document(id);
  EXPECT_EQ(worker.claim("w1").what, Got::nothing);
}

TEST_F(JobsOfMongo, a_job_that_was_replaced_to_a_later_time_while_it_was_taken_is_not_run_before) {
  refuse_dead("locks.holdfast_jobs", "holder");
  Worker worker(url());
  Caller lease(url());
  NewJob job{.lock_ttl = 1h, .on_conflict = OnConflict::replace, .unique = Unique::until_start};
  const JobId id = worker.enqueue("k", job).id;
  ASSERT_FALSE(worker.try_claim("dead", 1ms));
  job.in = 1h;
  ASSERT_EQ(worker.enqueue("k", job).what, EnqueueOutcome::replaced);
  ASSERT_TRUE(await([&] {
    EXPECT_EQ(worker.claim("w1").what, Got::nothing);
    return !mentions(document(id), "taker");  // else somebody may be deciding about it
  }));
  EXPECT_EQ(worker.row(id).state, JobState::queued);
  EXPECT_EQ(worker.row(id).due_at, worker.row(id).run_at);
  EXPECT_TRUE(mentions(document(id), R"("ready")")) << document(id);
  EXPECT_EQ(lease.acquire("k", "x").verdict, Verdict::granted) << "and what the dead one had is given back";
}

// Somebody has changed a document by hand.
TEST_F(JobsOfMongo, a_damaged_document_harms_no_other_job_of_its_queue) {
  for (const char* damage : {R"("run_at": "soon")", R"("due_at": 7)", R"("args": 7)", R"("state": "lost")",
                             R"("state": 7)", R"("priority": "high")", R"("key": 7)", R"("limit": "one")",
                             R"("attempt": {})", R"("trail": [])", R"("unique": 7, "duplicates": "many")"}) {
    mongo(R"({"delete": "locks.holdfast_jobs", "deletes": [{"q": {}, "limit": 0}]})");
    Worker worker(url());
    const JobId bad = worker.enqueue("bad", {.priority = 1}).id,
                good = worker.enqueue("good", {.priority = 2}).id;
    change(bad, damage);
    EXPECT_EQ(worker.list({}).size(), 2u) << damage;
    const auto claimed = worker.try_claim("w1", 1h, BootClock::now() + 2s);
    ASSERT_TRUE(claimed) << damage << ": " << claimed.error().detail;
    EXPECT_EQ(claimed->what, Got::running) << damage;
    EXPECT_EQ(claimed->job.id, good) << damage;
    EXPECT_TRUE(worker.finish(*claimed).finished) << damage;
    EXPECT_EQ(worker.claim("w1").what, Got::nothing) << damage;
    EXPECT_EQ(worker.row(bad).state, JobState::dead) << damage;
    EXPECT_TRUE(mentions(worker.row(bad).error, "repair")) << damage << ": " << worker.row(bad).error;
  }
}

TEST_F(JobsOfMongo, a_damaged_job_dies_wherever_it_stands) {
  Worker worker(url());
  const auto set = [&](const std::string& fields) {
    return [this, fields](JobId id) { change(id, fields); };
  };
  expect_it_dies_and_harms_no_other(worker, "on_conflict", set(R"("on_conflict": "hope")"));
  expect_it_dies_and_harms_no_other(worker, "unique", set(R"("unique": "often")"));
  expect_it_dies_and_harms_no_other(worker, "limit", set(R"("limit": "one")"));
  for (const std::string limit : {"1001", "-1", "2000000000", "4294967297"})
    expect_it_dies_and_harms_no_other(worker, "limit", set(R"("limit": )" + limit), limit);
  expect_a_state_can_be_repaired(worker, set(R"("state": "lost")"));
}

TEST_F(JobsOfMongo, a_job_with_a_damaged_state_and_another_damaged_field_is_not_forgotten) {
  Worker worker(url());
  const auto set = [&](const std::string& fields) {
    return [this, fields](JobId id) { change(id, fields); };
  };
  expect_a_job_with_two_damaged_fields_is_not_forgotten(
      worker, "limit", set(R"("state": "lost", "limit": -1)"), set(R"("limit": 0)"));
  expect_a_job_with_two_damaged_fields_is_not_forgotten(worker, "on_conflict",
                                                        set(R"("state": "lost", "on_conflict": "hope")"),
                                                        set(R"("on_conflict": "drop")"));
}

TEST_F(JobsOfMongo, a_damaged_state_of_a_job_whose_worker_died_keeps_no_lock) {
  Worker worker(url());
  const JobId bad = worker.enqueue("k", {.lock_ttl = 1h}).id;
  ASSERT_EQ(worker.claim_and_let_expire("w1").job.id, bad);
  change(bad, R"("state": "lost")");
  const JobId next = worker.enqueue("k").id;
  EXPECT_EQ(worker.claim("w2").job.id, next);
  EXPECT_EQ(worker.list({.state = JobState::dead}).size(), 1u);
}

// Nobody can compare it, or count it up.
TEST_F(JobsOfMongo, a_damaged_version_is_repaired_and_stops_no_job) {
  const NewJob waits{.lock_ttl = 1h, .on_conflict = OnConflict::wait};
  Worker worker(url());
  worker.enqueue("k", waits);
  const JobId second = worker.enqueue("k", waits).id, third = worker.enqueue("k", waits).id;
  const Claimed first = worker.claim("w1");
  EXPECT_EQ(worker.claim("w2").what, Got::nothing);
  change(second, R"("version": "first")");
  change(third, R"("version": null)");
  EXPECT_TRUE(worker.finish(first).finished);
  for (const JobId id : {second, third}) {
    const Claimed next = worker.claim("w2");
    ASSERT_EQ(next.what, Got::running);
    EXPECT_EQ(next.job.id, id);
    EXPECT_TRUE(worker.finish(next).finished);
  }
}

TEST_F(JobsOfMongo, a_running_job_whose_version_is_damaged_can_end_and_be_cancelled) {
  Worker worker(url());
  for (const char* damage : {R"("version": "first")", R"("version": null)"}) {
    for (const bool cancelled : {false, true}) {
      const JobId id = worker.enqueue("k").id;
      const Claimed claimed = worker.claim("w1");
      ASSERT_EQ(claimed.job.id, id);
      change(id, damage);
      if (cancelled) {
        const auto row = worker.engine().change(id, JobChange::cancel, "olga", soon());
        ASSERT_TRUE(row) << damage << ": " << row.error().detail;
      }
      const auto finished = worker.engine().finish(done(claimed), soon());
      ASSERT_TRUE(finished) << damage << ": " << finished.error().detail;
      EXPECT_EQ(finished->finished, !cancelled) << damage;
      EXPECT_EQ(worker.row(id).state, cancelled ? JobState::cancelled : JobState::done) << damage;
      EXPECT_EQ(worker.claim("w2").what, Got::nothing) << damage;
    }
  }
}

TEST_F(JobsOfMongo, a_damaged_document_can_be_removed) {
  Worker worker(url());
  for (const char* damage : {R"("version": "first")", R"("version": null)", R"("state": 7)"}) {
    const JobId bad = worker.enqueue("bad").id;
    change(bad, damage);
    const auto removed = worker.engine().change(bad, JobChange::remove, "olga", BootClock::now() + 2s);
    ASSERT_TRUE(removed) << damage << ": " << removed.error().detail;
    EXPECT_TRUE(worker.list({}).empty()) << damage;
  }
}

}  // namespace
}  // namespace holdfast::test
