// SPDX-License-Identifier: Apache-2.0
// Many clients that enqueue and many workers, each with a connection of its own.
#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "tests/mariadb/suite.h"
#include "tests/support/hot_job.h"
#include "tests/support/worker.h"

namespace holdfast::test {
namespace {

class JobsRacing : public MariaTest {
 protected:
  JobsRacing() { make_tables(url()); }

  template <class Work>
  static void at_once(int many, Work work) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < many; ++i) threads.emplace_back([i, &work] { work(i); });
  }
};

TEST_P(JobsRacing, forty_clients_that_enqueue_one_loner_make_one_job) {
  constexpr int callers = 40, times = 50;
  std::atomic<int> enqueued = 0, duplicates = 0;
  std::mutex mutex;
  std::set<std::uint64_t> ids;
  at_once(callers, [&](int) {
    Worker worker(url());
    for (int i = 0; i < times; ++i) {
      const EnqueueReply reply = worker.loner("k");
      (reply.what == EnqueueOutcome::enqueued ? enqueued : duplicates) += 1;
      EXPECT_TRUE(reply.what == EnqueueOutcome::enqueued || reply.what == EnqueueOutcome::duplicate);
      const std::lock_guard lock(mutex);
      ids.insert(to_number(reply.id));
    }
  });
  EXPECT_EQ(enqueued, 1);
  EXPECT_EQ(duplicates, callers * times - 1);
  ASSERT_EQ(ids.size(), 1u);
  EXPECT_EQ(Worker(url()).row(JobId{*ids.begin()}).duplicates, std::uint64_t{callers * times - 1});
  EXPECT_EQ(query("SELECT COUNT(*) FROM holdfast_jobs"), "1");
}

TEST_P(JobsRacing, a_claim_is_kept_while_the_key_of_its_job_is_enqueued_all_the_time) {
  expect_the_claim_of_a_hot_job_is_kept([&] { return try_store(url()).value(); });
}

// What becomes of `jobs` jobs on five keys, if twenty workers do them all.
class JobsWorking : public JobsRacing {
 protected:
  static constexpr int workers = 20, jobs = 600, keys = 5;

  void work_off(OnConflict on_conflict) {
    {
      Worker worker(url());
      for (int i = 0; i < jobs; ++i)
        worker.enqueue("k" + std::to_string(i % keys), {.on_conflict = on_conflict});
    }
    const Instant end = BootClock::now() + 200s;
    at_once(workers, [&](int who) { work(who, end); });
  }

  void work(int who, Instant end) {
    Worker worker(url());
    for (int n = 0; done_ + dropped_ < jobs && BootClock::now() < end; ++n) {
      const Claimed claimed = worker.claim(std::to_string(who) + "." + std::to_string(n));
      if (claimed.what == Got::dropped) {
        ++dropped_;
      } else if (claimed.what == Got::running) {
        std::atomic<int>& running = running_[static_cast<std::size_t>(claimed.job.key.back() - '0')];
        if (++running != 1) ++overlaps_;
        let_pass(1ms);
        --running;
        EXPECT_TRUE(worker.finish(claimed).finished);
        ++done_;
      } else {
        EXPECT_EQ(claimed.what, Got::nothing);
        let_pass(std::min<Millis>(claimed.next, 20ms));
      }
    }
  }
  int in_state(const std::string& state) const {
    return std::stoi(query("SELECT COUNT(*) FROM holdfast_jobs WHERE state = '" + state + "'"));
  }

  std::array<std::atomic<int>, keys> running_{};
  std::atomic<int> overlaps_ = 0, done_ = 0, dropped_ = 0;
};

TEST_P(JobsWorking, jobs_that_wait_are_all_done_and_none_beside_another) {
  work_off(OnConflict::wait);
  EXPECT_EQ(overlaps_, 0);
  EXPECT_EQ(done_, jobs);
  EXPECT_EQ(in_state("done"), jobs);
  EXPECT_EQ(query("SELECT COUNT(*) FROM locks WHERE locked_by IS NOT NULL"), "0");
}

TEST_P(JobsWorking, jobs_that_are_dropped_are_all_accounted_for) {
  work_off(OnConflict::drop);
  EXPECT_EQ(overlaps_, 0);
  EXPECT_EQ(done_ + dropped_, jobs);
  EXPECT_EQ(in_state("done"), done_);
  EXPECT_EQ(in_state("dropped"), dropped_);
  EXPECT_GE(done_, keys);
}

TEST_P(JobsRacing, the_first_tick_of_a_name_has_one_taker) {
  constexpr int callers = 10, names = 20;
  std::array<std::atomic<int>, names> taken{}, enqueued{};
  at_once(callers, [&](int) {
    Worker worker(url());
    for (std::size_t i = 0; i < names; ++i) {
      const std::string name = "report" + std::to_string(i), other = "other" + std::to_string(i);
      taken[i] += worker.engine().take_tick({.name = name, .tick = 7}, soon()).value().taken ? 1 : 0;
      enqueued[i] +=
          worker.enqueue("k", {.tick_name = other, .tick = 7}).what == EnqueueOutcome::enqueued ? 1 : 0;
    }
  });
  for (std::size_t i = 0; i < names; ++i) {
    EXPECT_EQ(taken[i], 1);
    EXPECT_EQ(enqueued[i], 1);
  }
}

// Somebody has enqueued the loner and has not committed.
class JobsOfStrangers : public JobsRacing {
 protected:
  void insert_loner(Stranger& other) const {
    other.run("BEGIN");
    other.run(
        "INSERT INTO holdfast_jobs SET name = 'Theirs', queue = 'default', args = '[]', `key` = 'k', "
        "priority = 0, state = 'queued', enqueued_at = UTC_TIMESTAMP(6), run_at = UTC_TIMESTAMP(6), "
        "due_at = UTC_TIMESTAMP(6), attempt = 0, crashes = 0, max_attempts = 1, lock_ttl_ms = 1000, "
        "lock_fixed = 0, lock_limit = 1, on_conflict = 'drop', uniqueness = 'loner', parked = 0, "
        "holder = '', lock_key = '', lock_token = 0, duplicates = 0, error = '', trail = '', "
        "slot = 'loner:k', ready_priority = 0");
  }
  EnqueueReply enqueue_while(const std::string& then) {
    const auto other = stranger();
    insert_loner(*other);
    EnqueueReply reply;
    std::atomic<bool> answered = false;
    std::jthread ours([&] {
      reply = Worker(url()).loner("k");
      answered = true;
    });
    EXPECT_TRUE(await([&] { return somebody_waits(); }));
    EXPECT_FALSE(answered);
    other->run(then);
    ours.join();
    return reply;
  }
};

TEST_P(JobsOfStrangers, a_winner_that_rolls_back_loses_no_job) {
  const EnqueueReply reply = enqueue_while("ROLLBACK");
  EXPECT_EQ(reply.what, EnqueueOutcome::enqueued);
  EXPECT_EQ(Worker(url()).row(reply.id).name, "Job");
}

TEST_P(JobsOfStrangers, a_winner_that_commits_has_the_slot) {
  const EnqueueReply reply = enqueue_while("COMMIT");
  EXPECT_EQ(reply.what, EnqueueOutcome::duplicate);
  EXPECT_EQ(Worker(url()).row(reply.id).name, "Theirs");
  EXPECT_EQ(Worker(url()).row(reply.id).duplicates, 1u);
}

HOLDFAST_ON_BOTH(JobsRacing);
HOLDFAST_ON_BOTH(JobsWorking);
HOLDFAST_ON_BOTH(JobsOfStrangers);

}  // namespace
}  // namespace holdfast::test
