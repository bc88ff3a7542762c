// SPDX-License-Identifier: Apache-2.0
// Tables of jobs that are not there, rows that somebody has locked, and connections that are lost.
#include <atomic>
#include <thread>

#include "tests/mariadb/suite.h"
#include "tests/support/damaged_jobs.h"
#include "tests/support/worker.h"

namespace holdfast::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Jobs : public MariaTest {
 protected:
  Jobs() { make_tables(url()); }
  static Error refused_jobs(const std::string& url) {
    const auto engine = try_store(url).value()->jobs(soon());
    EXPECT_FALSE(engine);
    return engine ? Error{Errc::busy, ""} : engine.error();
  }
  // Runs `ask` while another transaction has run `statement` and not committed, and kills the connection that
  // waits for it.  `ask` returns whether it waited for that.
  template <class Ask>
  bool kill_while_waiting(const std::string& statement, Ask ask) const {
    for (int round = 0; round < 100; ++round) {
      const auto other = stranger(), killer = stranger();
      other->run("BEGIN");
      other->run(statement);
      std::atomic<bool> answered = false;
      std::jthread kills([&] {
        std::string id = "0";
        EXPECT_TRUE(await([&] { return answered || (somebody_waits() && (id = asking()) != "0"); }));
        if (id != "0") (void)killer->error_of("KILL " + id);
      });
      const bool met = ask();
      answered = true;
      if (met) return true;
    }
    return false;
  }
};

TEST_P(Jobs, tables_of_an_older_version_keep_leases_and_are_completed_for_jobs) {
  query("DROP TABLE holdfast_jobs, holdfast_ticks");
  EXPECT_EQ(MariaCaller(url()).acquire("k", "ann").verdict, Verdict::granted);
  const Error error = refused_jobs(url());
  EXPECT_EQ(error.code, Errc::unprepared);
  EXPECT_THAT(error.detail, AllOf(HasSubstr("no table \"holdfast_jobs\""), HasSubstr("holdfast --store"),
                                  HasSubstr(" init")));
  EXPECT_EQ(try_store(url()).value()->admin()->init(soon()).value().size(), 2u);
  EXPECT_EQ(Worker(url()).enqueue("k").what, EnqueueReply::What::enqueued);
}

TEST_P(Jobs, a_table_of_jobs_that_is_not_ours_is_refused_and_leases_go_on) {
  query("ALTER TABLE holdfast_jobs DROP KEY slot");
  EXPECT_THAT(refused_jobs(url()).detail, AllOf(HasSubstr("\"holdfast_jobs\""), HasSubstr("\"slot\"")));
  EXPECT_EQ(MariaCaller(url()).acquire("k", "ann").verdict, Verdict::granted);
}

TEST_P(Jobs, a_table_of_another_name_has_jobs_of_its_own) {
  const std::string other = url() + "?table=orders";
  make_tables(other);
  Worker(other).enqueue("k");
  EXPECT_EQ(Worker(url()).claim("w").what, Got::nothing);
  EXPECT_EQ(query("SELECT COUNT(*) FROM orders_holdfast_jobs"), "1");
}

TEST_P(Jobs, darwins_layout_keeps_none_and_says_what_does) {
  make_tables(url() + "?layout=darwin");
  const Error error = refused_jobs(url() + "?layout=darwin");
  EXPECT_EQ(error.code, Errc::refused);
  EXPECT_THAT(error.detail, HasSubstr("native layout"));
}

TEST_P(Jobs, a_key_that_could_not_be_locked_is_not_enqueued) {
  Worker worker(url());
  const std::string key(511, 'k');
  const auto reply = worker.engine().enqueue({.name = "Job", .key = key, .limit = 3}, soon());
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::refused);
  EXPECT_THAT(reply.error().detail, AllOf(HasSubstr("key"), HasSubstr("513 bytes"), HasSubstr("512")));
  EXPECT_EQ(worker.enqueue(key).what, EnqueueReply::What::enqueued);
}

