// SPDX-License-Identifier: Apache-2.0
// Many at once, and what must never happen (reference/jobs.md 5).  Those with processes: kill_test.cpp.
#include <array>
#include <atomic>
#include <random>
#include <set>
#include <thread>

#include "jobs/schedule.h"
#include "tests/jobs/hooked.h"
#include "tests/jobs/suite.h"

namespace holdfast::test {
namespace {

// Records which job runs under which key, and whether the tokens rose.
class Witness {
 public:
  void enter(int key, Token token) {
    Seen& seen = keys_.at(static_cast<std::size_t>(key));
    if (++seen.inside > 1) ++overlaps_;
    if (seen.last.exchange(to_number(token)) >= to_number(token)) ++fallen_;
  }
  void leave(int key) { --keys_.at(static_cast<std::size_t>(key)).inside; }
  int overlaps() const { return overlaps_; }
  int fallen() const { return fallen_; }

 private:
  struct Seen {
    std::atomic<int> inside = 0;
    std::atomic<std::uint64_t> last = 0;
  };
  std::array<Seen, 5> keys_;
  std::atomic<int> overlaps_ = 0, fallen_ = 0;
};

class Trial : public JobsOn {
 protected:
  std::vector<JobRow> all(std::string_view name) { return jobs_.list({.name = name, .limit = 10000}); }
  std::size_t count(std::string_view name, JobState state) {
    return jobs_.list({.name = name, .state = state, .limit = 10000}).size();
  }
};

TEST_P(Trial, of_many_loners_enqueued_at_once_one_is_and_the_rest_are_counted) {
  constexpr int callers = 20, times = 20;
  std::array<Jobs, 4> clients{Jobs(Client(database_->new_client())), Jobs(Client(database_->new_client())),
                              Jobs(Client(database_->new_client())), jobs_};
  std::mutex mutex;
  std::set<JobId> told;
  std::atomic<int> enqueued = 0, duplicates = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < callers; ++i) {
    threads.emplace_back([&, i] {
      const Jobs& jobs = clients[static_cast<std::size_t>(i) % clients.size()];
      for (int n = 0; n < times; ++n) {
        const auto result = jobs.try_enqueue("Lonely", {}, {.lock = JobLock{.loner = true}}).value();
        ++(id_of(result) != no_job ? enqueued : duplicates);
        const std::lock_guard lock(mutex);
        told.insert(id_of(result) != no_job ? id_of(result) : duplicate_of(result));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(enqueued, 1);
  EXPECT_EQ(told.size(), 1u);
  ASSERT_EQ(all("Lonely").size(), 1u);
  EXPECT_EQ(all("Lonely").front().duplicates, static_cast<std::uint64_t>(callers * times - 1));
}

// 20 threads of 5 workers on 5 keys.
class Conflict : public Trial {
 protected:
  static constexpr std::size_t jobs = 150;
  void run(OnConflict on_conflict) {
    jobs_.define("Key", {.lock = JobLock{.on_conflict = on_conflict}},
                 [&](JobContext& context, const Args& args) {
                   witness_.enter(args.get<int>(0), context.token());
                   std::this_thread::yield();
                   let_pass(1ms);
                   witness_.leave(args.get<int>(0));
                   ++ran_;
                 });
    std::vector<std::unique_ptr<JobWorker>> workers;
    for (std::size_t i = 0; i < jobs; ++i) jobs_.enqueue("Key", Args::of(i % 5));
    for (int i = 0; i < 5; ++i) workers.push_back(std::make_unique<JobWorker>(jobs_, quick(4)));
    EXPECT_TRUE(await(
        [&] {
          return events_.count(What::done) + events_.count(What::dropped) + events_.count(What::died) >= jobs;
        },
        90s));
    EXPECT_EQ(witness_.overlaps(), 0);
    EXPECT_EQ(witness_.fallen(), 0);
    EXPECT_EQ(static_cast<std::size_t>(ran_), count("Key", JobState::done));
    for (const int key : {0, 1, 2, 3, 4}) EXPECT_FALSE(jobs_.locked("lock:Key:" + std::to_string(key)));
  }

  Witness witness_;
  std::atomic<int> ran_ = 0;
};

TEST_P(Conflict, those_that_wait_all_run) {
  run(OnConflict::wait);
  EXPECT_EQ(count("Key", JobState::done), jobs);
}

TEST_P(Conflict, those_that_replace_wait_as_well) {
  run(OnConflict::replace);
  EXPECT_EQ(count("Key", JobState::done), jobs);
}

TEST_P(Conflict, those_that_are_dropped_name_the_holder) {
  run(OnConflict::drop);
  EXPECT_GT(count("Key", JobState::done), 0u);
  EXPECT_EQ(count("Key", JobState::done) + count("Key", JobState::dropped), jobs);
  std::set<std::string> owners;
  for (const JobEvent& event : events_.of(What::started)) owners.insert(event.job.owner);
  for (const JobRow& dropped : all("Key")) {
    if (dropped.state != JobState::dropped) continue;
    EXPECT_TRUE(owners.contains(dropped.error)) << dropped.error;
  }
}

TEST_P(Conflict, those_that_raise_are_dead_with_a_reason) {
  run(OnConflict::raise);
  EXPECT_GT(count("Key", JobState::done), 0u);
  EXPECT_EQ(count("Key", JobState::done) + count("Key", JobState::dead), jobs);
  for (const JobRow& dead : all("Key")) {
    if (dead.state != JobState::dead) continue;
    EXPECT_NE(dead.error.find(" is held by "), std::string::npos) << dead.error;
  }
}

// A worker that crashes here has claimed and does not know it.
TEST_P(Trial, a_limit_of_three_holds_through_crashes_and_leaves_three_free) {
  std::atomic<int> inside = 0, most = 0, crashes = 0, lost = 0;
  std::atomic<bool> crashing = true;
  std::mutex mutex;
  std::minstd_rand random(1);
  const Hooks hooks{.after = [&](Step step) -> Status {
    if (step != Step::claim || !crashing) return Status{};
    const std::lock_guard lock(mutex);
    if (random() % 12 != 0) return Status{};
    ++crashes;
    return Error{Errc::unavailable, "a crash"};
  }};
  Jobs jobs{Client(hooked(database_->new_client(), hooks))};
  jobs.define("Three", {.lock = JobLock{.limit = 3}}, [&](JobContext& context, const Args&) {
    const int now = ++inside;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    // The first waits for a second: short jobs on a slow machine would run one after the other.
    await([&] { return most >= 2 || !context.held(); }, 60s);
    let_pass(2ms);
    --inside;
    if (!context.held()) ++lost;  // another may have been let in beside it
  });
  for (int i = 0; i < 60; ++i) jobs.enqueue("Three");
  WorkerOptions options = quick(6);
  options.claim = 1s;
  options.max_crashes = 1000;
  {
    const JobWorker worker(jobs, options);
    ASSERT_TRUE(await([&] { return crashes >= 3; }, 60s));
    crashing = false;
    ASSERT_TRUE(await([&] { return count("Three", JobState::done) == 60; }, 60s));
  }
  EXPECT_LE(most, 3 + lost);
  EXPECT_GE(most, 2) << "they did run at once";
  Client other(database_->new_client());
  std::vector<Lease> leases;
  for (const char* key : {"lock:Three:#1", "lock:Three:#2", "lock:Three:#3"}) {
    auto lease = other.try_acquire(key);
    EXPECT_TRUE(lease.has_value()) << key;
    if (lease) leases.push_back(*std::move(lease));
  }
}

TEST_P(Trial, what_ends_a_job_frees_its_slot_and_what_does_not_keeps_it) {
  const JobOptions loner{.lock = JobLock{.loner = true}, .max_attempts = 2, .backoff = 1h};
  std::atomic<int> ran = 0;
  jobs_.define("Lonely", loner, [&](JobContext&, const Args&) {
    ++ran;
    throw std::runtime_error("no");
  });
  const JobId id = id_of(jobs_.enqueue("Lonely"));
  {
    JobWorker worker(jobs_, quick());
    ASSERT_TRUE(events_.await(What::failed));
  }
  EXPECT_EQ(duplicate_of(jobs_.enqueue("Lonely")), id) << "it will be retried";
  jobs_.cancel(id);
  const JobId second = id_of(jobs_.enqueue("Lonely"));
  ASSERT_NE(second, no_job) << "cancelled";
  EXPECT_FALSE(jobs_.try_retry(id).has_value()) << "its slot is the second's";
  jobs_.remove(second);
  EXPECT_EQ(jobs_.retry(id).state, JobState::queued) << "removed";
  EXPECT_EQ(duplicate_of(jobs_.enqueue("Lonely")), id);
  jobs_.define("Lonely", {.lock = JobLock{.loner = true}}, [](JobContext&, const Args&) {});
}

TEST_P(Trial, a_dead_loner_frees_its_slot_and_one_until_success_keeps_it) {
  const auto dies = [](JobContext&, const Args&) { throw std::runtime_error("no"); };
  jobs_.define("Lonely", {.lock = JobLock{.loner = true}, .max_attempts = 1}, dies);
  jobs_.define("Strict", {.lock = JobLock{.unique = Unique::until_success}, .max_attempts = 1}, dies);
  jobs_.enqueue("Lonely");
  const JobId strict = id_of(jobs_.enqueue("Strict"));
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(events_.await(What::died, 2));
  EXPECT_NE(id_of(jobs_.enqueue("Lonely")), no_job);
  EXPECT_EQ(duplicate_of(jobs_.enqueue("Strict")), strict);
  jobs_.cancel(strict);
  EXPECT_NE(id_of(jobs_.enqueue("Strict")), no_job);
}

TEST_P(Trial, a_job_that_waits_longer_than_any_timeout_still_runs) {
  jobs_.define("Patient", {.lock = JobLock{.timeout = 20ms}}, [](JobContext&, const Args&) {});
  Client other(database_->new_client());
  Lease lease = other.acquire("lock:Patient:");
  const JobId id = id_of(jobs_.enqueue("Patient"));
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(await([&] { return row(id).parked; }));
  let_pass(60ms);
  EXPECT_EQ(state(id), JobState::queued);
  lease.release();
  EXPECT_TRUE(await_state(id, JobState::done));
}

TEST_P(Trial, an_event_during_a_run_makes_exactly_one_more) {
  std::atomic<int> began = 0, ended = 0;
  std::atomic<bool> go = false;
  jobs_.define("Index", {.lock = JobLock{.unique = Unique::until_start}}, [&](JobContext&, const Args&) {
    ++began;
    await([&] { return go.load(); });
    ++ended;
  });
  jobs_.enqueue("Index");
  JobWorker worker(jobs_, quick(4));
  ASSERT_TRUE(await([&] { return began == 1; }));
  const JobId next = id_of(jobs_.enqueue("Index"));
  EXPECT_NE(next, no_job) << "the one that runs has seen nothing of this";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(duplicate_of(jobs_.enqueue("Index")), next);
  ASSERT_TRUE(await([&] { return row(next).parked; }));
  EXPECT_EQ(began, 1);
  go = true;
  ASSERT_TRUE(await_state(next, JobState::done));
  worker.wait_until_idle();
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(all("Index").size(), 2u);
}

// -- callbacks that throw

TEST_P(Trial, a_lock_failed_that_throws_leaves_nothing_behind) {
  JobOptions options{.lock = JobLock::active_job_lock({.loner = true}), .max_attempts = 1};
  options.lock_failed = [](JobContext&, const Args&) { throw std::runtime_error("told off"); };
  jobs_.define("Thrower", options, [](JobContext&, const Args&) {});
  const JobId id = id_of(jobs_.enqueue("Thrower"));
  Client other(database_->new_client());
  Lease lease = other.acquire("lock:Thrower:");
  EXPECT_THROW((void)jobs_.perform_now("Thrower", {}, options, [](JobContext&, const Args&) {}),
               std::runtime_error);
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(events_.await(What::died));
  EXPECT_EQ(row(id).error, "told off");
  EXPECT_FALSE(row(id).slotted);
  lease.release();
  EXPECT_NE(id_of(jobs_.enqueue("Thrower")), no_job);
  EXPECT_TRUE(events_.await(What::done)) << "the worker goes on";
}

TEST_P(Trial, a_loner_enqueue_failed_that_throws_does_so_to_the_caller) {
  JobOptions options{.lock = JobLock{.loner = true}};
  options.loner_enqueue_failed = [](const Duplicate&, const Args&) { throw std::runtime_error("twice"); };
  const JobId id = id_of(jobs_.try_enqueue("Thrower", {}, options).value());
  EXPECT_THROW((void)jobs_.try_enqueue("Thrower", {}, options), std::runtime_error);
  EXPECT_EQ(row(id).duplicates, 1u);
  jobs_.cancel(id);
  EXPECT_NE(id_of(jobs_.try_enqueue("Thrower", {}, options).value()), no_job);
}

TEST_P(Trial, a_lock_expired_that_throws_is_reported_and_changes_nothing) {
  JobOptions options{.lock = JobLock{.timeout = 500ms}};
  options.lock_expired_before_release = [](JobContext&, const Args&) {
    throw std::runtime_error("too slow");
  };
  const JobFunction slow = [&](JobContext&, const Args&) {
    await([&] { return !jobs_.locked("lock:Thrower:"); });  // the store decides
  };
  jobs_.define("Thrower", options, slow);
  const JobId id = id_of(jobs_.enqueue("Thrower"));
  {
    JobWorker worker(jobs_, quick());
    ASSERT_TRUE(events_.await(What::expired));
  }
  EXPECT_NE(events_.of(What::expired).at(0).detail.find("too slow"), std::string::npos);
  EXPECT_EQ(state(id), JobState::done);
  EXPECT_FALSE(jobs_.locked("lock:Thrower:"));
  EXPECT_THROW((void)jobs_.perform_now("Thrower", {}, options, slow), std::runtime_error);
  EXPECT_FALSE(jobs_.locked("lock:Thrower:"));
}

TEST_P(Trial, what_the_job_throws_comes_before_what_its_callback_throws) {
  JobOptions options{.lock = JobLock{.timeout = 500ms}};
  options.lock_expired_before_release = [](JobContext&, const Args&) { throw std::logic_error("callback"); };
  EXPECT_THROW((void)jobs_.perform_now("Thrower", {}, options,
                                       [&](JobContext&, const Args&) {
                                         await([&] { return !jobs_.locked("lock:Thrower:"); });
                                         throw std::runtime_error("job");
                                       }),
               std::runtime_error);
}

// -- one of five with the same tick

TEST_P(Trial, of_five_that_enqueue_the_same_tick_one_does) {
  std::atomic<int> won = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&] {
      const Jobs jobs{Client(database_->new_client())};
      for (std::int64_t tick = 60; tick <= 300; tick += 60) {
        const auto told =
            JobSchedules::enqueue(jobs, "Tick", {}, {}, {.name = "cron:x", .tick = tick}).value();
        if (id_of(told) != no_job) ++won;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(static_cast<std::size_t>(won), all("Tick").size());
  EXPECT_GE(won, 1);
  EXPECT_LE(won, 5);
  EXPECT_EQ(jobs_.tick("cron:x").tick, 300);
}

HOLDFAST_ON_STORES(Trial, job_kinds());
HOLDFAST_ON_STORES(Conflict, job_kinds());

}  // namespace
}  // namespace holdfast::test
