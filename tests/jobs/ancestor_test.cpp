// SPDX-License-Identifier: Apache-2.0
// The eleven defects of active_job_lock (reference/jobs.md 4.3), each as: there X happens, here Y.
// The seventh, a crash without a timeout, takes a process to kill: kill_test.cpp.
#include <atomic>
#include <thread>

#include "tests/jobs/suite.h"

namespace holdfast::test {
namespace {

class Ancestor : public JobsOn {};

// How a test talks to the jobs below.  One test runs at a time.
struct Notes {
  std::atomic<int> callbacks = 0, expired = 0, runs = 0, refused = 0, asked = 0;
  std::atomic<bool> go = false, inside = false, refreshed = true;
  std::atomic<Token> token = no_token;
  std::mutex mutex;
  std::vector<JobId> told;
};
Notes* notes = nullptr;

class TakingNotes {
 public:
  TakingNotes() { notes = &notes_; }
  ~TakingNotes() { notes = nullptr; }
  Notes* operator->() { return &notes_; }

 private:
  Notes notes_;
};

struct Export {
  static constexpr std::string_view name = "Export";
  static constexpr JobLock lock = JobLock::active_job_lock();
  static Millis lock_timeout(std::int64_t repository, std::int64_t minutes) {
    ++notes->asked;
    return repository == 1 ? std::chrono::minutes(minutes) : Millis(1min);
  }
  void perform(JobContext&, std::int64_t, std::int64_t) {}
};

TEST_P(Ancestor, there_lock_timeout_gets_no_arguments_here_it_gets_those_of_the_job) {
  TakingNotes at;
  EXPECT_EQ(row(id_of(jobs_.perform_later<Export>(1, 60))).lock_ttl, 1h);
  EXPECT_EQ(row(id_of(jobs_.perform_later<Export>(1, 720))).lock_ttl, 12h);
  EXPECT_EQ(row(id_of(jobs_.perform_later<Export>(2, 720))).lock_ttl, 1min);
  EXPECT_EQ(at->asked, 3) << "once for each";
  jobs_.define<Export>();
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(await([&] { return events_.count(What::done) + events_.count(What::dropped) == 3; }));
  EXPECT_EQ(at->asked, 3) << "and not when it runs";
}

// Beside it, a job that declares nothing is as there; elsewhere that is chosen by name.
TEST_P(Ancestor, its_defaults_are_those_of_its_layout_and_of_its_lock_by_name) {
  const bool beside = GetParam().name == "active_job_lock";
  const JobOptions by_name{.lock = JobLock::active_job_lock(), .max_attempts = 1};
  const JobRow made = row(id_of(beside ? jobs_.enqueue("Plain") : jobs_.enqueue("Plain", {}, by_name)));
  EXPECT_EQ(made.queue, "default");
  EXPECT_EQ(made.max_attempts, 1);
  EXPECT_EQ(made.unique, Unique::no);
  EXPECT_EQ(made.on_conflict, OnConflict::drop);
  EXPECT_FALSE(made.lock_fixed);
  EXPECT_EQ(made.limit, 1);
  EXPECT_EQ(made.key, "lock:Plain:");
}

struct Helped {
  static constexpr std::string_view name = "Helped";
  static constexpr JobLock lock = JobLock::active_job_lock({.timeout = 1h, .loner = true});
  void perform(JobContext& context, int) {
    notes->token = context.token();
    notes->inside = true;
    await([] { return notes->go.load(); });
  }
};

TEST_P(Ancestor, there_the_helpers_are_private_here_anybody_may_ask) {
  TakingNotes at;
  jobs_.define<Helped>();
  EXPECT_FALSE(jobs_.locked<Helped>(1));
  EXPECT_FALSE(jobs_.enqueued<Helped>(1));
  EXPECT_FALSE(jobs_.loner_locked<Helped>(1));
  EXPECT_FALSE(jobs_.refresh_lock<Helped>(1)) << "nothing runs";

  const JobId id = id_of(jobs_.perform_later<Helped>(1));
  EXPECT_FALSE(jobs_.locked<Helped>(1));
  EXPECT_EQ(jobs_.enqueued<Helped>(1).value().id, id);
  EXPECT_TRUE(jobs_.loner_locked<Helped>(1));
  EXPECT_FALSE(jobs_.loner_locked<Helped>(2));

  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(await([&] { return at->inside.load(); }));
  const LeaseRow lock = jobs_.locked<Helped>(1).value();
  EXPECT_EQ(lock.key, "lock:Helped:1");
  EXPECT_EQ(lock.owner, row(id).owner);
  EXPECT_FALSE(lock.owner.empty());
  EXPECT_EQ(lock.token, at->token.load());
  EXPECT_NE(lock.token, no_token);
  EXPECT_FALSE(jobs_.enqueued<Helped>(1));
  EXPECT_TRUE(jobs_.loner_locked<Helped>(1));
  EXPECT_TRUE(jobs_.refresh_lock<Helped>(1));
  at->go = true;
  ASSERT_TRUE(events_.await(What::done));
  EXPECT_FALSE(jobs_.loner_locked<Helped>(1));
}

struct Lonely {
  static constexpr std::string_view name = "Lonely";
  static constexpr JobLock lock = JobLock::active_job_lock({.loner = true});
  void perform(JobContext&, int) {}
  void loner_enqueue_failed(const Duplicate& duplicate, int) {
    ++notes->callbacks;
    const std::lock_guard lock_told(notes->mutex);
    notes->told.push_back(duplicate.id);
  }
};

TEST_P(Ancestor, there_five_threads_enqueue_five_loners_here_one_and_four_get_its_number) {
  TakingNotes at;
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> enqueued = 0;
  std::atomic<int> winners = 0;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&] {
      const EnqueueResult result = jobs_.perform_later<Lonely>(1);
      if (id_of(result) == no_job) return;
      ++winners;
      enqueued = to_number(id_of(result));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(winners, 1);
  EXPECT_EQ(at->callbacks, 4);
  for (const JobId id : at->told) EXPECT_EQ(to_number(id), enqueued);
  EXPECT_EQ(jobs_.list({.name = "Lonely"}).size(), 1u);
  EXPECT_EQ(row(JobId{enqueued.load()}).duplicates, 4u);
}

struct Raising {
  static constexpr std::string_view name = "Raising";
  static constexpr int max_attempts = 1;
  static constexpr JobLock lock = JobLock::active_job_lock({.timeout = 3600s, .loner = true});
  void perform(JobContext&, int) {}
  void lock_failed(JobContext& context, int) {
    ++notes->refused;
    throw std::runtime_error("refused by " + std::string(context.blocker()));
  }
};

TEST_P(Ancestor, there_lock_failed_that_raises_leaves_the_loner_here_the_next_is_enqueued) {
  TakingNotes at;
  jobs_.define<Raising>();
  const JobId id = id_of(jobs_.perform_later<Raising>(1));
  Client other(database_->new_client());
  {
    const Lease lease = other.acquire("lock:Raising:1", {.owner = "olga"});
    JobWorker worker(jobs_, quick());
    ASSERT_TRUE(events_.await(What::died));
  }
  EXPECT_EQ(at->refused, 1);
  EXPECT_EQ(state(id), JobState::dead);
  EXPECT_EQ(row(id).error, "refused by olga");
  EXPECT_NE(id_of(jobs_.perform_later<Raising>(1)), no_job);
}

struct Refreshing {
  static constexpr std::string_view name = "Refreshing";
  static constexpr JobLock lock = JobLock::active_job_lock({.timeout = 5s});
  void perform(JobContext& context) {
    const Instant began = BootClock::now();
    for (int i = 0; i < 2; ++i) {
      let_pass(2700ms);
      if (!context.refresh_lock()) notes->refreshed = false;
    }
    if (BootClock::now() - began < 5s || !context.held()) notes->refreshed = false;
    ++notes->runs;
  }
  void lock_expired_before_release(JobContext&) { ++notes->expired; }
};

TEST_P(Ancestor, there_a_refreshed_job_counts_as_expired_here_it_ends_in_time) {
  TakingNotes at;
  jobs_.define<Refreshing>();
  jobs_.perform_later<Refreshing>();
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(await([&] { return events_.count(What::done) + events_.count(What::expired) > 0; }));
  EXPECT_EQ(at->runs, 1);
  EXPECT_TRUE(at->refreshed);
  EXPECT_EQ(at->expired, 0);
  EXPECT_EQ(events_.count(What::done), 1u);
  EXPECT_FALSE(jobs_.locked<Refreshing>());
}

struct Brief {
  static constexpr std::string_view name = "Brief";
  static constexpr JobLock lock = JobLock::active_job_lock({.timeout = 50ms});
  void perform(JobContext& context) {
    notes->inside = true;
    await([] { return notes->go.load(); });
    notes->refreshed = context.refresh_lock();
    ++notes->runs;
  }
  void lock_expired_before_release(JobContext&) { ++notes->expired; }
};

TEST_P(Ancestor, there_a_refresh_after_expiry_overwrites_the_new_owner_here_it_says_no) {
  TakingNotes at;
  jobs_.define<Brief>();
  jobs_.perform_later<Brief>();
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(await([&] { return at->inside.load(); }));
  Client other(database_->new_client());
  const Lease lease = other.acquire("lock:Brief:", {.ttl = 1h, .wait = 20s, .owner = "olga"});
  EXPECT_FALSE(jobs_.refresh_lock<Brief>()) << "from outside";
  at->go = true;
  ASSERT_TRUE(events_.await(What::expired));
  EXPECT_FALSE(at->refreshed) << "from inside";
  EXPECT_EQ(jobs_.locked<Brief>().value().owner.find("olga"), 0u) << jobs_.locked<Brief>()->owner;
}

// There a job deletes the key, even if it belongs to somebody else.
TEST_P(Ancestor, there_a_late_finisher_deletes_anothers_lock_here_it_stays) {
  TakingNotes at;
  jobs_.define<Brief>();
  const JobId id = id_of(jobs_.perform_later<Brief>());
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(await([&] { return at->inside.load(); }));
  Client other(database_->new_client());
  const Lease lease = other.acquire("lock:Brief:", {.ttl = 1h, .wait = 20s});
  at->go = true;
  ASSERT_TRUE(events_.await(What::expired));
  EXPECT_EQ(at->expired, 1);
  EXPECT_EQ(state(id), JobState::done);
  EXPECT_EQ(jobs_.locked<Brief>().value().token, lease.token());
  EXPECT_GT(to_number(lease.token()), to_number(events_.of(What::started).at(0).job.token));
}

struct Again {
  static constexpr std::string_view name = "Again";
  static constexpr JobLock lock = JobLock::active_job_lock({.loner = true});
  static constexpr int max_attempts = 2;
  static Millis backoff(int) { return 300ms; }
  void perform(JobContext& context) {
    ++notes->runs;
    if (context.attempt() == 1) throw std::runtime_error("once more");
    notes->go = true;
  }
};

TEST_P(Ancestor, there_a_duplicate_swallows_a_retry_here_the_retry_keeps_the_slot) {
  TakingNotes at;
  jobs_.define<Again>();
  const JobId id = id_of(jobs_.perform_later<Again>());
  std::atomic<bool> over = false;
  std::atomic<int> slipped_in = 0;
  std::thread pusher([&] {
    while (!over) {
      const EnqueueResult result = jobs_.perform_later<Again>();
      if (id_of(result) != no_job && !at->go) ++slipped_in;  // the retry has not begun
      let_pass(1ms);
    }
  });
  JobWorker worker(jobs_, {.threads = 1, .poll = 5ms, .on_event = [&](const JobEvent& event) {
                             if (event.what == What::failed) events_(event);
                           }});
  EXPECT_TRUE(events_.await(What::failed));
  EXPECT_TRUE(await_state(id, JobState::done));
  EXPECT_EQ(slipped_in, 0) << "before the retry";
  over = true;
  pusher.join();
  EXPECT_GE(at->runs, 2);
  EXPECT_EQ(row(id).attempt, 2);
}

struct Manifold {
  static constexpr std::string_view name = "Manifold";
  static std::optional<std::string> identifier(bool, int i, const std::string& text,
                                               const std::optional<int>&, const std::vector<std::string>&,
                                               double, const Json&) {
    return text + std::to_string(i);
  }
  void perform(JobContext&, bool yes, int i, std::string_view text, std::optional<int> none,
               const std::vector<std::string>& list, double half, Json object) {
    const bool all = yes && i == -3 && text == "ä b" && !none && list == std::vector<std::string>{"x", ""} &&
                     half == 0.5 && object.text == R"({"a":1})";
    notes->runs += all ? 1 : 100;
  }
};

TEST_P(Ancestor, there_keyword_arguments_fail_here_arguments_of_all_kinds_arrive) {
  TakingNotes at;
  jobs_.define<Manifold>();
  const auto result = jobs_.perform_later<Manifold>(
      true, -3, "ä b", std::nullopt, std::vector<std::string>{"x", ""}, 0.5, Json{R"({"a":1})"});
  EXPECT_EQ(row(id_of(result)).key, "lock:Manifold:ä b-3");
  JobWorker worker(jobs_, quick());
  ASSERT_TRUE(events_.await(What::done));
  EXPECT_EQ(at->runs, 1);
}

struct Joined {
  static constexpr std::string_view name = "Joined";
  static constexpr JobLock lock = JobLock::active_job_lock({.loner = true});
  void perform(JobContext&, std::string, std::string) {}
};
struct Identified {
  static constexpr std::string_view name = "Identified";
  static constexpr JobLock lock = JobLock::active_job_lock({.loner = true});
  static std::optional<std::string> identifier(const std::string& a, const std::string& b) {
    return std::to_string(a.size()) + "/" + a + "-" + b;
  }
  void perform(JobContext&, std::string, std::string) {}
};

// In a Redis that is shared with the ancestor, arguments are joined exactly as there; elsewhere they are not.
TEST_P(Ancestor, there_joined_arguments_collide_here_only_in_its_layout_and_without_an_identifier) {
  const JobId id = id_of(jobs_.perform_later<Joined>("a-b", "c"));
  const EnqueueResult other = jobs_.perform_later<Joined>("a", "b-c");
  if (GetParam().name == "active_job_lock") {
    EXPECT_EQ(duplicate_of(other), id);
    EXPECT_EQ(row(id).key, "lock:Joined:a-b-c");
    EXPECT_TRUE(jobs_.enqueued<Joined>("a", "b-c"));
  } else {
    EXPECT_NE(id_of(other), no_job);
    EXPECT_EQ(jobs_.enqueued<Joined>("a-b", "c")->id, id);
  }
  EXPECT_NE(id_of(jobs_.perform_later<Identified>("a-b", "c")), no_job);
  EXPECT_NE(id_of(jobs_.perform_later<Identified>("a", "b-c")), no_job);
}

HOLDFAST_ON_STORES(Ancestor, job_kinds());

}  // namespace
}  // namespace holdfast::test