TEST_P(Jobs, a_damaged_job_dies_and_harms_no_other_of_its_queue) {
  Worker worker(url());
  const auto set = [&](const std::string& change) {
    return [&, change](JobId id) {
      query("UPDATE holdfast_jobs SET " + change + " WHERE id = " + std::to_string(to_number(id)));
    };
  };
  expect_it_dies_and_harms_no_other(worker, "on_conflict", set("on_conflict = 'hope'"));
  expect_it_dies_and_harms_no_other(worker, "uniqueness", set("uniqueness = 'often'"));
  for (const std::string limit : {"1001", "-1", "2000000000"})
    expect_it_dies_and_harms_no_other(worker, "lock_limit", set("lock_limit = " + limit), limit);
  expect_a_state_can_be_repaired(worker, set("state = 'lost'"));
}

TEST_P(Jobs, a_job_with_a_damaged_state_and_another_damaged_field_is_not_forgotten) {
  Worker worker(url());
  const auto set = [&](const std::string& change) {
    return [&, change](JobId id) {
      query("UPDATE holdfast_jobs SET " + change + " WHERE id = " + std::to_string(to_number(id)));
    };
  };
  expect_a_job_with_two_damaged_fields_is_not_forgotten(
      worker, "lock_limit", set("state = 'lost', lock_limit = -1"), set("lock_limit = 0"));
  expect_a_job_with_two_damaged_fields_is_not_forgotten(
      worker, "on_conflict", set("state = 'lost', on_conflict = 'hope'"), set("on_conflict = 'drop'"));
}

TEST_P(Jobs, a_damaged_state_of_a_job_whose_worker_died_keeps_no_lock_and_becomes_dead) {
  Worker worker(url());
  const JobId bad = worker.enqueue("k", {.lock_ttl = 1h}).id;
  ASSERT_EQ(worker.claim_and_let_expire("w1").job.id, bad);
  query("UPDATE holdfast_jobs SET state = 'lost' WHERE id = " + std::to_string(to_number(bad)));
  const JobId next = worker.enqueue("k").id;
  EXPECT_EQ(worker.claim("w2").job.id, next);
  EXPECT_EQ(worker.list({.state = JobState::dead}).size(), 1u);
}

TEST_P(Jobs, jobs_whose_time_has_come_since_are_claimed_in_the_order_of_all_others) {
  Worker worker(url());
  std::vector<JobId> ids;
  for (const int priority : {3, 1, 2})
    ids.push_back(worker.enqueue("k", {.priority = priority, .in = 1h, .limit = 0}).id);
  const JobId now = worker.enqueue("k", {.priority = 2, .limit = 0}).id;
  EXPECT_EQ(query("SELECT COUNT(*) FROM holdfast_jobs WHERE aside_until IS NOT NULL"), "3");
  query(
      "UPDATE holdfast_jobs SET run_at = enqueued_at, due_at = enqueued_at, aside_until = enqueued_at "
      "WHERE aside_until IS NOT NULL");
  for (const JobId id : {ids[1], ids[2], now, ids[0]})
    EXPECT_EQ(to_number(worker.claim("w").job.id), to_number(id));
  EXPECT_EQ(worker.claim("w").what, Got::nothing);
}

TEST_P(Jobs, many_jobs_whose_locks_are_held_are_set_aside_in_whatever_order_their_keys_come) {
  MariaCaller ours(url());
  Worker worker(url());
  std::vector<JobId> ids;
  for (char c = 'z'; c >= 'a'; --c) {
    const std::string key(1, c);
    ours.acquire(key, "ann");
    for (int i = 0; i < 2; ++i) ids.push_back(worker.enqueue(key, {.on_conflict = OnConflict::wait}).id);
  }
  const JobId free = worker.enqueue("free").id;
  EXPECT_EQ(worker.claim("w").job.id, free);
  for (const JobId id : ids) EXPECT_TRUE(worker.row(id).parked);
}

TEST_P(Jobs, a_job_that_somebody_has_locked_is_not_waited_for) {
  Worker worker(url());
  const JobId first = worker.enqueue("1").id, second = worker.enqueue("2").id;
  const auto other = stranger();
  other->run("BEGIN");
  other->run("SELECT 1 FROM holdfast_jobs WHERE id = " + std::to_string(to_number(first)) + " FOR UPDATE");
  EXPECT_EQ(worker.claim("w1").job.id, second);
  const Claimed none = worker.claim("w2");
  EXPECT_EQ(none.what, Got::nothing);
  EXPECT_LE(none.next, 1s) << "it may be free at any time";
}

