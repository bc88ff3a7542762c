// SPDX-License-Identifier: Apache-2.0
// Many connections on the same few jobs, and servers that go away.
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "holdfast/job_worker.h"
#include "tests/postgres/jobs_suite.h"
#include "tests/support/hot_job.h"

namespace holdfast::test {
namespace {

class JobRaces : public JobsTest {
 protected:
  // 20 workers on 600 jobs of 5 keys.
  void race(OnConflict conflict, std::map<Got, int>& outcomes) {
    {
      Worker boss(url());
      for (int i = 0; i < 600; ++i)
        boss.enqueue(job_of("key " + std::to_string(i % 5), {.on_conflict = conflict}));
    }
    std::atomic<int> overlaps = 0, left = 600;
    std::array<std::atomic<int>, 5> inside{};
    std::mutex mutex;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 20; ++t) {
      threads.emplace_back([&, t] {
        Worker worker(url());
        for (int n = 0; left > 0; ++n) {
          const auto got =
              worker.try_claim(std::to_string(t) + "." + std::to_string(n), 1h, BootClock::now() + 60s);
          ASSERT_TRUE(got) << got.error().detail;
          if (got->what == Got::nothing) continue;
          --left;
          if (got->what == Got::running) {
            auto& mine = inside[static_cast<std::size_t>(got->job.key.back() - '0')];
            if (++mine != 1) ++overlaps;
            let_pass(1ms);
            --mine;
            const auto finished = worker.engine().finish(done(*got), BootClock::now() + 60s);
            ASSERT_TRUE(finished) << finished.error().detail;
            EXPECT_TRUE(finished->finished);
            EXPECT_TRUE(finished->released);
          }
          const std::lock_guard lock(mutex);
          ++outcomes[got->what];
        }
      });
    }
    threads.clear();
    EXPECT_EQ(overlaps, 0);
    EXPECT_EQ(left, 0);
  }
  std::string count(const std::string& state) {
    return psql()->value("SELECT count(*) FROM holdfast_jobs WHERE state = $1", {state});
  }
};

TEST_F(JobRaces, of_two_thousand_enqueues_of_one_loner_one_is_a_job_and_all_others_are_counted) {
  std::atomic<int> enqueued = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 40; ++t) {
    threads.emplace_back([&] {
      Worker worker(url());
      for (int i = 0; i < 50; ++i) {
        const auto told = worker.engine().enqueue(loner_of("k"), BootClock::now() + 60s);
        ASSERT_TRUE(told) << told.error().detail;
        enqueued += told->what == EnqueueOutcome::enqueued ? 1 : 0;
        EXPECT_NE(told->id, no_job);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(enqueued, 1);
  const auto rows = Worker(url()).list();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].duplicates, 1999u);
}

TEST_F(JobRaces, of_many_enqueues_of_one_tick_one_is_a_job) {
  std::atomic<int> enqueued = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      Worker worker(url());
      for (int tick = 1; tick <= 20; ++tick) {
        const auto told = worker.enqueue(job_of("k", {.tick_name = "cron", .tick = tick}));
        enqueued += told.what == EnqueueOutcome::enqueued ? 1 : 0;
        EXPECT_NE(told.id, no_job);
        EXPECT_EQ(told.state, JobState::queued);
      }
    });
  }
  threads.clear();
  const auto rows = Worker(url()).list();
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(enqueued));
  std::uint64_t duplicates = 0;
  for (const JobRow& row : rows) duplicates += row.duplicates;
  EXPECT_EQ(duplicates + rows.size(), 160u);
  EXPECT_LE(enqueued, 20);
}

TEST_F(JobRaces, jobs_that_wait_run_all_and_never_two_of_a_key_at_once) {
  std::map<Got, int> outcomes;
  race(OnConflict::wait, outcomes);
  EXPECT_EQ(outcomes[Got::running], 600);
  EXPECT_EQ(count("done"), "600");
}

