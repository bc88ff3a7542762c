// SPDX-License-Identifier: Apache-2.0
// Processes that are killed, or stopped for a while, at each step of a job.
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "tests/jobs/suite.h"
#include "tests/jobs/trial_job.h"
#include "tests/processes/process.h"
#include "tests/support/scratch.h"

namespace holdfast::test {
namespace {

constexpr Millis claim = 1s;

Micros boot_now() { return std::chrono::floor<Micros>(BootClock::now().time_since_epoch()); }

// One run of a job, as the log has it.
struct Stay {
  int pid = 0;
  std::uint64_t job = 0, token = 0;
  Micros from{}, to{};
  Micros end_of_claim{};  // the deadline that it got: from then on another worker may run the job
  bool ended = false;
};

class Kill : public JobsOn {
 protected:
  Process enqueuer(const std::string& point) { return Process({database_->url(), "enqueue", point, "k"}); }
  Process worker(const std::string& point, Millis claims = claim) {
    return Process({database_->url(), "work", point, log(), std::to_string(claims.count())});
  }
  // Known for certain is only until when it lived: SQLite gives its lock away before we hear of its death.
  void kill(Process& process) {
    dead_[process.pid()] = boot_now();
    process.kill();
  }
  JobId enqueue(const std::string& key, bool loner = false) {
    return id_of(jobs_.try_enqueue("Trial", trial_args(key), trial_options(loner)).value());
  }
  // A worker of this process, that runs what others left.
  WorkerOptions survivor() {
    WorkerOptions options = quick();
    options.max_crashes = 1000;
    return options;
  }
  std::string log() const { return folder_.path() + "/log"; }

  // The runs of the log, by key.
  std::map<std::string, std::vector<Stay>> stays() {
    std::map<std::string, std::vector<Stay>> found;
    std::ifstream file(log());
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      Stay stay;
      std::string key, what;
      std::int64_t at = 0, end_of_claim = 0;
      words >> stay.pid >> stay.job >> key >> stay.token >> what >> at >> end_of_claim;
      stay.end_of_claim = Micros(end_of_claim);
      if (what == "start") {
        stay.from = Micros(at);
        stay.to = dead_.contains(stay.pid) ? dead_[stay.pid] : Micros::max();
        found[key].push_back(stay);
        continue;
      }
      for (Stay& begun : found[key]) {
        if (begun.pid != stay.pid || begun.token != stay.token) continue;
        begun.to = Micros(at);
        begun.end_of_claim = stay.end_of_claim;
        begun.ended = true;
      }
    }
    return found;
  }
  // Never two at once, and each later one with a greater token.  One that was paused past its claim is in
  // nobody's way after it.
  void expect_one_at_a_time() {
    for (auto& [key, list] : stays()) {
      for (Stay& stay : list) stay.to = std::min(stay.to, stay.end_of_claim);
      std::erase_if(list, [](const Stay& stay) { return stay.end_of_claim <= stay.from; });
      std::sort(list.begin(), list.end(), [](const Stay& a, const Stay& b) { return a.from < b.from; });
      for (std::size_t i = 1; i < list.size(); ++i) {
        EXPECT_LE(list[i - 1].to, list[i].from) << key << ": two at once";
        EXPECT_LT(list[i - 1].token, list[i].token) << key << ": a token did not rise";
      }
    }
  }
  void expect_free(const std::string& key) {
    // Where claim and lease are two steps, a death between them leaves a lease that ends by itself.
    EXPECT_TRUE(await([&] { return !jobs_.locked("lock:Trial:" + key); }, 40s)) << "past its ttl";
    EXPECT_NE(enqueue(key, true), no_job) << "the slot is free";
  }