TEST_P(Jobs, the_claim_of_a_locked_job_is_renewed_later_and_the_others_at_once) {
  Worker worker(url());
  const JobId first = worker.enqueue("1").id, second = worker.enqueue("2").id;
  ASSERT_EQ(worker.claim("w1").job.id, first);
  ASSERT_EQ(worker.claim("w2").job.id, second);
  const auto other = stranger();
  other->run("BEGIN");
  other->run("SELECT 1 FROM holdfast_jobs WHERE id = " + std::to_string(to_number(first)) + " FOR UPDATE");
  const ClaimRef claims[] = {{first, {"w1"}, 2h}, {second, {"w2"}, 2h}, {first, {"somebody"}, 2h}};
  ClaimReply replies[3];
  ASSERT_TRUE(worker.engine().renew(claims, replies, soon()));
  ASSERT_TRUE(replies[0].error);
  EXPECT_EQ(replies[0].error->code, Errc::unavailable);
  EXPECT_TRUE(replies[1].held);
  EXPECT_FALSE(replies[2].held);
  EXPECT_FALSE(replies[2].error);
  other->run("ROLLBACK");
  ASSERT_TRUE(worker.engine().renew(claims, replies, soon()));
  EXPECT_TRUE(replies[0].held);
  EXPECT_GT(worker.row(first).claim_remaining, 110min);
}

TEST_P(Jobs, a_claim_that_waits_is_renewed_when_its_job_is_free_and_delays_no_other_for_long) {
  Worker worker(url());
  std::vector<Claimed> claimed;
  for (const char* owner : {"w1", "w2", "w3"}) {
    worker.enqueue(owner);
    claimed.push_back(worker.claim(owner));
  }
  const ClaimRef claims[] = {{claimed[0].job.id, {"w1"}, 2h, true},
                             {claimed[1].job.id, {"w2"}, 2h, true},
                             {claimed[2].job.id, {"w3"}, 2h, false}};
  const auto other = stranger();
  other->run("BEGIN");
  other->run("SELECT 1 FROM holdfast_jobs WHERE id = " + std::to_string(to_number(claimed[0].job.id)) +
             " FOR UPDATE");
  ClaimReply replies[3];
  const Instant until = BootClock::now() + 3s;
  ASSERT_TRUE(worker.engine().renew(claims, replies, until));
  EXPECT_LT(BootClock::now(), until);
  ASSERT_TRUE(replies[0].error) << "in vain";
  EXPECT_EQ(replies[0].error->code, Errc::unavailable);
  EXPECT_TRUE(mentions(replies[0].error->detail, "locked its job")) << replies[0].error->detail;
  for (const int i : {1, 2}) {
    EXPECT_TRUE(replies[i].held) << i;
    EXPECT_FALSE(replies[i].error) << i;
  }
  std::jthread renews([&] {
    do {
      ASSERT_TRUE(worker.engine().renew(claims, replies, soon()));
    } while (!replies[0].held);
  });
  EXPECT_TRUE(await([&] { return somebody_waits(); }));
  other->run("ROLLBACK");
  renews.join();
  for (const int i : {0, 1}) {
    EXPECT_TRUE(replies[i].held) << i;
    EXPECT_FALSE(replies[i].error) << i;
  }
  EXPECT_GT(worker.row(claimed[0].job.id).claim_remaining, 110min);
}

TEST_P(Jobs, a_claim_that_another_worker_has_taken_meanwhile_is_lost_when_its_job_is_free) {
  Worker worker(url());
  const JobId id = worker.enqueue("k").id;
  ASSERT_EQ(worker.claim("w1").job.id, id);
  const auto other = stranger();
  other->run("BEGIN");
  other->run("UPDATE holdfast_jobs SET holder = 'w2' WHERE id = " + std::to_string(to_number(id)));
  const ClaimRef claim{id, {"w1"}, 2h, true};
  ClaimReply reply;
  std::jthread renews([&] {
    do {
      ASSERT_TRUE(worker.engine().renew({&claim, 1}, {&reply, 1}, soon()));
    } while (reply.error);
  });
  EXPECT_TRUE(await([&] { return somebody_waits(); }));
  other->run("COMMIT");
  renews.join();
  EXPECT_FALSE(reply.held);
  EXPECT_FALSE(reply.error);
}

