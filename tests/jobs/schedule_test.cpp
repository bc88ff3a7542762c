// SPDX-License-Identifier: Apache-2.0
// Schedules on a store whose wall clock the test sets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <mutex>
#include <optional>

#include "holdfast/job_worker.h"
#include "holdfast/memory.h"
#include "tests/jobs/hooked.h"
#include "tests/jobs/suite.h"

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Misfire = CronOptions::Misfire;
using Overlap = CronOptions::Overlap;

constexpr Moment noon(20'000 * std::chrono::hours(24) + 12h);

class Schedules : public ::testing::Test {
 protected:
  // A schedule that ticks at every full hour, kept until it has polled at least once and there are so many
  // jobs.
  void keep(CronOptions options = {}, std::size_t so_many = 0) {
    const int before = looks_;
    std::weak_ptr<const Store> alive;
    {
      const auto store = hooked(memory::store(database_), {.after = [this](Step step) {
                                  if (step == Step::tick) ++looks_;
                                  return Status{};
                                }});
      alive = store;
      Jobs jobs{Client(store)};
      jobs.cron("Hourly", "0 * * * *", "UTC", std::move(options));
      EXPECT_TRUE(await([&] { return looks_ > before && hours().size() >= so_many; }));
    }
    EXPECT_TRUE(alive.expired()) << "its thread has ended";
  }
  Jobs process() {
    return Jobs(Client(hooked(memory::store(database_), {.after = [this](Step step) {
                                if (step == Step::tick) ++looks_;
                                return Status{};
                              }})));
  }
  // The hours since noon of the jobs there are, in order.
  std::vector<long> hours() {
    std::vector<long> found;
    for (const JobRow& row : jobs_.list({.name = "Hourly"})) found.push_back((row.run_at - noon) / 1h);
    std::reverse(found.begin(), found.end());
    return found;
  }
  void at(Micros since_noon) { wall_ = noon + since_noon; }
  // As if there had been one of noon.
  void begin() { (void)jobs_.take_tick({.name = "cron:Hourly", .tick = noon.time_since_epoch() / 1s}); }

  std::atomic<Moment> wall_{noon};
  std::atomic<int> looks_ = 0;
  const std::shared_ptr<memory::Database> database_ =
      memory::make_database({.expiry = BootClock::now, .wall = [this] { return wall_.load(); }});
  Jobs jobs_{Client(memory::store(database_))};
};

TEST_F(Schedules, a_new_schedule_begins_now) {
  at(5h + 30min);
  keep();
  EXPECT_THAT(hours(), IsEmpty());
  at(6h);
  keep({.misfire = Misfire::skip});
  EXPECT_THAT(hours(), ElementsAre(6));
}

TEST_F(Schedules, missed_ticks_follow_the_misfire_option) {
  begin();
  at(3h + 30min);
  keep({.misfire = Misfire::skip});
  EXPECT_THAT(hours(), IsEmpty());
  keep();
  EXPECT_THAT(hours(), ElementsAre(3));
  keep();
  EXPECT_THAT(hours(), ElementsAre(3)) << "once";
}

TEST_F(Schedules, all_are_made_up_for_within_the_deadline) {
  begin();
  at(9h + 30min);
  keep({.misfire = Misfire::all, .deadline = 4h, .overlap = Overlap::allow}, 4);
  EXPECT_THAT(hours(), ElementsAre(6, 7, 8, 9));
}

TEST_F(Schedules, a_schedule_that_ends_leaves_later_ticks_to_the_next_process) {
  begin();
  at(9h + 30min);
  std::atomic<bool> go = false, inside = false;
  std::optional<Jobs> jobs(Client(hooked(memory::store(database_), {.before = [&](Step step) {
                                           if (step != Step::enqueue) return Status{};
                                           inside = true;
                                           EXPECT_TRUE(await([&] { return go.load(); }));
                                           return Status{};
                                         }})));
  const CronOptions all{.misfire = Misfire::all, .deadline = 4h, .overlap = Overlap::allow};
  jobs->cron("Hourly", "0 * * * *", "UTC", all);
  ASSERT_TRUE(await([&] { return inside.load(); }));
  auto last = std::async(std::launch::async, [&] { jobs.reset(); });
  EXPECT_EQ(last.wait_for(100ms), std::future_status::timeout);
  go = true;
  last.get();
  EXPECT_THAT(hours(), ElementsAre(6));
  keep(all, 4);
  EXPECT_THAT(hours(), ElementsAre(6, 7, 8, 9));
}

TEST_F(Schedules, skip_leaves_a_tick_out_for_good_while_the_last_one_is_not_over) {
  begin();
  at(1h);
  keep();
  at(2h);
  keep();
  EXPECT_THAT(hours(), ElementsAre(1));
  jobs_.cancel(jobs_.list({.name = "Hourly"}).at(0).id);
  at(2h + 30min);
  keep();
  EXPECT_THAT(hours(), ElementsAre(1)) << "two o'clock was left out, not missed";
  at(3h);
  keep();
  EXPECT_THAT(hours(), ElementsAre(1, 3));
}

TEST_F(Schedules, wait_queues_them_and_allow_lets_them_run_at_once) {
  for (const Overlap overlap : {Overlap::wait, Overlap::allow}) {
    const Micros from = overlap == Overlap::wait ? 0h : 3h;
    at(from);
    (void)jobs_.take_tick({.name = "cron:Hourly", .tick = (noon + from).time_since_epoch() / 1s});
    std::atomic<int> inside = 0, most = 0;
    std::atomic<bool> go = false;
    jobs_.define("Hourly", {}, [&](JobContext&, const Args&) {
      most = std::max(most.load(), ++inside);
      await([&] { return go.load(); });
      --inside;
    });
    at(from + 2h);
    keep({.misfire = Misfire::all, .overlap = overlap}, overlap == Overlap::wait ? 2 : 4);
    Events events;
    JobWorker worker(jobs_, {.threads = 3, .poll = 5ms, .on_event = [&](const JobEvent& e) { events(e); }});
    if (overlap == Overlap::wait) {
      EXPECT_TRUE(await([&] {
        const auto rows = jobs_.list({.name = "Hourly", .state = JobState::queued});
        return inside == 1 && rows.size() == 1 && rows.front().parked;
      }));
    } else {
      EXPECT_TRUE(await([&] { return inside == 2; }));
    }
    go = true;
    EXPECT_TRUE(events.await(What::done, 2));
    EXPECT_EQ(most, overlap == Overlap::wait ? 1 : 2);
  }
}

TEST_F(Schedules, of_five_processes_one_wins_each_tick) {
  at(-1s);
  std::mutex polling;  // the clock is not set in the middle of a poll
  struct Polls {
    std::atomic<int> before = 0, at_the_hour = 0;
  };
  std::array<Polls, 5> all{};
  std::vector<Jobs> processes;
  for (Polls& polls : all) {
    const auto begin = [&](Step step) {
      if (step == Step::tick) polling.lock();
      return Status{};
    };
    const auto end = [&](Step step) {
      if (step != Step::tick) return Status{};
      ++(wall_.load() < noon ? polls.before : polls.at_the_hour);
      polling.unlock();
      return Status{};
    };
    processes.emplace_back(Client(hooked(memory::store(database_), {.before = begin, .after = end})));
    // That the last one is not over keeps nobody away: the tick alone does.
    processes.back().cron("Hourly", "0 * * * *", "UTC", {.overlap = Overlap::allow});
  }
  const auto await_all = [&](std::atomic<int> Polls::*counter) {
    return await([&] {
      return std::all_of(all.begin(), all.end(), [&](const Polls& polls) { return polls.*counter >= 1; });
    });
  };
  ASSERT_TRUE(await_all(&Polls::before));
  {
    const std::lock_guard lock(polling);
    at(0s);
  }
  EXPECT_TRUE(await_all(&Polls::at_the_hour));
  processes.clear();
  EXPECT_EQ(jobs_.list({.name = "Hourly"}).size(), 1u);
}

TEST_F(Schedules, a_job_whose_functions_throw_does_not_end_the_schedule) {
  std::atomic<bool> throws = true;
  std::atomic<int> asked = 0;
  JobOptions options;
  options.identifier = [&](const Args&) -> std::optional<std::string> {
    ++asked;
    if (throws) throw std::runtime_error("no name today");
    return "x";
  };
  options.loner_enqueue_failed = [](const Duplicate&, const Args&) { throw std::runtime_error("twice"); };
  begin();
  at(1h);
  Jobs jobs = process();
  jobs.define("Hourly", options, [](JobContext&, const Args&) {});
  jobs.cron("Hourly", "0 * * * *", "UTC");
  ASSERT_TRUE(await([&] { return asked > 0; }));
  throws = false;
  ASSERT_TRUE(await([&] { return !hours().empty(); })) << "it polls again";
}

TEST_F(Schedules, the_last_copy_waits_for_what_its_schedule_is_doing) {
  std::atomic<bool> inside = false, go = false;
  std::optional<Jobs> jobs(Client(hooked(memory::store(database_), {.after = [&](Step) {
                                           inside = true;
                                           EXPECT_TRUE(await([&] { return go.load(); }));
                                           inside = false;
                                           return Status{};
                                         }})));
  jobs->cron("Hourly", "0 * * * *", "UTC");
  ASSERT_TRUE(await([&] { return inside.load(); }));
  auto last = std::async(std::launch::async, [&] {
    jobs.reset();
    return inside.load();
  });
  EXPECT_EQ(last.wait_for(100ms), std::future_status::timeout);
  go = true;
  EXPECT_FALSE(last.get()) << "the process may end now, and its time zones with it";
}

TEST_F(Schedules, the_stores_clock_decides_and_not_ours) {
  // Decades away from ours, and set while a job runs.
  std::atomic<bool> go = false, held = false;
  jobs_.define("Far", {}, [&](JobContext& context, const Args&) {
    await([&] { return go.load(); });
    held = context.held();
  });
  const auto told = jobs_.in(1h).enqueue("Far");
  const JobRow row = jobs_.list({.id = id_of(told)}).at(0);
  EXPECT_EQ(row.run_at, noon + 1h);
  Events events;
  JobWorker worker(
      jobs_, {.threads = 1, .claim = 4s, .poll = 5ms, .on_event = [&](const JobEvent& e) { events(e); }});
  worker.wait_until_idle();
  EXPECT_EQ(events.count(What::started), 0u);
  at(1h);
  ASSERT_TRUE(events.await(What::started));
  at(-24h * 365);
  let_pass(1700ms);  // a heartbeat
  at(24h * 365);
  let_pass(1700ms);
  go = true;
  ASSERT_TRUE(events.await(What::done));
  EXPECT_TRUE(held);
}

TEST_F(Schedules, what_is_invalid_throws) {
  EXPECT_THROW(jobs_.cron("X", "0 25 * * *", "UTC"), Failure);
  EXPECT_THROW(jobs_.cron("X", "@daily", "Mars/Base"), Failure);
  EXPECT_THROW(jobs_.cron("", "@daily", "UTC"), Failure);
  EXPECT_THROW(jobs_.cron("X", "@daily", "UTC", {.deadline = -1ms}), Failure);
}

// -- when

template <class When>
constexpr bool is_a_time_to_run = requires(const Jobs& jobs, When when) {
  jobs.at(when);
};
static_assert(is_a_time_to_run<Moment> && is_a_time_to_run<std::chrono::sys_seconds>);
static_assert(!is_a_time_to_run<Micros> && !is_a_time_to_run<Instant>);

TEST_F(Schedules, a_job_runs_at_a_moment_of_any_precision) {
  const auto run_at = [&](const Jobs& jobs) {
    return jobs_.list({.id = id_of(jobs.enqueue("Then"))}).at(0).run_at;
  };
  EXPECT_EQ(run_at(jobs_.at(noon + 1h)), noon + 1h);
  EXPECT_EQ(run_at(jobs_.at(std::chrono::floor<std::chrono::days>(noon))), noon - 12h);
  EXPECT_EQ(run_at(jobs_.at(noon + 1999ns)), noon + 1us);
  EXPECT_EQ(run_at(jobs_.at(noon).in(1h)), noon + 1h) << "what is said last counts";
}

// -- in whose transaction

TEST_F(Schedules, an_enqueuer_of_ones_own_is_asked_instead) {
  const auto engine = memory::store(database_)->jobs(BootClock::now() + 5s).value();
  struct Counting final : Enqueuer {
    explicit Counting(JobEngine& e) : inner(e) {}
    Result<EnqueueReply> enqueue(const NewJob& job, Instant until) override {
      ++asked;
      return inner.enqueue(job, until);
    }
    JobEngine& inner;
    int asked = 0;
  } transaction(*engine);
  const JobId id = id_of(jobs_.in(transaction).in(1h).enqueue("Mine"));
  EXPECT_EQ(transaction.asked, 1);
  EXPECT_EQ(jobs_.list({.id = id}).at(0).run_at, noon + 1h);
  jobs_.enqueue("Mine");
  EXPECT_EQ(transaction.asked, 1) << "only what was asked for in it";
}

}  // namespace
}  // namespace holdfast::test
