// SPDX-License-Identifier: Apache-2.0
// Jobs in MongoDB with many at once, with many that wait, and with a server that is killed meanwhile.
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "tests/mongodb/suite.h"
#include "tests/support/worker.h"

namespace holdfast::test {
namespace {

class JobLoadOfMongo : public MongoTest {
 protected:
  // How many jobs ended in which state, once all have.
  std::map<JobState, int> ends(Worker& worker) {
    std::map<JobState, int> count;
    for (const JobRow& row : worker.list({.limit = 10'000})) ++count[row.state];
    return count;
  }
  void run_all(OnConflict on_conflict);
};

TEST_F(JobLoadOfMongo, of_all_clients_that_enqueue_a_loner_one_succeeds_and_the_others_are_counted) {
  constexpr int threads = 40, times = 50;
  Worker first(url());
  std::atomic<int> enqueued = 0, duplicates = 0;
  std::vector<std::jthread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      Worker worker(url());
      for (int i = 0; i < times; ++i) {
        const EnqueueReply told = worker.loner("k");
        ++(told.what == EnqueueOutcome::enqueued ? enqueued : duplicates);
      }
    });
  }
  all.clear();
  EXPECT_EQ(enqueued, 1);
  EXPECT_EQ(duplicates, threads * times - 1);
  const auto jobs = first.list({});
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].duplicates, static_cast<std::uint64_t>(threads * times - 1));
}

void JobLoadOfMongo::run_all(OnConflict on_conflict) {
  constexpr int workers = 20, jobs = 600, keys = 5;
  Worker boss(url());
  for (int i = 0; i < jobs; ++i)
    boss.enqueue("key " + std::to_string(i % keys), {.lock_ttl = 1h, .on_conflict = on_conflict});
  std::array<std::atomic<int>, keys> inside{};
  std::atomic<int> overlaps = 0, over = 0, twice = 0;
  std::mutex mutex;
  std::set<std::uint64_t> started;
  std::vector<std::jthread> all;
  for (int w = 0; w < workers; ++w) {
    all.emplace_back([&, w] {
      Worker worker(url());
      for (int i = 0; over < jobs; ++i) {
        const Claimed claimed = worker.claim("w" + std::to_string(w) + "." + std::to_string(i));
        if (claimed.what == Got::dropped) ++over;
        if (claimed.what == Got::nothing) let_pass(std::min<Millis>(claimed.next, 20ms));  // as a worker does
        if (claimed.what != Got::running) continue;
        {
          const std::lock_guard lock(mutex);
          if (!started.insert(to_number(claimed.job.id)).second) ++twice;
        }
        auto& here = inside[static_cast<std::size_t>(claimed.job.key.back() - '0')];
        if (++here != 1) ++overlaps;
        let_pass(1ms);
        --here;
        const Finished finished = worker.finish(claimed);
        EXPECT_TRUE(finished.finished);
        EXPECT_TRUE(finished.released);
        ++over;
      }
    });
  }
  all.clear();
  EXPECT_EQ(overlaps, 0);
  EXPECT_EQ(twice, 0);
  auto count = ends(boss);
  EXPECT_EQ(count[JobState::done], static_cast<int>(started.size()));
  EXPECT_EQ(count[JobState::done] + count[JobState::dropped], jobs);
  EXPECT_TRUE(on_conflict == OnConflict::drop || count[JobState::done] == jobs);
}

TEST_F(JobLoadOfMongo, jobs_that_wait_for_their_lock_all_run_and_never_two_of_a_key_at_once) {
  run_all(OnConflict::wait);
}

TEST_F(JobLoadOfMongo, jobs_that_are_dropped_for_their_lock_are_all_accounted_for) {
  run_all(OnConflict::drop);
}

// Each cancel meets a claim that is somewhere between its steps.
TEST_F(JobLoadOfMongo, a_job_that_is_cancelled_while_it_is_claimed_stays_so_and_its_lock_is_free) {
  constexpr int workers = 3, jobs = 200;
  Worker boss(url());
  std::atomic<bool> over = false;
  std::vector<std::jthread> all;
  for (int w = 0; w < workers; ++w) {
    all.emplace_back([&, w] {
      Worker worker(url());
      for (int i = 0; !over; ++i) {
        const Claimed claimed = worker.claim("w" + std::to_string(w) + "." + std::to_string(i));
        if (claimed.what != Got::running) continue;
        EXPECT_TRUE(worker.finish(claimed).released);
      }
    });
  }
  std::map<std::uint64_t, bool> cancelled;
  for (int i = 0; i < jobs; ++i) {
    const JobId id = boss.enqueue("key " + std::to_string(i), {.lock_ttl = 1h}).id;
    if (i % 2 == 0) (void)boss.row(id);  // a little later
    cancelled[to_number(id)] = boss.change(id, JobChange::cancel).has_value();
  }
  EXPECT_TRUE(await([&] { return boss.list({.state = JobState::running}).empty(); }));
  over = true;
  all.clear();
  for (const JobRow& row : boss.list({.limit = jobs}))
    EXPECT_EQ(row.state, cancelled[to_number(row.id)] ? JobState::cancelled : JobState::done)
        << to_number(row.id);
  Caller lease(url());
  for (const LeaseRow& row : lease.list({}).leases) EXPECT_EQ(row.remaining, 0ms) << row.key;
}