TEST_F(JobRaces, jobs_that_are_dropped_are_accounted_for_and_never_two_of_a_key_at_once) {
  std::map<Got, int> outcomes;
  race(OnConflict::drop, outcomes);
  EXPECT_EQ(outcomes[Got::running] + outcomes[Got::dropped], 600);
  EXPECT_GT(outcomes[Got::running], 4);
  EXPECT_EQ(count("done"), std::to_string(outcomes[Got::running]));
  EXPECT_EQ(count("dropped"), std::to_string(outcomes[Got::dropped]));
}

// A finish that already has its snapshot does not see a job that is being parked; it checks again.
TEST_F(JobRaces, a_job_that_is_set_aside_while_its_lock_is_freed_does_not_sleep) {
  for (int round = 0; round < 15; ++round) {
    Worker boss(url());
    const std::string key = "k" + std::to_string(round);
    // The second parked job checks the lock only every five minutes.
    for (int i = 0; i < 3; ++i) boss.enqueue(job_of(key, {.on_conflict = OnConflict::wait}));
    std::vector<std::jthread> threads;
    std::atomic<int> left = 3;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Worker worker(url());
        const Instant end = BootClock::now() + 20s;
        for (int n = 0; left > 0 && BootClock::now() < end; ++n) {
          const Claimed got = worker.claim(std::to_string(t) + "." + std::to_string(n));
          if (got.what != Got::running) continue;
          worker.finish(got);
          --left;
        }
      });
    }
    threads.clear();
    ASSERT_EQ(left, 0) << "in round " << round;
  }
}

TEST_F(JobRaces, a_lease_that_somebodys_transaction_has_locked_holds_up_no_other_job) {
  Worker worker(url());
  Caller ours(url());
  std::vector<JobId> stuck;
  for (const char* key : {"k", "l", "m", "n"}) {
    ours.acquire(key, "ann");
    ours.release(key, "ann");
    stuck.push_back(worker.enqueue(job_of(key, {.on_conflict = OnConflict::wait})).id);
  }
  const auto guard = psql();
  guard->run("BEGIN; SELECT 1 FROM locks FOR SHARE");
  const JobId other = worker.enqueue(job_of("other")).id;
  Claimed got;
  ASSERT_TRUE(await([&] { return (got = worker.claim("w1")).what == Got::running; }));
  EXPECT_EQ(got.job.id, other);
  for (const JobId id : stuck) EXPECT_TRUE(worker.row(id).parked);
  guard->run("COMMIT");
  for (const JobId id : stuck) {
    ASSERT_TRUE(await([&] { return (got = worker.claim("w2")).what == Got::running; }));
    EXPECT_EQ(got.job.id, id);
  }
}

TEST_F(JobRaces, the_claim_of_a_locked_job_is_renewed_later_and_the_others_at_once) {
  Worker worker(url());
  std::vector<Claimed> claimed;
  for (const char* owner : {"w1", "w2"}) {
    worker.enqueue(job_of(owner));
    claimed.push_back(worker.claim(owner));
  }
  const auto guard = psql();
  guard->run("BEGIN");
  guard->run("SELECT 1 FROM holdfast_jobs WHERE id = $1 FOR UPDATE",
             {std::to_string(to_number(claimed[0].job.id))});
  const ClaimRef claims[] = {{claimed[0].job.id, {"w1"}, 2h},
                             {claimed[1].job.id, {"w2"}, 2h},
                             {claimed[0].job.id, {"somebody"}, 2h}};
  ClaimReply replies[3];
  ASSERT_TRUE(worker.engine().renew(claims, replies, soon()));
  ASSERT_TRUE(replies[0].error);
  EXPECT_EQ(replies[0].error->code, Errc::unavailable);
  EXPECT_TRUE(replies[1].held);
  EXPECT_FALSE(replies[2].held);
  EXPECT_FALSE(replies[2].error);
  guard->run("ROLLBACK");
  ASSERT_TRUE(worker.engine().renew(claims, replies, soon()));
  EXPECT_TRUE(replies[0].held);
  EXPECT_FALSE(replies[0].error);
}

