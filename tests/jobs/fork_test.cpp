// SPDX-License-Identifier: Apache-2.0
// A child after fork() has neither the threads nor the connections: it does nothing, and its parent goes on.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "jobs/ticks.h"
#include "tests/jobs/callbacks.h"

namespace holdfast::test {
namespace {

// True if `in_child` was, in a forked child.  One that hangs is ended.
template <class F>
bool true_in_child(F in_child) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(in_child() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

template <class F>
bool is_refused(F call) {
  try {
    call();
  } catch (const Failure& failure) {
    return failure.error().code == Errc::forked;
  }
  return false;
}

class ForkedJobs : public JobsAndCallbacks {};

TEST_P(ForkedJobs, every_call_of_a_child_is_refused_and_nothing_is_sent) {
  jobs_.define("Job", {}, stays());
  const JobId id = id_of(jobs_.enqueue("Job"));
  const JobFunction runs = [](JobContext&, const Args&) {};
  const std::vector<std::pair<const char*, std::function<void()>>> calls{
      {"enqueue", [&] { jobs_.enqueue("Job"); }},
      {"in", [&] { jobs_.in(1h).enqueue("Job"); }},
      {"perform_now", [&] { (void)jobs_.perform_now("Job", {}, {}, runs); }},
      {"perform_now without a lock",
       [&] { (void)jobs_.perform_now("Job", {}, {.lock = {.limit = 0}}, runs); }},
      {"locked", [&] { jobs_.locked("lock:Job:"); }},
      {"enqueued", [&] { jobs_.enqueued("lock:Job:"); }},
      {"list", [&] { (void)jobs_.list(); }},
      {"unlock", [&] { jobs_.unlock("lock:Job:", {.by = "me", .reason = "test"}); }},
      {"cancel", [&] { jobs_.cancel(id); }},
      {"remove", [&] { jobs_.remove(id); }},
      {"purge", [&] { jobs_.try_purge().value(); }},
      {"take_tick", [&] { Ticks::take(jobs_, {.name = "t", .tick = 1}).value(); }},
      {"tick", [&] { Ticks::last(jobs_, "t").value(); }},
      {"note_success", [&] { Ticks::note_success(jobs_, "t", "me").value(); }},
      {"define", [&] { jobs_.define("Other", {}, runs); }},
      {"define_others", [&] { jobs_.define_others(runs); }},
      {"cron", [&] { jobs_.cron("Job", "@daily", "UTC"); }},
      {"JobWorker", [&] { const JobWorker worker(jobs_); }},
  };
  EXPECT_TRUE(true_in_child([&] {
    bool all = !jobs_.refresh_lock("lock:Job:");
    for (const auto& [name, call] : calls) {
      if (is_refused(call)) continue;
      std::fprintf(stderr, "not refused: %s\n", name);
      all = false;
    }
    return all;
  }));
  EXPECT_EQ(jobs_.list().size(), 1u);
  EXPECT_EQ(state(id), JobState::queued);
  EXPECT_EQ(Ticks::last(jobs_, "t").value().tick, -1);
}

TEST_P(ForkedJobs, a_worker_ends_in_a_child_without_a_word_and_goes_on_in_the_parent) {
  jobs_.define("Job", {}, stays());
  const JobId first = id_of(jobs_.enqueue("Job"));
  WorkerOptions options = quick();
  options.claim = 1s;
  auto worker = std::make_unique<JobWorker>(jobs_, options);
  ASSERT_TRUE(await_inside());
  EXPECT_TRUE(true_in_child([&] {
    worker->drain();
    worker->stop();
    worker->wait();
    worker->wait_until_idle();
    const bool idle = worker->idle();
    worker.reset();
    return !idle;
  }));
  EXPECT_EQ(state(first), JobState::running);
  let_pass(options.claim);  // it would have run out by now
  go_ = true;
  EXPECT_TRUE(await_state(first, JobState::done));
  EXPECT_EQ(row(first).crashes, 0);
  EXPECT_TRUE(await_state(id_of(jobs_.enqueue("Job")), JobState::done)) << "it claims as before";
}

TEST_P(ForkedJobs, jobs_end_in_a_child_and_their_connections_and_schedules_stay_the_parents) {
  auto jobs = std::make_unique<Jobs>(Client(database_->new_client()));
  jobs->cron("Yearly", "@yearly", "UTC");
  jobs->enqueue("Job");
  EXPECT_TRUE(true_in_child([&] {
    jobs.reset();
    return true;
  }));
  EXPECT_EQ(jobs->list({.name = "Job"}).size(), 1u);
  EXPECT_TRUE(true_in_child([&] {
    *jobs = Jobs(Client(database_->new_client()));
    return database_->url().empty() || jobs->list({.name = "Job"}).size() == 1;
  })) << "it may open some of its own";
  EXPECT_EQ(jobs->list({.name = "Job"}).size(), 1u);
}

TEST_P(ForkedJobs, the_child_of_a_job_holds_nothing_of_it) {
  std::atomic<bool> told = false, held = false;
  jobs_.define("Forks", {}, [&](JobContext& context, const Args&) {
    told = true_in_child([&] {
      return context.lost() && context.stop_requested() && !context.refresh_lock() &&
             !jobs_.refresh_lock("lock:Forks:");
    });
    held = context.held() && context.refresh_lock();
  });
  const JobId id = id_of(jobs_.enqueue("Forks"));
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(await_state(id, JobState::done));
  EXPECT_TRUE(told);
  EXPECT_TRUE(held);
}

// Whatever the threads of the parent were in the midst of: nobody in the child will ever end it.
TEST_P(ForkedJobs, a_child_does_not_wait_for_a_thread_that_it_has_not) {
  JobWorker worker(jobs_, quick());
  std::atomic<bool> over = false;
  std::thread busy([&] {
    while (!over) jobs_.define("Job", {}, [](JobContext&, const Args&) {});
  });
  for (int i = 0; i < 30 && !HasFailure(); ++i) {
    EXPECT_TRUE(true_in_child([&] {
      worker.drain();
      return is_refused([&] { jobs_.enqueue("Job"); }) && !jobs_.refresh_lock("lock:Job:") &&
             is_refused([&] { jobs_.define("Job", {}, {}); });
    }));
  }
  over = true;
  busy.join();
}

HOLDFAST_ON_STORES(ForkedJobs, job_kinds());

}  // namespace
}  // namespace holdfast::test
