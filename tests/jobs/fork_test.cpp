// SPDX-License-Identifier: Apache-2.0
// A child after fork() has neither the threads nor the connections: it does nothing, and its parent goes on.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

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
       [&] { (void)jobs_.perform_now("Job", {}, {.lock = JobLock{.limit = 0}}, runs); }},
      {"locked", [&] { jobs_.locked("lock:Job:"); }},
      {"enqueued", [&] { jobs_.enqueued("lock:Job:"); }},
      {"list", [&] { (void)jobs_.list(); }},
      {"unlock", [&] { jobs_.unlock("lock:Job:", {.by = "me", .reason = "test"}); }},
      {"cancel", [&] { jobs_.cancel(id); }},
      {"remove", [&] { jobs_.remove(id); }},
      {"purge", [&] { jobs_.try_purge().value(); }},
      {"take_tick", [&] { jobs_.take_tick({.name = "t", .tick = 1}); }},
      {"tick", [&] { jobs_.tick("t"); }},
      {"note_success", [&] { jobs_.note_success("t", "me"); }},
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
  EXPECT_EQ(jobs_.tick("t").tick, -1);
}

TEST_P(ForkedJobs, a_worker_ends_silently_in_a_child_and_goes_on_in_the_parent) {
  jobs_.define("Job", {}, stays());
  const JobId first = id_of(jobs_.enqueue("Job"));
  WorkerOptions options = quick();
  options.claim = 3s;
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
  jobs_.define("Forks", {.lock = JobLock{}}, [&](JobContext& context, const Args&) {
    told = true_in_child([&] {
      return !context.held() && context.stop_requested() && !context.refresh_lock() &&
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

// It writes each event with its process to a descriptor that both processes have.
class EventPipe {
 public:
  EventPipe() { EXPECT_EQ(pipe(ends_), 0); }
  ~EventPipe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  EventPipe(const EventPipe&) = delete;
  EventPipe& operator=(const EventPipe&) = delete;
  void operator()(char what) const {
    const char in = getpid() == parent_ ? what : static_cast<char>(what - 'a' + 'A');
    EXPECT_EQ(write(ends_[1], &in, 1), 1);
  }
  std::string all() const {
    (*this)('z');
    std::string text;
    for (char c = 0; text.empty() || text.back() != 'z'; text += c) {
      if (read(ends_[0], &c, 1) != 1) break;
    }
    return text;
  }

 private:
  const pid_t parent_ = getpid();
  int ends_[2] = {};
};

// True if the child ends by itself, and as one that has nothing more to do.
bool ends_well(pid_t child) {
  int status = 0;
  const bool ended = await([&] { return waitpid(child, &status, WNOHANG) == child; });
  if (!ended) kill(child, SIGKILL), waitpid(child, &status, 0);
  return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_P(ForkedJobs, a_child_forked_in_a_job_ends_silently_when_it_returns_or_throws) {
  for (const bool throws : {false, true}) {
    const EventPipe told;
    std::atomic<pid_t> child = -1;
    JobOptions options{.lock = JobLock{.timeout = 10min}};
    options.lock_expired_before_release = [&](JobContext&, const Args&) { told('x'); };
    jobs_.define("Forks", options, [&](JobContext&, const Args&) {
      const pid_t forked = fork();
      if (forked != 0) {
        child = forked;
        EXPECT_TRUE(ends_well(forked));
        return;
      }
      std::atexit([] { _exit(0); });  // what is static is the parent's
      told('f');
      if (throws) throw std::runtime_error("in the child");
    });
    WorkerOptions worker_options = quick();
    worker_options.on_event = [&](const JobEvent& event) { told(event.what == What::started ? 's' : 'e'); };
    {
      JobWorker worker(jobs_, worker_options);
      const JobId id = id_of(jobs_.enqueue("Forks"));
      EXPECT_TRUE(await_state(id, JobState::done));
      EXPECT_EQ(row(id).attempt, 1);
      EXPECT_EQ(row(id).error, "");
    }
    EXPECT_EQ(told.all(), "sFez") << "the child's are capital";
    EXPECT_GT(child, 0);
  }
}

TEST_P(ForkedJobs, a_child_forked_in_perform_now_gets_the_error_forked) {
  std::atomic<int> expired = 0;
  JobOptions options{.lock = JobLock{.timeout = 10min}};
  options.lock_expired_before_release = [&](JobContext&, const Args&) { ++expired; };
  pid_t child = -1;
  const bool refused = is_refused([&] {
    EXPECT_TRUE(
        jobs_.perform_now("Forks", {}, options, [&](JobContext&, const Args&) { child = fork(); }).ran);
  });
  if (child == 0) _exit(refused && expired == 0 ? 0 : 1);
  EXPECT_FALSE(refused);
  EXPECT_TRUE(ends_well(child));
}

TEST_P(ForkedJobs, nothing_of_the_users_goes_in_a_child) {
  struct Goes {
    int* count;
    ~Goes() { ++*count; }
  };
  int gone = 0;
  auto jobs = std::make_unique<Jobs>(Client(database_->new_client()));
  jobs->define("Job", {}, [owned = std::make_shared<Goes>(&gone)](JobContext&, const Args&) {});
  EXPECT_TRUE(true_in_child([&] {
    jobs.reset();
    return gone == 0;
  })) << "for who else was at it when it was forked?";
  jobs.reset();
  EXPECT_EQ(gone, 1);
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
