// SPDX-License-Identifier: Apache-2.0
// What active_job_lock does and its users rely on (reference/jobs.md 4.2, reference/ancestors.md 4.4), row by
// row; and where we differ, that we do.
#include <algorithm>
#include <map>

#include "holdfast/memory.h"
#include "stores/decorators/faulty.h"
#include "tests/jobs/callbacks.h"

namespace holdfast::test {
namespace {

class Behaviour : public JobsAndCallbacks {};

// -- the lock

TEST_P(Behaviour, of_three_with_the_same_arguments_one_runs_and_two_are_dropped_and_reported) {
  jobs_.define("Same", told({}), stays());
  std::vector<JobId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(id_of(jobs_.enqueue("Same", Args::of(1))));
  JobWorker worker(jobs_, quick(3));
  ASSERT_TRUE(events_.await(What::dropped, 2));
  ASSERT_TRUE(await_inside(1));
  go_ = true;
  ASSERT_TRUE(events_.await(What::done));
  EXPECT_EQ(failed_, 2);
  EXPECT_EQ(ran_, 1);
  const std::string winner = row(events_.of(What::done).at(0).job.id).owner;
  for (const JobEvent& dropped : events_.of(What::dropped)) {
    EXPECT_EQ(dropped.detail, winner) << "it names who had the lock";
    EXPECT_EQ(row(dropped.job.id).error, winner) << "and so does its record";
    EXPECT_EQ(state(dropped.job.id), JobState::dropped);
  }
}

TEST_P(Behaviour, of_three_with_a_timeout_one_runs_as_well) {
  jobs_.define("Same", told({.timeout = 1h}), stays());
  for (int i = 0; i < 3; ++i) jobs_.enqueue("Same", Args::of(1));
  JobWorker worker(jobs_, quick(3));
  ASSERT_TRUE(events_.await(What::dropped, 2));
  const Millis left = jobs_.locked("lock:Same:1").value().remaining;
  EXPECT_GT(left, 50min);
  EXPECT_LE(left, 1h);
  go_ = true;
  ASSERT_TRUE(events_.await(What::done));
  EXPECT_EQ(ran_, 1);
  EXPECT_EQ(failed_, 2);
}

TEST_P(Behaviour, jobs_of_different_arguments_run_at_once) {
  jobs_.define("Apart", {.lock = JobLock{}}, stays());
  jobs_.enqueue("Apart", Args::of(1));
  jobs_.enqueue("Apart", Args::of(2));
  JobWorker worker(jobs_, quick(2));
  EXPECT_TRUE(await_inside(2));
  go_ = true;
  EXPECT_TRUE(events_.await(What::done, 2));
}

TEST_P(Behaviour, the_lock_is_released_by_success_and_by_failure) {
  const JobOptions once{.lock = JobLock{}, .max_attempts = 1};
  jobs_.define("Good", once, [](JobContext&, const Args&) {});
  jobs_.define("Bad", once, [](JobContext&, const Args&) { throw std::runtime_error("no"); });
  jobs_.enqueue("Good");
  jobs_.enqueue("Bad");
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(events_.await(What::done));
  ASSERT_TRUE(events_.await(What::died));
  EXPECT_FALSE(jobs_.locked("lock:Good:"));
  EXPECT_FALSE(jobs_.locked("lock:Bad:"));
}

TEST_P(Behaviour, after_its_timeout_a_second_one_runs_and_the_first_ends_without_touching_its_lock) {
  std::atomic<bool> first_go = false;
  JobOptions options = told({.timeout = 300ms});
  options.lock->on_conflict = OnConflict::wait;
  options.lock_failed = {};
  jobs_.define("Timed", options, [&](JobContext&, const Args&) {
    const int mine = ++inside_;
    if (mine == 1)
      await([&] { return first_go.load(); });
    else
      await([&] { return go_.load(); });
    ++ran_;
  });
  const JobId first = id_of(jobs_.enqueue("Timed"));
  JobWorker worker(jobs_, quick(2));
  ASSERT_TRUE(await_inside(1));
  const JobId second = id_of(jobs_.enqueue("Timed"));
  ASSERT_TRUE(await_inside(2)) << "while the first goes on";
  EXPECT_EQ(state(first), JobState::running);
  const Token seconds = row(second).token;
  EXPECT_GT(to_number(seconds), to_number(row(first).token));
  first_go = true;
  ASSERT_TRUE(events_.await(What::expired));
  EXPECT_EQ(events_.of(What::expired).at(0).job.id, first);
  EXPECT_EQ(state(first), JobState::done);
  EXPECT_GE(expired_, 1);
  go_ = true;
  ASSERT_TRUE(await_state(second, JobState::done));
  EXPECT_EQ(ran_, 2);
}

TEST_P(Behaviour, one_that_throws_after_its_timeout_has_failed_all_the_same) {
  jobs_.define("Late", told({.timeout = 30ms}), [](JobContext& context, const Args&) {
    await([&] { return !context.held(); });
    throw std::runtime_error("too late");
  });
  const JobId id = id_of(jobs_.enqueue("Late"));
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(events_.await(What::died));
  EXPECT_EQ(state(id), JobState::dead);
  EXPECT_EQ(row(id).error, "too late");
}

TEST_P(Behaviour, a_refresh_moves_the_end_of_the_lock) {
  std::atomic<bool> moved = false;
  jobs_.define("Moved", {.lock = JobLock{.timeout = 10min}}, [&](JobContext& context, const Args&) {
    const auto left = [&] { return jobs_.locked("lock:Moved:").value().remaining; };
    await([&] { return left() < Millis(10min) - 500ms; });
    const Millis before = left();
    // What is left is seen a little later, on a slow machine perhaps too late: then again.
    moved = await([&] { return context.refresh_lock() && left() > before; });
  });
  jobs_.enqueue("Moved");
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(events_.await(What::done));
  EXPECT_TRUE(moved);
}

TEST_P(Behaviour, a_refresh_by_key_reaches_every_one_that_runs_here) {
  jobs_.define("Three", {.lock = JobLock{.timeout = 10min, .limit = 3}}, stays());
  for (int i = 0; i < 3; ++i) jobs_.enqueue("Three");
  JobWorker worker(jobs_, quick(3));
  ASSERT_TRUE(await_inside(3));
  Client client = jobs_.client();
  const auto left = [&] {
    std::map<std::string, Millis> of;
    for (const JobRow& job : jobs_.list({.name = "Three"})) of[job.lock] = client.read(job.lock).remaining;
    return of;
  };
  let_pass(500ms);
  const auto before = left();
  ASSERT_EQ(before.size(), 3u);
  // What is left is seen a little later, on a slow machine perhaps too late: then again.
  EXPECT_TRUE(await([&] {
    EXPECT_TRUE(jobs_.refresh_lock("lock:Three:"));
    const auto after = left();
    return std::all_of(before.begin(), before.end(),
                       [&](const auto& lock) { return after.at(lock.first) > lock.second; });
  }));
  go_ = true;
  EXPECT_TRUE(events_.await(What::done, 3));
  EXPECT_FALSE(jobs_.refresh_lock("lock:Three:"));
}

// The older one of two: its lock is gone, and it must not stand before the one that can be refreshed.
TEST_P(Behaviour, a_refresh_by_key_finds_the_one_whose_lock_it_is) {
  std::atomic<bool> first_go = false;
  std::atomic<int> timeout = 30;
  JobOptions options{.lock = JobLock{}};
  options.lock_timeout = [&](const Args&) { return Millis(timeout.load()); };
  jobs_.define("Two", options, [&](JobContext&, const Args&) {
    if (++inside_ == 1)
      await([&] { return first_go.load(); });
    else
      await([&] { return go_.load(); });
  });
  jobs_.enqueue("Two");
  JobWorker worker(jobs_, quick(2));
  ASSERT_TRUE(await_inside(1));
  timeout = 3'600'000;
  jobs_.enqueue("Two");
  ASSERT_TRUE(await_inside(2));
  EXPECT_TRUE(jobs_.refresh_lock("lock:Two:"));
  first_go = go_ = true;
  EXPECT_TRUE(await([&] { return events_.count(What::done) + events_.count(What::expired) == 2; }));
}

TEST_P(Behaviour, a_job_may_name_another_store_for_its_lock) {
  const auto elsewhere = GetParam().make();
  Client locks(elsewhere->new_client());
  JobOptions options = told({});
  options.lock_store = locks;
  jobs_.define("Elsewhere", options, stays());
  jobs_.enqueue("Elsewhere");
  jobs_.enqueue("Elsewhere");
  JobWorker worker(jobs_, quick(2));
  ASSERT_TRUE(events_.await(What::dropped));
  EXPECT_TRUE(jobs_.locked("lock:Elsewhere:", options));
  EXPECT_FALSE(jobs_.locked("lock:Elsewhere:")) << "not here";
  go_ = true;
  ASSERT_TRUE(events_.await(What::done));
  EXPECT_FALSE(jobs_.locked("lock:Elsewhere:", options));
  EXPECT_EQ(failed_, 1);

  options.lock->loner = true;
  const auto split = jobs_.try_enqueue("Elsewhere", {}, options);
  ASSERT_FALSE(split.has_value());
  EXPECT_NE(split.error().detail.find("allow_split_store"), std::string::npos);
  options.lock->allow_split_store = true;
  EXPECT_TRUE(jobs_.try_enqueue("Elsewhere", {}, options).has_value());
}

TEST_P(Behaviour, a_job_whose_lock_is_in_a_store_that_is_away_is_handed_back) {
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  Client locks(
      wrapped(memory::store(memory::make_database()), [gone](std::unique_ptr<StoreConnection> connection) {
        return std::unique_ptr<StoreConnection>(
            std::make_unique<Faulty>(std::move(connection), [gone](std::span<const Request>) {
              return Fault{*gone ? Fault::Kind::refuse_before : Fault::Kind::none};
            }));
      }));
  JobOptions options;
  options.lock_store = locks;
  jobs_.define("Elsewhere", options, [](JobContext&, const Args&) {});
  const JobId id = id_of(jobs_.enqueue("Elsewhere"));
  *gone = true;
  JobWorker worker(jobs_, quick(1));
  ASSERT_TRUE(events_.await(What::handed_back));
  EXPECT_EQ(state(id), JobState::queued);
  EXPECT_EQ(row(id).attempt, 0);
}

TEST_P(Behaviour, a_job_that_was_started_before_is_not_dropped_for_a_lock_in_another_store) {
  Client locks(memory::store(memory::make_database()));
  JobOptions options;
  options.lock_store = locks;
  options.max_attempts = 2;
  options.backoff = 1ms;
  Lease other;
  jobs_.define("Elsewhere", options, [&](JobContext&, const Args&) { throw std::runtime_error("again"); });
  const JobId id = id_of(jobs_.enqueue("Elsewhere"));
  {
    WorkerOptions once = quick(1);
    once.on_event = [&](const JobEvent& event) {
      if (event.what == What::failed) other = locks.acquire("lock:Elsewhere:", {.wait = 5s});
      events_(event);
    };
    JobWorker worker(jobs_, once);
    ASSERT_TRUE(events_.await(What::handed_back));
  }
  EXPECT_EQ(state(id), JobState::queued);
}

TEST_P(Behaviour, a_job_that_cannot_even_be_tried_is_handed_back_uncounted) {
  jobs_.define("Later", {}, [](JobContext&, const Args&) { throw_failure({Errc::stopped, "no room here"}); });
  const JobId id = id_of(jobs_.enqueue("Later"));
  JobWorker worker(jobs_, quick(1));
  ASSERT_TRUE(events_.await(What::handed_back));
  EXPECT_EQ(state(id), JobState::queued);
  EXPECT_EQ(row(id).attempt, 0);
  EXPECT_EQ(row(id).error, "no room here");
}

TEST_P(Behaviour, a_key_that_has_no_room_for_its_leases_or_its_window_is_refused) {
  const std::string longest(512 - std::string("lock:Job:").size(), 'k');
  EXPECT_TRUE(jobs_.try_enqueue("Job", Args::of(longest), {.lock = JobLock{}}).has_value());
  EXPECT_EQ(jobs_.try_enqueue("Job", Args::of(longest), {.lock = JobLock{.limit = 2}}).error().code,
            Errc::invalid);
  EXPECT_EQ(jobs_.try_enqueue("Job", Args::of(longest), {.lock = JobLock{.window = 1h}}).error().code,
            Errc::invalid);
}

// -- loners

TEST_P(Behaviour, loner_and_another_unique_exclude_each_other) {
  for (const Unique unique : {Unique::until_start, Unique::until_success}) {
    const JobOptions both{.lock = JobLock{.loner = true, .unique = unique}};
    const auto refused = jobs_.try_enqueue("Job", {}, both);
    ASSERT_FALSE(refused) << to_string(unique);
    EXPECT_EQ(refused.error().code, Errc::invalid);
    EXPECT_EQ(refused.error().detail, "loner and unique of Job exclude each other; give one of them");
    EXPECT_THROW(jobs_.perform_now("Job", {}, both, [](JobContext&, const Args&) { ADD_FAILURE(); }),
                 Failure);
  }
  const JobOptions twice{.lock = JobLock{.loner = true, .unique = Unique::loner}};
  EXPECT_TRUE(jobs_.try_enqueue("Job", {}, twice)) << "the same thing";
}

TEST_P(Behaviour, a_loner_is_not_enqueued_twice_with_or_without_a_timeout) {
  for (const Millis timeout : {Millis(0), Millis(1h)}) {
    const std::string name = timeout == 0ms ? "Lonely" : "Timed";
    jobs_.define(name, told({.timeout = timeout, .loner = true}), stays());
    const JobId id = id_of(jobs_.enqueue(name, Args::of(1)));
    const EnqueueResult again = jobs_.enqueue(name, Args::of(1));
    EXPECT_EQ(duplicate_of(again), id);
    EXPECT_EQ(std::get<Duplicate>(again).state, JobState::queued);
    EXPECT_NE(id_of(jobs_.enqueue(name, Args::of(2))), no_job);
  }
  EXPECT_EQ(duplicates_, 2);
}

TEST_P(Behaviour, a_loner_is_not_enqueued_while_it_runs_and_is_again_when_it_has_ended) {
  jobs_.define("Lonely", told({.loner = true}), stays());
  const JobId id = id_of(jobs_.enqueue("Lonely"));
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(await_inside());
  const EnqueueResult again = jobs_.enqueue("Lonely");
  EXPECT_EQ(duplicate_of(again), id);
  EXPECT_EQ(std::get<Duplicate>(again).state, JobState::running);
  EXPECT_EQ(duplicates_, 1);
  go_ = true;
  ASSERT_TRUE(events_.await(What::done));
  EXPECT_NE(id_of(jobs_.enqueue("Lonely")), no_job);
}

// There it may be enqueued again after its timeout, and runs twice.
TEST_P(Behaviour, a_loner_that_waits_longer_than_its_timeout_is_still_the_only_one) {
  jobs_.define("Lonely", told({.timeout = 20ms, .loner = true}), stays());
  const JobId id = id_of(jobs_.enqueue("Lonely"));
  let_pass(60ms);
  EXPECT_EQ(duplicate_of(jobs_.enqueue("Lonely")), id);
  go_ = true;
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(await_state(id, JobState::done));
  EXPECT_EQ(ran_, 1);
}

TEST_P(Behaviour, while_a_loner_runs_inline_none_is_enqueued_and_then_one_is) {
  const JobOptions options = told({.loner = true});
  (void)jobs_.perform_now("Lonely", {}, options, [&](JobContext&, const Args&) {
    const auto told = jobs_.try_enqueue("Lonely", {}, options).value();
    ASSERT_TRUE(std::holds_alternative<Locked>(told));
    EXPECT_FALSE(std::get<Locked>(told).owner.empty());
  });
  EXPECT_EQ(duplicates_, 1);
  EXPECT_NE(id_of(jobs_.try_enqueue("Lonely", {}, options).value()), no_job);
}

// There the marker of the one that is queued is deleted.
TEST_P(Behaviour, an_inline_run_does_not_free_the_slot_of_one_that_is_queued) {
  const JobOptions options = told({.loner = true});
  const JobId id = id_of(jobs_.try_enqueue("Lonely", {}, options).value());
  EXPECT_TRUE(jobs_.perform_now("Lonely", {}, options, [](JobContext&, const Args&) {}).ran);
  EXPECT_EQ(duplicate_of(jobs_.try_enqueue("Lonely", {}, options).value()), id);
}

TEST_P(Behaviour, a_loner_that_is_dropped_frees_its_slot) {
  jobs_.define("Lonely", told({.loner = true}), stays());
  const JobId id = id_of(jobs_.enqueue("Lonely"));
  Client other(database_->new_client());
  {
    const Lease lease = other.acquire("lock:Lonely:");
    JobWorker worker(jobs_, quick());
    ASSERT_TRUE(await_state(id, JobState::dropped));
  }
  EXPECT_NE(id_of(jobs_.enqueue("Lonely")), no_job);
}

TEST_P(Behaviour, a_window_lets_one_in_and_names_it_to_the_others) {
  const JobOptions options = told({.window = 24h});
  const JobId id = id_of(jobs_.try_enqueue("Daily", {}, options).value());
  EXPECT_EQ(duplicate_of(jobs_.try_enqueue("Daily", {}, options).value()), id);
  EXPECT_NE(id_of(jobs_.try_enqueue("Daily", Args::of(2), options).value()), no_job) << "another key";
}

// A worker without a definition of the job must not decide its outcome.
TEST_P(Behaviour, an_undefined_job_whose_lock_is_held_is_handed_back) {
  const JobId id = id_of(jobs_.try_enqueue("Unknown", {}, told({})).value());
  Client other(database_->new_client());
  const Lease lease = other.acquire("lock:Unknown:");
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(await([&] { return trail_text(row(id)).find("handed-back") != std::string::npos; }));
  EXPECT_EQ(state(id), JobState::queued);
  EXPECT_EQ(row(id).attempt, 0);
}

TEST_P(Behaviour, arguments_that_do_not_fit_are_an_error_of_a_try) {
  JobOptions options;
  options.identifier = [](const Args& args) { return args.get<std::string>(0); };
  const auto told = jobs_.try_enqueue("Fits", Args::of(1), options);
  ASSERT_FALSE(told.has_value());
  EXPECT_EQ(told.error().detail, "argument 1: 1 is not a string");
}

HOLDFAST_ON_STORES(Behaviour, job_kinds());

}  // namespace
}  // namespace holdfast::test
