// SPDX-License-Identifier: Apache-2.0
// Jobs that are declared as structs, after the examples in the README of active_job_lock: what is written
// there reaches the store and the callbacks.
#include <type_traits>

#include "tests/jobs/suite.h"

namespace holdfast::test {
namespace {

class Declared : public JobsOn {};

// What the jobs below did, for one test at a time.
struct Seen {
  std::atomic<int> runs = 0, last = 0, failed = 0, refused = 0, expired = 0;
  std::atomic<bool> inside = false, go = false;
};
Seen* seen = nullptr;

class Watch {
 public:
  Watch() { seen = &seen_; }
  ~Watch() { seen = nullptr; }
  Seen* operator->() { return &seen_; }

 private:
  Seen seen_;
};

void stay() {
  seen->inside = true;
  await([] { return seen->go.load(); });
  ++seen->runs;
}

struct Queued {
  static constexpr std::string_view name = "Queued", queue = "network_graph";
  static constexpr int priority = 3, max_attempts = 4;
  void perform(JobContext&, std::int64_t) {}
};

TEST_P(Declared, the_queue_the_priority_and_the_attempts_are_those_of_the_struct) {
  const JobRow made = row(id_of(jobs_.perform_later<Queued>(42)));
  EXPECT_EQ(made.key, "lock:Queued:42");
  EXPECT_EQ(made.queue, "network_graph");
  EXPECT_EQ(made.priority, 3);
  EXPECT_EQ(made.max_attempts, 4);
}

struct Anyway {
  static constexpr std::string_view name = "UpdateNetworkGraph";
  static constexpr JobLock lock = JobLock::active_job_lock();
  static std::optional<std::string> identifier(std::int64_t) { return std::nullopt; }
  void perform(JobContext&, std::int64_t) { stay(); }
};

TEST_P(Declared, an_identifier_that_is_none_lets_one_run_at_a_time_whatever_the_arguments) {
  Watch watch;
  jobs_.define<Anyway>();
  const JobId first = id_of(jobs_.perform_later<Anyway>(1));
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(await([&] { return watch->inside.load(); }));
  EXPECT_EQ(jobs_.locked<Anyway>(7).value().key, "lock:UpdateNetworkGraph");
  const JobId second = id_of(jobs_.perform_later<Anyway>(2));
  EXPECT_TRUE(await_state(second, JobState::dropped));
  watch->go = true;
  EXPECT_TRUE(await_state(first, JobState::done));
}

struct Keyed {
  static constexpr std::string_view name = "Keyed";
  static constexpr JobLock lock{.loner = true};
  static std::string lock_key(std::int64_t) { return "lock:updates"; }
  void perform(JobContext&, std::int64_t) {}
};

TEST_P(Declared, a_key_of_ones_own_is_that_of_the_loner_too) {
  const JobId id = id_of(jobs_.perform_later<Keyed>(1));
  EXPECT_EQ(row(id).key, "lock:updates");
  EXPECT_EQ(duplicate_of(jobs_.perform_later<Keyed>(2)), id);
}

struct Hourly {
  static constexpr std::string_view name = "Hourly";
  static constexpr JobLock lock{.timeout = 1h};
  static std::chrono::minutes lock_timeout(int minutes) { return std::chrono::minutes(minutes); }
  void perform(JobContext&, int) {}
};

TEST_P(Declared, the_timeout_at_run_time_wins_over_the_declared_one) {
  EXPECT_EQ(row(id_of(jobs_.perform_later<Hourly>(5))).lock_ttl, 5min);
  EXPECT_TRUE(row(id_of(jobs_.perform_later<Hourly>(6))).lock_fixed);
  EXPECT_FALSE(row(id_of(jobs_.perform_later<Hourly>(0))).lock_fixed) << "none: until it ends";
}

struct Parent {
  static constexpr std::string_view name = "Parent", queue = "family";
  static constexpr JobLock lock{.timeout = 90s, .loner = true};
  void perform(JobContext&) {}
};
struct Child : Parent {
  static constexpr std::string_view name = "Child";
};

// There a subclass has neither the timeout nor the loner of its class.
TEST_P(Declared, a_derived_job_has_the_lock_of_its_base_under_a_key_of_its_own) {
  const JobRow made = row(id_of(jobs_.perform_later<Child>()));
  EXPECT_EQ(made.key, "lock:Child:");
  EXPECT_EQ(made.queue, "family");
  EXPECT_EQ(made.lock_ttl, 90s);
  EXPECT_EQ(made.unique, Unique::loner);
  EXPECT_NE(id_of(jobs_.perform_later<Parent>()), no_job);
}

struct Elsewhere {
  static constexpr std::string_view name = "Elsewhere";
  static inline std::optional<Client> other;
  static Client lock_store() { return *other; }
  void perform(JobContext&) { stay(); }
};

TEST_P(Declared, the_store_of_the_lock_is_the_structs) {
  Watch watch;
  const auto elsewhere = GetParam().make();
  Elsewhere::other = Client(elsewhere->new_client());
  jobs_.define<Elsewhere>();
  jobs_.perform_later<Elsewhere>();
  {
    JobWorker worker(jobs_, quick());
    ASSERT_TRUE(await([&] { return watch->inside.load(); }));
    EXPECT_TRUE(jobs_.locked<Elsewhere>());
    EXPECT_GT(Elsewhere::other->read("lock:Elsewhere:").remaining, 0ms);
    EXPECT_FALSE(jobs_.locked("lock:Elsewhere:")) << "not here";
    watch->go = true;
  }
  Elsewhere::other.reset();
}

// Here a job is always in a store.  There nothing reports that no connection was configured until the first
// one is used.
TEST_P(Declared, there_are_no_jobs_without_a_client) {
  EXPECT_FALSE(std::is_default_constructible_v<Jobs>);
  EXPECT_EQ(jobs_.client().store_name(), Client(database_->new_client()).store_name());
}

// The last of its examples.
struct WithCallbacks {
  static constexpr std::string_view name = "WithCallbacks";
  static constexpr JobLock lock = JobLock::active_job_lock({.timeout = 3600s, .loner = true});
  void lock_failed(JobContext&, int repo, const std::string& text) { seen->failed = text == "x" ? repo : -1; }
  void loner_enqueue_failed(const Duplicate&, int repo, const std::string& text) {
    seen->refused = text == "x" ? repo : -1;
  }
  void perform(JobContext&, int repo, std::string_view text) { seen->last = text == "x" ? repo : -1; }
};
struct Late {
  static constexpr std::string_view name = "Late";
  static constexpr JobLock lock{.timeout = 20ms};
  void lock_expired_before_release(JobContext&, int repo, const std::string& text) {
    seen->expired = text == "x" ? repo : -1;
  }
  void perform(JobContext&, int, const std::string&) { stay(); }
};

TEST_P(Declared, each_callback_gets_the_arguments_of_the_job) {
  Watch watch;
  jobs_.define<WithCallbacks>().define<Late>();
  jobs_.perform_later<WithCallbacks>(42, "x");
  jobs_.perform_later<WithCallbacks>(42, "x");
  EXPECT_EQ(watch->refused, 42);
  Client other(database_->new_client());
  {
    const Lease lease = other.acquire("lock:WithCallbacks:42-x");
    JobWorker worker(jobs_, quick());
    ASSERT_TRUE(events_.await(What::dropped));
    EXPECT_EQ(watch->failed, 42);
  }
  jobs_.perform_later<Late>(43, "x");
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(await([&] { return watch->inside && !jobs_.locked<Late>(43, "x"); }));
  watch->go = true;
  ASSERT_TRUE(events_.await(What::expired));
  EXPECT_EQ(watch->expired, 43);
}

// A pull request of the parent's: there its marker kept it from ever being enqueued again.
TEST_P(Declared, a_loner_with_a_timeout_is_enqueued_again_when_it_has_run) {
  Watch watch;
  jobs_.define<WithCallbacks>();
  for (int round = 1; round <= 2; ++round) {
    const JobId id = id_of(jobs_.perform_later<WithCallbacks>(42, "x"));
    ASSERT_NE(id, no_job) << round;
    JobWorker worker(jobs_, quick());
    ASSERT_TRUE(await_state(id, JobState::done));
  }
  EXPECT_EQ(watch->last, 42);
  EXPECT_EQ(watch->refused, 0);
}

struct Plain {
  static constexpr std::string_view name = "Plain";
  static constexpr JobLock lock{};
  void perform(JobContext&, int) { stay(); }
};

TEST_P(Declared, what_is_no_loner_is_loner_locked_while_it_runs_and_not_while_it_is_queued) {
  Watch watch;
  jobs_.define<Plain>();
  jobs_.perform_later<Plain>(1);
  EXPECT_TRUE(jobs_.enqueued<Plain>(1));
  EXPECT_FALSE(jobs_.loner_locked<Plain>(1));
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(await([&] { return watch->inside.load(); }));
  EXPECT_TRUE(jobs_.loner_locked<Plain>(1));
  watch->go = true;
}

struct Insisting {
  static constexpr std::string_view name = "Insisting";
  static constexpr JobLock lock = JobLock::active_job_lock();
  static constexpr int max_attempts = 2;
  static Millis backoff(int) { return 1ms; }
  void lock_failed(JobContext&) {
    ++seen->failed;
    throw std::runtime_error("LockFailed");
  }
  void perform(JobContext&) { ++seen->runs; }
};

TEST_P(Declared, a_lock_failed_that_throws_is_a_failure_and_retried_as_such) {
  Watch watch;
  jobs_.define<Insisting>();
  const JobId id = id_of(jobs_.perform_later<Insisting>());
  Client other(database_->new_client());
  Lease lease = other.acquire("lock:Insisting:");
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(events_.await(What::failed));
  EXPECT_EQ(row(id).error, "LockFailed");
  lease.release();
  ASSERT_TRUE(await_state(id, JobState::done));
  EXPECT_EQ(watch->failed, 1) << "then it waits for its lock";
  EXPECT_EQ(watch->runs, 1);
}

HOLDFAST_ON_STORES(Declared, job_kinds());

}  // namespace
}  // namespace holdfast::test
