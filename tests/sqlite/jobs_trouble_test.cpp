// SPDX-License-Identifier: Apache-2.0
// Jobs under pressure: many at once, kill -9 at any moment, a file that is locked, a disk that is full.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "tests/sqlite/apart.h"
#include "tests/sqlite/jobs_suite.h"
#include "tests/support/damaged_jobs.h"
#include "tests/support/findings.h"

namespace holdfast::test {
namespace {

using JobsTrouble = SqliteTest;

TEST_F(JobsTrouble, of_two_thousand_loners_at_once_one_is_a_job_and_all_others_its_duplicates) {
  constexpr int threads = 40, times = 50;  // which make the file and its tables as well
  std::atomic<int> enqueued = 0, duplicates = 0;
  std::atomic<std::uint64_t> id = 0;
  std::atomic<bool> same = true;
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) {
      all.emplace_back([&] {
        Worker worker(store_at(path_));
        for (int n = 0; n < times; ++n) {
          const auto reply = worker.engine().enqueue(loner_of("k"), BootClock::now() + 100s).value();
          ++(reply.what == EnqueueOutcome::enqueued ? enqueued : duplicates);
          std::uint64_t none = 0;
          if (!id.compare_exchange_strong(none, to_number(reply.id)) && none != to_number(reply.id))
            same = false;
        }
      });
    }
  }
  EXPECT_EQ(enqueued, 1);
  EXPECT_EQ(duplicates, threads * times - 1);
  EXPECT_TRUE(same);
  const auto rows = Worker(store_at(path_)).list();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].duplicates, static_cast<std::uint64_t>(threads * times - 1));
}

// A process writes this when it got an acknowledgement; in one write, so that it is never half there.
struct Acknowledgement {
  enum class What : std::uint8_t { enqueued, finished } what;
  std::uint64_t id;
};

// Claims a job however many of its workers were killed.
Claimed claim_of_killed(Worker& worker, Millis ttl) {
  const std::string queues[] = {"default"}, owner = owner_name(worker.store().client() + random_hex(16));
  return worker.engine()
      .claim({.queues = queues, .owner = {owner}, .ttl = ttl, .max_crashes = 1000}, soon())
      .value();
}

// Enqueues, claims and finishes until it is killed.
[[noreturn]] void work_until_killed(const std::string& path, int to) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    Worker worker(store_at(path));
    for (int i = 0;; ++i) {
      const std::int64_t tick = worker.engine().tick("t", soon()).value().tick + 1;
      const std::string key = "k" + std::to_string(i % 3), args = "[" + std::to_string(tick) + "]";
      const EnqueueReply reply = worker.enqueue(
          loner_of(key, {.args = args, .on_conflict = OnConflict::wait, .tick_name = "t", .tick = tick}));
      const Acknowledgement enqueued{Acknowledgement::What::enqueued, to_number(reply.id)};
      if (::write(to, &enqueued, sizeof enqueued) != sizeof enqueued) break;
      if (i % 2 == 0) continue;
      const Claimed claimed = claim_of_killed(worker, 1ms);
      if (claimed.what != Got::running) continue;
      if (!worker.finish(claimed).finished) break;
      const Acknowledgement finished{Acknowledgement::What::finished, to_number(claimed.job.id)};
      if (::write(to, &finished, sizeof finished) != sizeof finished) break;
    }
  } catch (const std::exception&) {
  }
  ::_exit(1);  // seen by the parent, which expects a signal
}

// What changes in one step is never seen half done: a job and its lease, a job and its tick.
constexpr const char* halves =
    "SELECT 'a lease without its job: ' || key FROM locks AS l WHERE locked_by IS NOT NULL AND NOT EXISTS "
    "(SELECT 1 FROM holdfast_jobs WHERE state = 'running' AND lock = l.key AND holder = locked_by AND "
    "token = sequence) UNION ALL "
    "SELECT 'a job without its lease: ' || id FROM holdfast_jobs AS j WHERE state = 'running' AND NOT EXISTS "
    "(SELECT 1 FROM locks WHERE key = j.lock AND locked_by = j.holder AND sequence = j.token) UNION ALL "
    "SELECT 'a tick with two jobs: ' || args FROM holdfast_jobs GROUP BY args HAVING count(*) > 1";