// Each duplicate meets a claim that is somewhere between its steps.
TEST_F(JobLoadOfMongo, a_job_that_is_replaced_to_a_later_time_while_it_is_claimed_does_not_run_before) {
  constexpr int workers = 3, jobs = 200;
  Worker boss(url());
  std::atomic<bool> over = false;
  std::vector<std::jthread> all;
  for (int w = 0; w < workers; ++w) {
    all.emplace_back([&, w] {
      Worker worker(url());
      for (int i = 0; !over; ++i) {
        const Claimed claimed = worker.claim("w" + std::to_string(w) + "." + std::to_string(i));
        if (claimed.what != Got::running) continue;
        EXPECT_EQ(claimed.job.args, "[1]");
        EXPECT_TRUE(worker.finish(claimed).released);
      }
    });
  }
  NewJob job{.lock_ttl = 1h, .on_conflict = OnConflict::replace, .unique = Unique::until_start};
  std::map<std::uint64_t, bool> replaced;
  for (int i = 0; i < jobs; ++i) {
    const std::string key = "key " + std::to_string(i);
    job.args = "[1]", job.in = 0ms;
    const JobId id = boss.enqueue(key, job).id;
    if (i % 2 == 0) (void)boss.row(id);  // a little later
    job.args = "[2]", job.in = 1h;
    const EnqueueReply told = boss.enqueue(key, job);
    replaced[to_number(told.id)] = true;
    if (told.id != id) replaced[to_number(id)] = false;
  }
  EXPECT_TRUE(await([&] {
    const auto taken = mongo(R"({"count": "locks.holdfast_jobs", "query": {"taker": {"$exists": true}}})");
    return mentions(taken, R"("n" : 0)") && boss.list({.state = JobState::running}).empty();
  }));
  over = true;
  all.clear();
  for (const JobRow& row : boss.list({.limit = 2 * jobs}))
    EXPECT_EQ(row.state, replaced[to_number(row.id)] ? JobState::queued : JobState::done)
        << to_number(row.id);
  Caller lease(url());
  for (const LeaseRow& row : lease.list({}).leases) EXPECT_EQ(row.remaining, 0ms) << row.key;
}

TEST_F(JobLoadOfMongo, a_claim_that_ran_out_is_taken_over_by_one) {
  constexpr int workers = 8, jobs = 60;
  Worker boss(url());
  for (int i = 0; i < jobs; ++i) boss.enqueue("key " + std::to_string(i), {.lock_ttl = 1h});
  for (int i = 0; i < jobs; ++i) boss.claim("dead " + std::to_string(i));
  mongo(R"({"update": "locks.holdfast_jobs", "updates": [{"q": {}, "multi": true,
            "u": {"$set": {"wake_at": {"$date": "2001-01-01T00:00:00Z"}}}}]})");
  std::mutex mutex;
  std::multiset<std::uint64_t> recovered;
  std::vector<std::jthread> all;
  for (int w = 0; w < workers; ++w) {
    all.emplace_back([&, w] {
      Worker worker(url());
      for (int i = 0; i < jobs; ++i) {
        const Claimed claimed = worker.claim("w" + std::to_string(w) + "." + std::to_string(i));
        const std::lock_guard lock(mutex);
        if (claimed.what != Got::running) return;
        recovered.insert(to_number(claimed.job.id));
      }
    });
  }
  all.clear();
  EXPECT_EQ(recovered.size(), static_cast<std::size_t>(jobs));
  for (const JobRow& row : boss.list({})) {
    EXPECT_EQ(recovered.count(to_number(row.id)), 1u);
    EXPECT_EQ(row.crashes, 1);
    EXPECT_EQ(row.attempt, 2);
  }
}

// A server of its own: it counts the index keys that its commands read.
class JobCostOfMongo : public OwnMongoTest {
 protected:
  double scanned() const { return status_of(*server_, "queryExecutor\" : { \"scanned", "scanned"); }
  // That job so many times more, with other ids.
  void copy(JobId id, int first, int count) {
    server_->command("app", R"({"aggregate": "locks.holdfast_jobs", "cursor": {}, "pipeline": [
        {"$match": {"_id": )" + text(id) +
                                R"(}}, {"$set": {"n": {"$range": [0, )" + std::to_string(count) +
                                R"(]}}}, {"$unwind": "$n"}, {"$set": {"_id": {"$toLong": {"$add": ["$n", )" +
                                std::to_string(first) + R"(]}}}}, {"$unset": "n"},
        {"$merge": {"into": "locks.holdfast_jobs"}}]})");
  }
};