TEST_P(Jobs, a_lease_that_somebody_has_locked_stands_in_the_way_of_its_own_jobs_only) {
  MariaCaller(url()).acquire("locked", "ann");
  Worker worker(url());
  const JobId waits = worker.enqueue("locked", {.on_conflict = OnConflict::wait}).id;
  const JobId other_job = worker.enqueue("other").id;
  const auto other = stranger();
  other->run("BEGIN");
  other->run("SELECT 1 FROM locks WHERE `key` = 'locked' FOR UPDATE");
  EXPECT_EQ(worker.claim("w1").job.id, other_job);
  EXPECT_TRUE(worker.row(waits).parked);
}

TEST_P(Jobs, the_next_job_is_not_forgotten_while_somebody_has_it_locked) {
  Worker worker(url());
  const NewJob waits{.on_conflict = OnConflict::wait};
  worker.enqueue("k", waits);
  const JobId second = worker.enqueue("k", waits).id, third = worker.enqueue("k", waits).id;
  const Claimed first = worker.claim("w1");
  EXPECT_EQ(worker.claim("w2").what, Got::nothing);
  const auto other = stranger();
  other->run("BEGIN");
  other->run("SELECT 1 FROM holdfast_jobs WHERE id = " + std::to_string(to_number(second)) + " FOR UPDATE");
  std::jthread finishes([&] { EXPECT_TRUE(Worker(url()).finish(first).finished); });
  EXPECT_TRUE(await([&] { return somebody_waits(); }));
  other->run("ROLLBACK");
  finishes.join();
  EXPECT_EQ(worker.claim("w3").job.id, second);
  EXPECT_TRUE(worker.row(third).parked);
}

TEST_P(Jobs, a_connection_that_is_lost_before_the_commit_was_sent_did_nothing) {
  Worker worker(url());
  const JobId id = worker.enqueue("k").id;
  const Claimed claimed = worker.claim("w1");
  std::optional<Result<Finished>> finished;
  EXPECT_TRUE(kill_while_waiting("SELECT 1 FROM locks WHERE `key` = 'k' FOR UPDATE", [&] {
    finished = worker.engine().finish(done(claimed), soon());
    return !*finished;
  }));
  EXPECT_EQ(finished->error().code, Errc::unavailable) << finished->error().detail;
  EXPECT_EQ(worker.row(id).state, JobState::running);
  EXPECT_TRUE(worker.finish(claimed).released) << "it connects anew";
}

TEST_P(Jobs, a_connection_that_is_lost_after_the_commit_was_sent_leaves_doubt) {
  MariaCaller ours(url());
  ours.acquire("k", "ann", 1ms);
  Worker worker(url());
  const JobId id = worker.enqueue("k").id;
  ASSERT_TRUE(await([&] { return ours.renew("k", "ann").verdict == Verdict::lost; }));
  // That it was taken over is written with the COMMIT, and waits for this.
  const auto other = stranger();
  other->run("LOCK TABLES holdfast_log WRITE");
  std::jthread kills([&] {
    std::string waits;
    EXPECT_TRUE(await([&] {
      waits = query(
          "SELECT COALESCE(MAX(ID), 0) FROM information_schema.PROCESSLIST WHERE USER = 'app' AND DB = '" +
          database_ + "' AND STATE LIKE 'Waiting for table%'");
      return waits != "0";
    }));
    (void)stranger()->error_of("KILL " + waits);
  });
  const Result<Claimed> claimed = worker.try_claim("w1");
  ASSERT_FALSE(claimed);
  EXPECT_EQ(claimed.error().code, Errc::in_doubt) << claimed.error().detail;
  other->run("UNLOCK TABLES");
  // It was not committed, and is free when the server has undone it.
  EXPECT_TRUE(await([&] { return worker.claim("w2").job.id == id; }));
}

TEST_P(Jobs, a_connection_that_was_closed_while_idle_is_not_noticed) {
  Worker worker(url());
  worker.enqueue("k");
  query("KILL " + query("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'app' AND DB = '" +
                        database_ + "'"));
  EXPECT_EQ(worker.claim("w1").what, Got::running);
}

HOLDFAST_ON_BOTH(Jobs);

}  // namespace
}  // namespace holdfast::test