  const Scratch folder_;
  std::map<int, Micros> dead_;
};

TEST_P(Kill, a_process_that_dies_before_it_enqueues_leaves_no_job_and_no_slot) {
  Process peer = enqueuer("before-enqueue");
  ASSERT_EQ(peer.hear(), "at before-enqueue");
  kill(peer);
  EXPECT_TRUE(jobs_.list({.name = "Trial"}).empty());
  EXPECT_NE(enqueue("k", true), no_job);
}

TEST_P(Kill, a_process_that_dies_after_it_has_enqueued_leaves_a_job_that_runs_once) {
  Process peer = enqueuer("after-enqueue");
  ASSERT_EQ(peer.hear(), "at after-enqueue");
  kill(peer);
  const auto again = jobs_.try_enqueue("Trial", trial_args("k"), trial_options(true)).value();
  const JobId id = duplicate_of(again);
  ASSERT_NE(id, no_job);
  std::atomic<int> runs = 0;
  define_trial(jobs_, [&](const JobContext&, const char* what) { runs += what == std::string("end"); });
  {
    JobWorker here(jobs_, survivor());
    ASSERT_TRUE(await_state(id, JobState::done));
  }
  EXPECT_EQ(runs, 1);
  expect_free("k");
}

// At some moment while it is being enqueued: there is a job with its slot, or nothing.
TEST_P(Kill, a_process_that_dies_while_it_enqueues_leaves_the_whole_job_or_nothing) {
  std::minstd_rand random(3);
  for (int i = 0; i < 8; ++i) {
    Process peer = enqueuer("pass:before-enqueue");
    ASSERT_EQ(peer.hear(), "at before-enqueue");
    let_pass(Millis(random() % 4));
    kill(peer);
    // A server may go on with what it has received: so ours may come first, or second.
    const auto again = jobs_.try_enqueue("Trial", trial_args("k"), trial_options(true)).value();
    const JobId id = id_of(again) != no_job ? id_of(again) : duplicate_of(again);
    ASSERT_NE(id, no_job) << "a slot without a job";
    ASSERT_EQ(jobs_.list({.name = "Trial", .state = JobState::queued}).size(), 1u);
    EXPECT_TRUE(row(id).slotted);
    jobs_.cancel(id);
    jobs_.remove(id);
  }
}

TEST_P(Kill, a_worker_that_dies_at_any_step_leaves_a_job_that_is_done_by_another) {
  define_trial(jobs_, [](const JobContext&, const char*) {});
  for (const std::string point : {"after-claim", "mid-job", "before-finish"}) {
    SCOPED_TRACE(point);
    const JobId id = enqueue("k", true);
    ASSERT_NE(id, no_job);
    Process peer = worker(point);
    while (peer.hear() != "at " + point) {
    }
    kill(peer);
    EXPECT_EQ(state(id), JobState::running) << "until its claim runs out";
    {
      JobWorker here(jobs_, survivor());
      ASSERT_TRUE(await_state(id, JobState::done));
    }
    EXPECT_EQ(row(id).crashes, 1);
    EXPECT_EQ(row(id).attempt, 2);
    expect_free("k");
    jobs_.cancel(jobs_.list({.name = "Trial", .state = JobState::queued}).at(0).id);
  }
  expect_one_at_a_time();
}

TEST_P(Kill, a_worker_that_dies_after_it_has_finished_has_finished) {
  const JobId id = enqueue("k", true);
  Process peer = worker("after-finish");
  ASSERT_EQ(peer.hear(), "at after-finish");
  kill(peer);
  EXPECT_EQ(state(id), JobState::done);
  EXPECT_EQ(row(id).attempt, 1);
  expect_free("k");
}

// The ancestor's seventh defect.
TEST_P(Kill, there_a_crash_without_a_timeout_locks_for_ever_here_it_is_free_after_the_lease) {
  const JobId crashed = enqueue("k"), next = enqueue("k");
  Process peer = worker("mid-job");
  ASSERT_EQ(peer.hear(), "at mid-job");
  EXPECT_TRUE(jobs_.locked("lock:Trial:k"));
  kill(peer);
  std::atomic<int> ends = 0;
  define_trial(jobs_, [&](const JobContext&, const char* what) { ends += what == std::string("end"); });
  JobWorker here(jobs_, survivor());
  EXPECT_TRUE(await_state(crashed, JobState::done));
  EXPECT_TRUE(await_state(next, JobState::done));
  EXPECT_EQ(ends, 2);
  here.wait_until_idle();
  EXPECT_FALSE(jobs_.locked("lock:Trial:k"));
}

// Whatever became of its worker: its claim lasts an hour, and its lock does not.
TEST_P(Kill, after_the_timeout_of_one_whose_worker_died_another_runs) {
  JobOptions options = trial_options(false);
  options.lock->timeout = 500ms;
  const JobId crashed = id_of(jobs_.enqueue("Trial", trial_args("k"), options));
  Process peer = worker("mid-job", 1h);
  ASSERT_EQ(peer.hear(), "at mid-job");
  kill(peer);
  const Token first = row(crashed).token;
  const JobId next = id_of(jobs_.enqueue("Trial", trial_args("k"), options));
  std::atomic<std::uint64_t> second = 0;
  define_trial(jobs_, [&](const JobContext& context, const char*) { second = to_number(context.token()); });
  {
    JobWorker here(jobs_, survivor());
    EXPECT_TRUE(await_state(next, JobState::done));
  }
  EXPECT_GT(second, to_number(first));
  EXPECT_EQ(state(crashed), JobState::running) << "nobody has missed it yet";
}

TEST_P(Kill, a_worker_that_is_stopped_past_its_lease_leaves_the_other_alone_when_it_goes_on) {
  const JobId id = enqueue("k");
  Process peer = worker("mid-job");
  ASSERT_EQ(peer.hear(), "at mid-job");
  const Token first = row(id).token;
  peer.signal(SIGSTOP);
  std::atomic<bool> inside = false, go = false;
  define_trial(jobs_, [&](const JobContext&, const char* what) {
    if (what != std::string("start")) return;
    inside = true;
    await([&] { return go.load(); });
  });
  JobWorker here(jobs_, survivor());
  ASSERT_TRUE(await([&] { return inside.load(); }));
  const Token second = row(id).token;
  EXPECT_GT(to_number(second), to_number(first));
  peer.signal(SIGCONT);
  peer.send("go on");
  EXPECT_EQ(peer.hear(), "event lost");
  EXPECT_EQ(state(id), JobState::running);
  EXPECT_EQ(jobs_.locked("lock:Trial:k").value().token, second);
  peer.kill();
  go = true;
  ASSERT_TRUE(await_state(id, JobState::done));
  EXPECT_EQ(row(id).crashes, 1);
}

// Wherever they are: in a claim, in a job, in the midst of a finish.
TEST_P(Kill, a_storm_of_deaths_loses_no_job_and_lets_no_two_in) {
  constexpr int jobs = 45, deaths = 12;
  std::minstd_rand random(5);
  std::vector<JobId> ids;
  for (int i = 0; i < jobs; ++i) ids.push_back(enqueue("k" + std::to_string(i % 3)));
  std::vector<std::unique_ptr<Process>> peers;
  const char* const points[] = {"pass:before-claim", "pass:before-finish", "pass:after-finish"};
  for (const char* point : points) peers.push_back(std::make_unique<Process>(worker(point)));
  for (int i = 0; i < deaths; ++i) {
    const std::size_t which = static_cast<std::size_t>(i) % std::size(points);
    for (int heard = static_cast<int>(random() % 3); heard >= 0; --heard) {
      // The others may take the last of the jobs while this one is being listened to.
      bool spoke = false;
      while (!(spoke = peers[which]->speaks(50ms)) &&
             !jobs_.list({.state = JobState::queued, .limit = 1}).empty()) {
      }
      if (spoke) (void)peers[which]->hear();
    }
    let_pass(Millis(random() % 3));
    kill(*peers[which]);
    peers[which] = std::make_unique<Process>(worker(points[which]));
  }
  EXPECT_TRUE(await([&] { return jobs_.list({.state = JobState::done}).size() == jobs; }, 60s));
  for (auto& peer : peers) kill(*peer);
  expect_one_at_a_time();
  std::map<std::uint64_t, int> starts, ends;
  for (const auto& [key, list] : stays()) {
    for (const Stay& stay : list) {
      ++starts[stay.job];
      ends[stay.job] += stay.ended ? 1 : 0;
    }
  }
  for (const JobId id : ids) {
    const JobRow done = row(id);
    EXPECT_EQ(done.attempt, done.crashes + 1) << trail_text(done);
    EXPECT_GE(ends[to_number(id)], 1) << trail_text(done);
    EXPECT_LE(starts[to_number(id)], done.attempt) << trail_text(done);
  }
  for (const char* key : {"k0", "k1", "k2"}) expect_free(key);
}

HOLDFAST_ON_EVERY_SHARED_STORE_OF_JOBS(Kill);

}  // namespace
}  // namespace holdfast::test