TEST_F(JobRaces, a_claim_is_kept_while_the_key_of_its_job_is_enqueued_all_the_time) {
  expect_the_claim_of_a_hot_job_is_kept([&] { return try_store(url()).value(); });
}

TEST_F(JobRaces, a_claim_that_waits_is_renewed_when_its_job_is_free_and_delays_no_other_for_long) {
  Worker worker(url());
  std::vector<Claimed> claimed;
  for (const char* owner : {"w1", "w2", "w3"}) {
    worker.enqueue(owner);
    claimed.push_back(worker.claim(owner));
  }
  const ClaimRef claims[] = {{claimed[0].job.id, {"w1"}, 2h, true},
                             {claimed[1].job.id, {"w2"}, 2h, true},
                             {claimed[2].job.id, {"w3"}, 2h, false}};
  const auto guard = psql(), looker = psql();
  guard->run("BEGIN");
  guard->run("SELECT 1 FROM holdfast_jobs WHERE id = $1 FOR UPDATE",
             {std::to_string(to_number(claimed[0].job.id))});
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
  EXPECT_TRUE(await([&] { return looker->value("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0"; }));
  guard->run("ROLLBACK");
  renews.join();
  for (const int i : {0, 1}) {
    EXPECT_TRUE(replies[i].held) << i;
    EXPECT_FALSE(replies[i].error) << i;
  }
  EXPECT_GT(worker.row(claimed[0].job.id).claim_remaining, 110min);
}

TEST_F(JobRaces, a_claim_that_another_worker_has_taken_meanwhile_is_lost_when_its_job_is_free) {
  Worker worker(url());
  const JobId id = worker.enqueue("k").id;
  ASSERT_EQ(worker.claim("w1").job.id, id);
  const auto guard = psql(), looker = psql();
  guard->run("BEGIN");
  guard->run("UPDATE holdfast_jobs SET holder = 'w2' WHERE id = " + std::to_string(to_number(id)));
  const ClaimRef claim{id, {"w1"}, 2h, true};
  ClaimReply reply;
  std::jthread renews([&] {
    do {
      ASSERT_TRUE(worker.engine().renew({&claim, 1}, {&reply, 1}, soon()));
    } while (reply.error);
  });
  EXPECT_TRUE(await([&] { return looker->value("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0"; }));
  guard->run("COMMIT");
  renews.join();
  EXPECT_FALSE(reply.held);
  EXPECT_FALSE(reply.error);
}

TEST_F(JobRaces, a_job_that_somebodys_transaction_has_locked_costs_its_worker_no_other_claim) {
  holdfast::Jobs jobs{open(url())};
  std::atomic<int> running = 0, others_held = 0;
  std::atomic<JobId> stuck = no_job;
  std::atomic<bool> lost = false, go = false;
  jobs.define("Long", {}, [&](JobContext& context, const Args&) {
    ++running;
    const bool is_stuck = await([&] { return stuck != no_job; }) && context.id() == stuck;
    if (is_stuck && !lost) lost = await([&] { return context.stop_requested() && !context.held(); });
    await([&] { return go.load(); });
    others_held += !is_stuck && context.held() && !context.stop_requested() ? 1 : 0;
  });
  std::vector<JobId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(std::get<Enqueued>(jobs.enqueue("Long", Args::of(i))).id);
  const auto guard = psql(), looker = psql();
  const auto ends_of_others = [&] {
    return looker->value("SELECT min(claim_until) FROM holdfast_jobs WHERE id <> $1",
                         {std::to_string(to_number(ids[1]))});
  };
  {
    const JobWorker worker(jobs, {.threads = 4, .claim = 6s, .poll = 10ms});
    ASSERT_TRUE(await([&] { return running == 4; }));
    guard->run("BEGIN");
    guard->run("SELECT 1 FROM holdfast_jobs WHERE id = $1 FOR UPDATE", {std::to_string(to_number(ids[1]))});
    stuck = ids[1];
    EXPECT_TRUE(await([&] { return lost.load(); }));
    for (int i = 0; i < 2; ++i) {
      const std::string before = ends_of_others();
      EXPECT_TRUE(await([&] { return ends_of_others() != before; })) << "the others are renewed as ever";
    }
    guard->run("ROLLBACK");
    go = true;
  }
  EXPECT_EQ(others_held, 3);
}

TEST_F(JobRaces, a_backend_that_is_ended_in_a_claim_or_a_finish_leaves_nothing_stuck) {
  Worker boss(url()), worker(url());
  const JobId id = boss.enqueue(job_of("k", {.max_attempts = 9})).id;
  const auto looker = psql();
  // Blocks connections that change the job, and then ends them.
  const auto in_flight = [&](const auto& call) {
    const auto guard = psql();
    guard->run("BEGIN; LOCK TABLE locks IN ACCESS EXCLUSIVE MODE");
    std::jthread ending([&] {
      EXPECT_TRUE(await([&] {
        return looker->run(
                   "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE $1 = ANY "
                   "(pg_blocking_pids(pid))",
                   {std::to_string(guard->backend())}) == 1;
      }));
    });
    call();
    ending.join();
    guard->run("ROLLBACK");
  };
  in_flight([&] {
    const auto got = worker.try_claim("w1");
    ASSERT_FALSE(got);
    EXPECT_TRUE(got.error().code == Errc::in_doubt || got.error().code == Errc::unavailable);
  });
  EXPECT_EQ(boss.row(id).state, JobState::queued);
  const Claimed claimed = worker.claim("w2");
  ASSERT_EQ(claimed.what, Got::running);
  in_flight([&] {
    const auto finished = worker.engine().finish(done(claimed), soon());
    ASSERT_FALSE(finished);
    EXPECT_TRUE(finished.error().code == Errc::in_doubt || finished.error().code == Errc::unavailable);
  });
  EXPECT_EQ(boss.row(id).state, JobState::running);
  EXPECT_TRUE(worker.finish(claimed).finished);
}

TEST_F(JobRaces, a_server_that_is_killed_while_they_work_loses_no_job) {
  PostgresServer server({.authentication = "trust"});
  make_tables(server.url());
  {
    Worker boss(server.url());
    for (int i = 0; i < 60; ++i)
      boss.enqueue(
          job_of("key " + std::to_string(i % 3), {.lock_ttl = 500ms, .on_conflict = OnConflict::wait}));
  }
  std::atomic<int> finished = 0;
  std::atomic<bool> killed = false;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t, connected = std::make_unique<Worker>(server.url())] {
      Worker& worker = *connected;
      const Instant end = BootClock::now() + 60s;
      for (int n = 0; finished < 60 && BootClock::now() < end; ++n) {
        const auto got = worker.try_claim(std::to_string(t) + "." + std::to_string(n), 500ms);
        if (!got) {
          EXPECT_TRUE(got.error().code == Errc::in_doubt || got.error().code == Errc::unavailable)
              << got.error().detail;
          continue;
        }
        if (got->what != Got::running) continue;
        const auto ended = worker.engine().finish(done(*got), soon());
        if (ended && ended->finished) ++finished;
        // One whose answer was lost may be over all the same.
        EXPECT_TRUE(ended || ended.error().code != Errc::refused);
        if (!ended && await([&] { return killed.load(); })) {
          const auto rows = worker.engine().list({.id = got->job.id}, soon());
          if (rows && rows->at(0).state == JobState::done) ++finished;
        }
      }
    });
  }
  ASSERT_TRUE(await([&] { return finished > 10; }));
  server.kill();
  server.start();
  killed = true;
  threads.clear();
  Worker boss(server.url());
  EXPECT_TRUE(await([&] {
    const auto got = boss.try_claim("late");
    if (got && got->what == Got::running) boss.finish(*got);
    return boss.list({.state = JobState::done}).size() == 60;
  }));
}

}  // namespace
}  // namespace holdfast::test
