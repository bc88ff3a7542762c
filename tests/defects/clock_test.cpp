// SPDX-License-Identifier: Apache-2.0
// Defect 9 of the ancestors (reference/ancestors.md 8), and the trap of the same name: the client's clock
// decided when a lock had expired (mongo-lock), in whole seconds (active_job_lock).  That ours end in less is
// seen by Conformance.a_token_rises_across_expiry.
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "base/time.h"
#include "holdfast/job_worker.h"
#include "tests/defects/suite.h"

namespace {

// How wrong the wall clock of this process is.  The servers have their own.
std::atomic<long> wrong_by_seconds = 0;

}  // namespace

// In place of the C library's, for us and for every driver.
#pragma GCC visibility push(default)
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto status = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    time->tv_sec += wrong_by_seconds;
  }
  return status;
}
extern "C" time_t time(time_t* also) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (also != nullptr) *also = now.tv_sec;
  return now.tv_sec;
}
#pragma GCC visibility pop

namespace holdfast::test {
namespace {

class ClockDefects : public AsTheAncestors {
 protected:
  // While it lives our clock is wrong.
  struct Wrong {
    explicit Wrong(std::chrono::seconds by) {
      const Moment before = wall_now();
      wrong_by_seconds = by.count();
      EXPECT_NE(wall_now() > before + 1h, wall_now() < before - 1h);
    }
    ~Wrong() { wrong_by_seconds = 0; }
  };
};

TEST_P(ClockDefects, there_a_client_whose_clock_is_ahead_steals_here_the_stores_clock_decides) {
  Client right = new_client();
  Lease lease = right.acquire("k", {.ttl = 1h});
  for (const std::chrono::seconds by : {48h, -48h}) {
    const Wrong clock(by);
    Client wrong = new_client();
    const auto busy = wrong.try_acquire("k");
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().owner, lease.owner());
    EXPECT_GT(busy.error().remaining, 50min);
    EXPECT_LE(busy.error().remaining, 1h);
    EXPECT_TRUE(wrong.try_renew("k", {lease.owner()}, 1h));
    EXPECT_LE(row("k").remaining, 1h);
  }
  EXPECT_TRUE(lease.try_renew());
}

TEST_P(ClockDefects, there_the_lock_of_a_client_with_a_slow_clock_counts_as_free_here_it_is_held) {
  for (const std::chrono::seconds by : {48h, -48h}) {
    const std::string key = "k" + std::to_string(by.count());
    std::optional<Lease> lease;
    {
      const Wrong clock(by);
      lease = new_client().acquire(key, {.ttl = 1h});
      EXPECT_TRUE(lease->held());
    }
    EXPECT_TRUE(lease->held());
    EXPECT_EQ(observer_.try_acquire(key).error().owner, lease->owner());
    const Token token = lease->token();
    EXPECT_EQ(lease->release(), Released::released);
    EXPECT_GT(observer_.acquire(key).token(), token) << "tokens rise all the same";
  }
}

HOLDFAST_ON_EVERY_STORE(ClockDefects);

class JobClockDefects : public ClockDefects {};

TEST_P(JobClockDefects, there_the_clocks_of_the_workers_decide_here_a_job_whose_clock_is_wrong_is_refused) {
  const JobOptions options{.lock = JobLock::active_job_lock({.timeout = 1h})};
  const JobFunction nothing = [](JobContext&, const Args&) {};
  int refused = 0;
  const auto is_refused = [&](const Jobs& wrong) {
    const LeaseRow lock = wrong.locked("lock:Timed:").value();
    EXPECT_GT(lock.remaining, 50min);
    EXPECT_LE(lock.remaining, 1h);
    const auto ran = wrong.perform_now("Timed", {}, options, nothing);
    EXPECT_FALSE(ran.ran);
    EXPECT_EQ(ran.owner, lock.owner);
    const JobId id = std::get<Enqueued>(wrong.enqueue("Timed", {}, options)).id;
    JobWorker worker(wrong, {.threads = 1, .poll = 10ms});
    EXPECT_TRUE(await([&] { return wrong.list({.id = id}).at(0).state == JobState::dropped; }));
    ++refused;
  };
  const Jobs right{new_client()};
  // Whose lock it is has a clock that is right, then one that is wrong.
  const auto hold = [&](const std::function<void()>& meanwhile) {
    (void)right.perform_now("Timed", {}, options, [&](JobContext&, const Args&) { meanwhile(); });
  };
  for (const std::chrono::seconds by : {48h, -48h}) {
    hold([&] {
      const Wrong clock(by);
      is_refused(Jobs(new_client()).define("Timed", options, nothing));
    });
    std::optional<Wrong> clock(std::in_place, by);
    hold([&] {
      clock.reset();
      is_refused(Jobs(new_client()).define("Timed", options, nothing));
    });
  }
  EXPECT_EQ(refused, 4);
}

HOLDFAST_ON_STORES(JobClockDefects, job_kinds());

}  // namespace
}  // namespace holdfast::test