TEST_F(JobsTrouble, killed_at_any_moment_no_job_is_lost_and_no_slot_and_no_lock_is_stuck) {
  { Worker makes_the_tables(store_at(path_)); }
  std::set<std::uint64_t> enqueued, finished;
  Jitter jitter(random_bits());
  for (int round = 0; round < 40; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const Fd from(ends[0]);
    Fd to(ends[1]);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) work_until_killed(path_, to.get());
    to.reset();
    // It is somewhere after its last line.
    const std::uint64_t enough = 1 + jitter.below(12);
    Acknowledgement received;
    for (std::uint64_t count = 0; ::read(from.get(), &received, sizeof received) == sizeof received;
         ++count) {
      (received.what == Acknowledgement::What::enqueued ? enqueued : finished).insert(received.id);
      if (count == enough) ::kill(child, SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it failed by itself in round " << round;
    ASSERT_EQ(RawDatabase(path_).ask(halves), "") << "in round " << round;
  }
  EXPECT_EQ(RawDatabase(path_).ask("PRAGMA integrity_check"), "ok");
  ASSERT_GT(finished.size(), 20u);

  Worker worker(store_at(path_));
  std::map<std::uint64_t, JobRow> jobs;
  for (JobRow& row : worker.list({.limit = 100'000})) jobs.emplace(to_number(row.id), std::move(row));
  for (const std::uint64_t id : enqueued) EXPECT_TRUE(jobs.contains(id)) << id << " was acknowledged";
  for (const std::uint64_t id : finished) EXPECT_EQ(jobs.at(id).state, JobState::done) << id;
  const auto left = [&] {
    return worker.list({.state = JobState::queued}).size() + worker.list({.state = JobState::running}).size();
  };
  EXPECT_TRUE(await([&] {
    const Claimed claimed = claim_of_killed(worker, 1h);
    if (claimed.what == Got::running) worker.finish(claimed);
    return left() == 0;
  }));
  for (const JobRow& row : worker.list({.limit = 100'000})) {
    EXPECT_EQ(row.state, JobState::done) << to_number(row.id);
    EXPECT_EQ(row.attempt - row.crashes, 1) << to_number(row.id) << " was finished once";
    EXPECT_FALSE(row.slotted) << to_number(row.id);
  }
  SqliteCaller lease(path_);
  for (const char* const key : {"k0", "k1", "k2"}) {
    EXPECT_TRUE(lease.granted(key)) << key;
    lease.release(key);
    EXPECT_EQ(worker.enqueue(loner_of(key)).what, EnqueueOutcome::enqueued) << key;
  }
}

TEST_F(JobsTrouble, a_file_that_others_keep_locked_is_an_error_and_nothing_was_done) {
  Worker worker(store_at(path_));
  worker.enqueue(job_of("k"));
  RawDatabase other(path_);
  other.ask("BEGIN IMMEDIATE");
  const auto expect = [&](const Error& error) {
    EXPECT_EQ(error.code, Errc::unavailable);
    EXPECT_NE(error.detail.find(path_ + ": timed out while other processes were writing the file"),
              std::string::npos)
        << error.detail;
  };
  const auto now = [] { return BootClock::now() + 500ms; };
  const std::string queues[] = {"default"};
  expect(worker.engine().enqueue(job_of("k"), now()).error());
  expect(worker.engine().claim({.queues = queues, .owner = {"w"}}, now()).error());
  expect(worker.engine().finish({.id = JobId{1}, .owner = {"w"}, .to = JobState::done}, now()).error());
  expect(worker.engine().purge({}, now()).error());
  expect(worker.engine().take_tick({.name = "t", .tick = 1}, now()).error());
  EXPECT_EQ(worker.list().size(), 1u) << "reading needs no lock";
  other.ask("ROLLBACK");
  EXPECT_EQ(worker.list().at(0).state, JobState::queued);
  EXPECT_EQ(worker.engine().tick("t", soon()).value().tick, -1);
  EXPECT_EQ(worker.claim().what, Got::running);
}

TEST_F(JobsTrouble, damaged_tables_of_jobs_are_a_note_and_leases_do_without_after_a_reboot_too) {
  JobId id{};
  {
    Worker worker(store_at(path_));
    id = worker.enqueue(job_of("k")).id;
    ASSERT_EQ(worker.claim("w1", 1h).job.id, id);
  }
  RawDatabase file(path_);
  const std::string made = file.ask("SELECT sql FROM sqlite_schema WHERE name = 'holdfast_jobs_due'");
  file.ask("DROP INDEX holdfast_jobs_due");

  sqlite::Machine machine = sqlite::this_machine().value();
  machine.boot_id = "another boot";
  const auto store = sqlite::store({.path = path_}, machine).value();
  EXPECT_TRUE(SqliteCaller(store).granted("l"));
  const auto refused = store->jobs(soon());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused);
  const Diagnosis diagnosis = store->admin()->diagnose(soon()).value();
  const Finding* const jobs = about(diagnosis, "sqlite.jobs");
  ASSERT_NE(jobs, nullptr);
  EXPECT_EQ(jobs->severity, Severity::note);
  EXPECT_NE(jobs->what.find("lacks the index 'holdfast_jobs_due'"), std::string::npos) << jobs->what;
  EXPECT_EQ(about(diagnosis, "sqlite.contents"), nullptr);

  file.ask(made);
  EXPECT_EQ(about(store->admin()->diagnose(soon()).value(), "sqlite.jobs"), nullptr);
  const Claimed again = Worker(store).claim("w2");
  EXPECT_EQ(again.job.id, id) << "its worker was gone with the boot before";
  EXPECT_TRUE(again.recovered);
}

TEST_F(JobsTrouble, a_damaged_job_dies_and_harms_no_other_of_its_queue) {
  Worker worker(store_at(path_));
  const auto set = [&](const std::string& change) {
    return [&, change](JobId id) {
      RawDatabase(path_).ask("UPDATE holdfast_jobs SET " + change +
                             " WHERE id = " + std::to_string(to_number(id)));
    };
  };
  expect_it_dies_and_harms_no_other(worker, "on_conflict", set("on_conflict = 'hope'"));
  expect_it_dies_and_harms_no_other(worker, "uniqueness", set("uniqueness = 'often'"));
  expect_it_dies_and_harms_no_other(worker, "most", set("most = 'one'"));
  expect_it_dies_and_harms_no_other(worker, "lock_ttl_ms", set("lock_ttl_ms = 0.5"));
  for (const std::string limit : {"1001", "-1", "2000000000", "4294967297"})
    expect_it_dies_and_harms_no_other(worker, "most", set("most = " + limit), limit);
  expect_a_state_can_be_repaired(worker, set("state = 'lost'"));
}

TEST_F(JobsTrouble, a_job_with_a_damaged_state_and_another_damaged_field_is_not_forgotten) {
  Worker worker(store_at(path_));
  const auto set = [&](const std::string& change) {
    return [&, change](JobId id) {
      RawDatabase(path_).ask("UPDATE holdfast_jobs SET " + change +
                             " WHERE id = " + std::to_string(to_number(id)));
    };
  };
  expect_a_job_with_two_damaged_fields_is_not_forgotten(worker, "most", set("state = 'lost', most = -1"),
                                                        set("most = 0"));
  expect_a_job_with_two_damaged_fields_is_not_forgotten(
      worker, "on_conflict", set("state = 'lost', on_conflict = 'hope'"), set("on_conflict = 'drop'"));
}

TEST_F(JobsTrouble, a_job_whose_place_in_the_queue_is_damaged_dies_too) {
  Worker worker(store_at(path_));
  const Moment later = worker.enqueue("none").now + 1h;
  ASSERT_EQ(worker.claim("w0").what, Got::running);
  for (const char* change :
       {"priority = 0.5", "priority = 'high'", "due_at = 'soon'", "due_at = '2026-11-01 10:00'"}) {
    for (const bool put_off : {false, true}) {
      SCOPED_TRACE(std::string(change) + (put_off ? ", put off" : ""));
      const JobId bad = worker.enqueue("bad", {.priority = 1, .at = later}).id;
      const JobId good = worker.enqueue("good", {.priority = 2}).id;
      RawDatabase file(path_);
      if (put_off) file.ask("UPDATE holdfast_jobs SET due_at = run_at + 1 WHERE key = 'bad'");
      file.ask(std::string("UPDATE holdfast_jobs SET ") + change + " WHERE key = 'bad'");
      const auto claimed = worker.try_claim("w1", 1h, BootClock::now() + 2s);
      ASSERT_TRUE(claimed) << claimed.error().detail;
      EXPECT_EQ(claimed->job.id, good);
      worker.finish(*claimed);
      const Claimed none = worker.claim("w2");
      EXPECT_EQ(none.what, Got::nothing);
      EXPECT_GT(none.next, 1s);
      EXPECT_EQ(worker.row(bad).state, JobState::dead);
      worker.change(bad, JobChange::remove).value();
    }
  }
}

#define HOLDFAST_WANT(condition, what) \
  if (!(condition)) return std::string("not " #condition ": ") + (what)

TEST_F(JobsTrouble, on_a_full_disk_a_job_is_an_error_and_nothing_acknowledged_is_lost) {
  const std::string folder = scratch_.path() + "/in", inside = folder + "/leases.db";
  std::filesystem::create_directory(folder);
  const std::string problem = apart([&]() -> std::string {
    if (!keep_mounts_to_ourselves()) return "no mounts";
    mount_memory(folder, "size=512k,mode=700");
    Worker worker(store_at(inside));
    std::set<std::uint64_t> acknowledged;
    const std::string args = "[\"" + std::string(2000, 'x') + "\"]";
    for (;;) {
      const auto reply = worker.engine().enqueue(job_of("k", {.args = args}), soon());
      if (reply) {
        acknowledged.insert(to_number(reply->id));
        continue;
      }
      HOLDFAST_WANT(reply.error().code == Errc::unavailable || reply.error().in_doubt(),
                    reply.error().detail);
      HOLDFAST_WANT(reply.error().detail.find("No space left on device") != std::string::npos,
                    reply.error().detail);
      break;
    }
    HOLDFAST_WANT(acknowledged.size() > 10, std::to_string(acknowledged.size()));
    change_memory(folder, "size=8m");
    std::set<std::uint64_t> there;
    for (const JobRow& row : worker.list({.limit = 10'000})) there.insert(to_number(row.id));
    for (const std::uint64_t id : acknowledged)
      HOLDFAST_WANT(there.contains(id), std::to_string(id) + " was acknowledged");
    HOLDFAST_WANT(worker.claim().what == Got::running, "with room it works");
    HOLDFAST_WANT(RawDatabase(inside).ask("PRAGMA integrity_check") == "ok", "integrity");
    return {};
  });
  if (problem == "no mounts") GTEST_SKIP() << "the system does not let us mount";
  EXPECT_EQ(problem, "");
}

TEST_F(JobsTrouble, on_a_read_only_disk_jobs_are_refused) {
  const std::string folder = scratch_.path() + "/in", inside = folder + "/leases.db";
  std::filesystem::create_directory(folder);
  { Worker worker(store_at(inside)); }
  const std::string problem = apart([&]() -> std::string {
    if (!keep_mounts_to_ourselves()) return "no mounts";
    mount_read_only(folder);
    const auto engine = store_at(inside)->jobs(soon());
    HOLDFAST_WANT(!engine, "opened");
    HOLDFAST_WANT(engine.error().code == Errc::refused, engine.error().detail);
    return {};
  });
  if (problem == "no mounts") GTEST_SKIP() << "the system does not let us mount";
  EXPECT_EQ(problem, "");
}

}  // namespace
}  // namespace holdfast::test