// What is not due, waits for its lock, or is over lies in nobody's way, nor do those behind the first.
TEST_F(JobCostOfMongo, a_claim_reads_as_many_index_keys_among_fifty_thousand_jobs_as_among_a_thousand) {
  Worker worker(url());
  const NewJob waits{.priority = -3, .on_conflict = OnConflict::wait};
  worker.enqueue("k", waits);
  const Claimed holds = worker.claim("holds");
  const JobId scout = worker.enqueue("k", waits).id;
  worker.claim("w");
  const JobId parked = worker.enqueue("k", waits).id;
  worker.claim("w");
  ASSERT_TRUE(worker.row(scout).parked && worker.row(parked).parked);
  const JobId later = worker.enqueue("later", {.priority = -2, .in = 1h}).id;
  const JobId done = worker.enqueue("done", {.priority = -1}).id;
  worker.finish(worker.claim("w"));
  const JobId due = worker.enqueue("due", {.limit = 0}).id;

  const auto cost = [&] {
    const double before = scanned();
    for (int i = 0; i < 10; ++i) {
      const Claimed claimed = worker.claim("w" + std::to_string(i));
      EXPECT_EQ(claimed.what, Got::running);
      worker.finish(claimed);
    }
    return scanned() - before;
  };
  int next = 1'000'000;
  const auto grow_to = [&](int count) {
    for (const JobId id : {parked, later, done, due}) copy(id, next += count, count / 4);
  };
  grow_to(1'000);
  const double few = cost();
  grow_to(49'000);
  const double many = cost();
  EXPECT_GT(few, 0);
  // The first parked job checks its lock once a second.
  EXPECT_LE(many, few + 100) << "of 10 claims";
  EXPECT_LT(many, 300);
  EXPECT_EQ(status_of(*server_, "collectionScans", "total"), 0) << "each one by an index";
  worker.finish(holds);
}

class JobTroubleOfMongo : public OwnMongoTest {};

TEST_F(JobTroubleOfMongo, no_acknowledged_job_is_lost_or_stuck_by_a_server_that_is_killed_under_load) {
  constexpr int enqueuers = 3, workers = 4;
  std::mutex mutex;
  std::set<std::uint64_t> acknowledged, finished;
  std::atomic<bool> over = false;
  Worker(url()).enqueue("first");
  std::vector<std::jthread> threads;
  for (int t = 0; t < enqueuers; ++t) {
    threads.emplace_back([&, t] {
      Worker worker(url());
      const NewJob job{.lock_ttl = 2s, .on_conflict = OnConflict::wait};
      for (int i = 0; !over; ++i) {
        const auto told =
            worker.engine().enqueue(job_of("key " + std::to_string((t + i) % 5), job), BootClock::now() + 2s);
        if (!told) return;  // it is down
        const std::lock_guard lock(mutex);
        acknowledged.insert(to_number(told->id));
      }
    });
  }
  const auto work = [&](Worker& worker, const std::string& owner) {
    const auto claimed = worker.try_claim(owner, 2s, BootClock::now() + 2s);
    if (!claimed) return false;
    if (claimed->what != Got::running) return true;
    const auto told = worker.engine().finish(done(*claimed), BootClock::now() + 2s);
    if (!told) return false;
    const std::lock_guard lock(mutex);
    if (told->finished) finished.insert(to_number(claimed->job.id));
    return true;
  };
  for (int w = 0; w < workers; ++w) {
    threads.emplace_back([&, w] {
      Worker worker(url());
      for (int i = 0; work(worker, "w" + std::to_string(w) + "." + std::to_string(i));) ++i;
    });
  }
  EXPECT_TRUE(await([&] {
    const std::lock_guard lock(mutex);
    return acknowledged.size() > 200 && finished.size() > 50;
  }));
  server_->kill();
  over = true;
  threads.clear();
  server_->start();

  Worker later(url());
  std::map<std::uint64_t, JobState> there;
  for (const JobRow& row : later.list({.limit = 100'000})) there.emplace(to_number(row.id), row.state);
  for (const std::uint64_t id : acknowledged) EXPECT_TRUE(there.contains(id)) << "job " << id;
  for (const std::uint64_t id : finished) EXPECT_EQ(there[id], JobState::done) << "job " << id;
  int i = 0;
  EXPECT_TRUE(await(
      [&] {
        work(later, "later " + std::to_string(++i));
        return later.list({.state = JobState::queued, .limit = 1}).empty() &&
               later.list({.state = JobState::running, .limit = 1}).empty();
      },
      1min));
  for (const JobRow& row : later.list({.limit = 100'000}))
    EXPECT_EQ(row.state, JobState::done) << "job " << to_number(row.id);
}

}  // namespace
}  // namespace holdfast::test
