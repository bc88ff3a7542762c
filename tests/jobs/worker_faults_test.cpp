// SPDX-License-Identifier: Apache-2.0
// A worker whose store answers late, not at all or twice, and whose user throws.
#include <atomic>

#include "tests/jobs/hooked.h"
#include "tests/jobs/suite.h"

namespace holdfast::test {
namespace {

class Faults : public JobsOn {
 protected:
  Jobs with(Hooks hooks) { return Jobs{Client(hooked(database_->new_client(), std::move(hooks)))}; }
};

const Error lost_answer{Errc::in_doubt, "the answer got lost"};
const Error no_store{Errc::unavailable, "the store is away"};

// The job was being claimed when the worker was asked to end, and arrived when the grace time was over.
TEST_P(Faults, a_job_that_is_claimed_while_draining_is_handed_back) {
  std::atomic<bool> claiming = false, go = false, ran = false;
  Jobs jobs = with({.after = [&](Step step) -> Status {
    if (step != Step::claim) return Status{};
    claiming = true;
    await([&] { return go.load(); });
    return Status{};
  }});
  jobs.define("Long", {}, [&](JobContext&, const Args&) { ran = true; });
  const JobId id = id_of(jobs.enqueue("Long"));
  WorkerOptions options = quick(1);
  options.grace = 0ms;
  {
    JobWorker worker(jobs, options);
    ASSERT_TRUE(await([&] { return claiming.load(); }));
    worker.drain();
    go = true;
  }
  EXPECT_FALSE(ran);
  EXPECT_EQ(events_.count(What::handed_back), 1u);
  EXPECT_EQ(state(id), JobState::queued);
  EXPECT_EQ(row(id).attempt, 0);
}

// A function of the job's is called by a thread of the worker's, and may ask the worker something.
TEST_P(Faults, a_stop_callback_may_ask_the_worker) {
  std::atomic<JobWorker*> asked = nullptr;
  std::atomic<bool> busy = false;
  jobs_.define("Long", {}, [&](JobContext& context, const Args&) {
    const std::stop_callback callback(context.stop_token(), [&] { busy = !asked.load()->idle(); });
    await([&] { return context.stop_requested() && busy; });
    context.check();
  });
  jobs_.enqueue("Long");
  WorkerOptions options = quick(1);
  options.grace = 0ms;
  {
    JobWorker worker(jobs_, options);
    asked = &worker;
    ASSERT_TRUE(events_.await(What::started));
  }
  EXPECT_TRUE(busy);
  EXPECT_EQ(events_.count(What::handed_back), 1u);
}

TEST_P(Faults, a_worker_that_is_refused_does_not_let_one_wait_for_ever_and_goes_on_when_it_is_let) {
  std::atomic<bool> refuses = true;
  Jobs jobs = with({.before = [&](Step step) -> Status {
    if (step == Step::claim && refuses) return Error{Errc::refused, "you may not"};
    return Status{};
  }});
  jobs.define("Quick", {}, [](JobContext&, const Args&) {});
  const JobId id = id_of(jobs.enqueue("Quick"));
  JobWorker worker(jobs, quick(2));
  const Status waited = worker.try_wait_until_idle();
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, Errc::refused);
  EXPECT_EQ(waited.error().detail, "you may not");
  EXPECT_THROW(worker.wait_until_idle(), Failure);
  EXPECT_FALSE(worker.idle());
  refuses = false;
  // One that asked before may be answered now.
  EXPECT_TRUE(await([&] { return worker.try_wait_until_idle().has_value(); }));
  EXPECT_EQ(state(id), JobState::done);
}

// One thread has been given the last job and does not know it yet; the other finds nothing.
TEST_P(Faults, a_worker_that_is_being_given_a_job_is_not_idle) {
  std::atomic<int> claims = 0, ran = 0;
  std::atomic<bool> go = false, waited = false;
  Jobs jobs = with({.after = [&](Step step) -> Status {
    if (step == Step::claim && ++claims == 1) await([&] { return go.load(); });
    return Status{};
  }});
  jobs.define("Quick", {}, [&](JobContext&, const Args&) { ++ran; });
  jobs.enqueue("Quick");
  JobWorker worker(jobs, quick(2));
  std::thread waiter([&] {
    worker.wait_until_idle();
    EXPECT_EQ(ran, 1);
    waited = true;
  });
  EXPECT_TRUE(await([&] { return claims >= 3; })) << "the other looks, and looks again";
  EXPECT_FALSE(worker.idle());
  EXPECT_FALSE(waited);
  go = true;
  waiter.join();
}

TEST_P(Faults, waiting_until_idle_ignores_a_claim_that_came_before) {
  std::atomic<int> ran = 0;
  jobs_.define("Quick", {}, [&](JobContext&, const Args&) { ++ran; });
  JobWorker worker(jobs_, quick(2));
  worker.wait_until_idle();
  for (int i = 1; i <= 20; ++i) {
    jobs_.enqueue("Quick", Args::of(i));
    worker.wait_until_idle();
    EXPECT_EQ(ran, i);
  }
}

TEST_P(Faults, an_on_event_that_throws_stops_neither_the_job_nor_the_worker) {
  std::atomic<int> ran = 0;
  jobs_.define("Quick", {}, [&](JobContext&, const Args&) { ++ran; });
  JobWorker worker(jobs_, {.threads = 1, .poll = 10ms, .on_event = [](const JobEvent&) {
                             throw std::runtime_error("not now");
                           }});
  const JobId first = id_of(jobs_.enqueue("Quick", Args::of(1)));
  const JobId second = id_of(jobs_.enqueue("Quick", Args::of(2)));
  EXPECT_TRUE(await_state(first, JobState::done));
  EXPECT_TRUE(await_state(second, JobState::done));
  EXPECT_EQ(ran, 2);
}

TEST_P(Faults, a_claim_whose_answer_got_lost_is_handed_back_and_claimed_again) {
  std::atomic<int> lost = 0, ran = 0;
  Jobs jobs = with({.after = [&](Step step) -> Status {
    if (step == Step::claim && ++lost == 1) return lost_answer;
    return Status{};
  }});
  jobs.define("Quick", {}, [&](JobContext&, const Args&) { ++ran; });
  const JobId id = id_of(jobs.enqueue("Quick"));
  JobWorker worker(jobs, quick(1));
  ASSERT_TRUE(events_.await(What::done));
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(row(id).crashes, 0) << "well before the claim ran out";
  EXPECT_EQ(row(id).attempt, 1);
}

TEST_P(Faults, a_finish_whose_answer_got_lost_is_asked_for_again_and_done_once) {
  std::atomic<int> finishes = 0, ran = 0;
  Jobs jobs = with({.after = [&](Step step) -> Status {
    if (step == Step::finish && ++finishes <= 2) return lost_answer;
    return Status{};
  }});
  jobs.define("Quick", {}, [&](JobContext&, const Args&) { ++ran; });
  const JobId id = id_of(jobs.enqueue("Quick"));
  JobWorker worker(jobs, quick(1));
  ASSERT_TRUE(events_.await(What::done));
  EXPECT_EQ(finishes, 3);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(state(id), JobState::done);
}

// The renewal was sent while the job ran, and reaches the store after the end of the job.
TEST_P(Faults, a_renewal_that_finds_the_job_over_is_not_taken_for_its_loss) {
  std::atomic<bool> renewing = false, finished = false, renewed = false;
  Jobs jobs = with({.before = [&](Step step) -> Status {
                      if (step == Step::renew) renewing = true, await([&] { return finished.load(); });
                      return Status{};
                    },
                    .after = [&](Step step) -> Status {
                      if (step == Step::renew) renewed = true;
                      if (step != Step::finish || finished.exchange(true)) return Status{};
                      await([&] { return renewed.load(); });
                      return lost_answer;
                    }});
  jobs.define("Quick", {}, [&](JobContext&, const Args&) { await([&] { return renewing.load(); }); });
  jobs.enqueue("Quick");
  WorkerOptions options = quick(1);
  options.claim = 6s;
  JobWorker worker(jobs, options);
  ASSERT_TRUE(await([&] { return events_.count(What::done) + events_.count(What::unknown) > 0; }));
  EXPECT_TRUE(renewed);
  EXPECT_EQ(events_.count(What::done), 1u);
}

TEST_P(Faults, an_end_that_cannot_be_reported_is_unknown_and_the_job_runs_again) {
  std::atomic<bool> away = false;
  std::atomic<int> ran = 0;
  Jobs jobs = with({.before = [&](Step step) -> Status {
    if (away && (step == Step::finish || step == Step::renew)) return no_store;
    return Status{};
  }});
  jobs.define("Quick", {}, [&](JobContext&, const Args&) { away = ++ran == 1; });
  const JobId id = id_of(jobs.enqueue("Quick"));
  WorkerOptions options = quick(1);
  options.claim = 500ms;
  JobWorker worker(jobs, options);
  ASSERT_TRUE(events_.await(What::unknown));
  away = false;
  ASSERT_TRUE(events_.await(What::done));
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(row(id).crashes, 1);
  EXPECT_EQ(row(id).attempt, 2);
}

// Somebody has locked the row of one job, or the store refuses it.
TEST_P(Faults, a_claim_that_cannot_be_renewed_costs_the_worker_no_other_claim) {
  std::atomic<JobId> bad = no_job;
  std::atomic<int> ran = 0, renewals = 0, others_held = 0;
  std::atomic<bool> fails = true, lost = false, go = false;
  Jobs jobs = with({.before_renewal = [&](std::span<const ClaimRef> claims) -> Status {
    for (const ClaimRef& claim : claims)
      if (fails && claim.id == bad) return no_store;
    ++renewals;
    return Status{};
  }});
  jobs.define("Long", {}, [&](JobContext& context, const Args&) {
    if (++ran == 3) bad = context.id();
    const bool is_bad = await([&] { return bad != no_job; }) && context.id() == bad;
    if (is_bad && !lost) lost = await([&] { return context.stop_requested() && !context.held(); });
    await([&] { return go.load(); });
    others_held += !is_bad && context.held() && !context.stop_requested() ? 1 : 0;
  });
  for (int i = 0; i < 5; ++i) jobs.enqueue("Long", Args::of(i));
  WorkerOptions options = quick(5);
  options.claim = 3s;
  {
    JobWorker worker(jobs, options);
    EXPECT_TRUE(await([&] { return lost.load(); }));
    const int before = renewals;
    EXPECT_TRUE(await([&] { return renewals >= before + 5; })) << "the others are renewed as ever";
    fails = false;
    go = true;
    ASSERT_TRUE(events_.await(What::done, 4));
  }
  EXPECT_EQ(others_held, 4);
}

// As a process that is stopped and continued: it is not heard of, another does its job, and it wakes up.
TEST_P(Faults, one_whose_heart_stood_still_knows_it_and_leaves_the_other_alone) {
  std::atomic<bool> still = true, go = false, second_go = false, told = false;
  std::atomic<std::uint64_t> tokens[2] = {0, 0};
  std::atomic<Instant> first_ends{Instant::max()}, second_begins{Instant::min()};
  Jobs paused = with({.before = [&](Step step) -> Status {
    if (still && step == Step::renew) return no_store;
    return Status{};
  }});
  paused.define("Heavy", {.lock = JobLock{}}, [&](JobContext& context, const Args&) {
    tokens[0] = to_number(context.token());
    first_ends = context.deadline();
    told = await([&] { return context.stop_requested() && !context.held(); });
    await([&] { return go.load(); });
  });
  jobs_.define("Heavy", {.lock = JobLock{}}, [&](JobContext& context, const Args&) {
    second_begins = BootClock::now();
    tokens[1] = to_number(context.token());
    await([&] { return second_go.load(); });
  });
  const JobId id = id_of(jobs_.enqueue("Heavy"));
  Events firsts;
  JobWorker first(paused, {.threads = 1, .claim = 600ms, .poll = 10ms, .on_event = [&](const JobEvent& e) {
                             firsts(e);
                           }});
  ASSERT_TRUE(firsts.await(What::started));
  JobWorker second(jobs_, quick(1));
  ASSERT_TRUE(await([&] { return tokens[1] != 0; }));
  EXPECT_TRUE(await([&] { return told.load(); }));
  EXPECT_GT(second_begins.load(), first_ends.load()) << "it was to stop before the other was let in";
  EXPECT_GT(tokens[1], tokens[0]);
  still = false;
  go = true;
  ASSERT_TRUE(firsts.await(What::lost));
  EXPECT_EQ(state(id), JobState::running);
  EXPECT_EQ(to_number(jobs_.locked("lock:Heavy:").value().token), tokens[1]);
  second_go = true;
  ASSERT_TRUE(await_state(id, JobState::done));
}

HOLDFAST_ON_STORES(Faults, job_kinds());

}  // namespace
}  // namespace holdfast::test
