// SPDX-License-Identifier: Apache-2.0
// Programs that do jobs: what they are given, what comes of how they end, and what ends them.
#include <csignal>

#include "base/random.h"
#include "tests/cli/jobs_home.h"
#include "tests/support/servers/shared.h"

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class Working : public JobsHome {
 protected:
  static constexpr const char* says_pid = "echo $$ > pid; ";
  // A `sleep 1000 &` that is not yet one when TERM comes has the shell's trap, and outlives it.
  static constexpr const char* waits = "while :; do sleep 0.05; done";
  pid_t pid_of_handler() const {
    EXPECT_TRUE(await_file("pid"));
    return std::stoi(text_of("pid"));
  }
};

TEST_P(Working, a_program_is_given_its_arguments_and_who_it_is) {
  handler("Show",
          "cat; echo \"$HOLDFAST_JOB $HOLDFAST_NAME $HOLDFAST_ATTEMPT $HOLDFAST_KEY\"; "
          "test \"$HOLDFAST_TOKEN\" -gt 0 && exec " HOLDFAST_BINARY " show \"$HOLDFAST_KEY\"");
  const std::string id = enqueue({"Show", "1", "a b", "--lock"});
  const Ended ended = work_once();
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr("[1,\"a b\"]\n" + id + " Show 1 lock:Show:1-a b\n"));
  EXPECT_THAT(ended.out, HasSubstr("held by")) << "and its lock is held, in the store that it was given";
  EXPECT_THAT(ended.err, MatchesRegex("(.|\n)*job " + id + " Show done in [0-9.]+m?s\n"));
  EXPECT_EQ(state(id), "done");
  EXPECT_EQ(holdfast({"jobs", "locked", "Show", "1", "a b"}).code, 1);
}

TEST_P(Working, a_program_is_alone_in_its_group_with_three_descriptors_and_clean_signals) {
  // No program is waited for before the mask is read: a shell changes its own to do that.
  handler(
      "Look",
      "exec sh -c 'while read -r line; do case $line in SigBlk*) blocked=$line; esac; done </proc/$$/status; "
      "ls /proc/$$/fd; echo \"$blocked\"; cut -d\" \" -f5 /proc/$$/stat; echo $$'");
  enqueue({"Look"});
  const Ended ended = work_once();
  std::istringstream lines(ended.out.substr(ended.out.find("SigBlk")));
  std::string blocked, group, pid;
  std::getline(lines, blocked);
  std::getline(lines, group);
  std::getline(lines, pid);
  EXPECT_EQ(ended.out.substr(0, ended.out.find("SigBlk")), is_server() ? "0\n1\n2\n" : "0\n1\n2\n64\n");
  EXPECT_EQ(blocked, "SigBlk:\t0000000000000000");
  EXPECT_EQ(group, pid);
}

TEST_P(Working, a_program_may_take_longer_than_its_claim) {
  handler("Long", "sleep 6");
  const std::string id = enqueue({"Long"});
  const Ended ended = work_once({"--claim", "5s"});
  EXPECT_EQ(state(id), "done") << ended.err;
}

TEST_P(Working, how_a_program_ends_is_how_the_job_does) {
  handler("Three", "exit 3");
  handler("Nine", "kill -9 $$");
  std::ofstream(path("handlers/NotRunnable")) << "text";
  const auto once = [&](const char* name) { return enqueue({name, "--attempts", "1"}); };
  const std::string three = once("Three"), nine = once("Nine"), missing = once("Missing"),
                    forbidden = once("NotRunnable"),
                    again = enqueue({"Three", "--attempts", "2", "--key", "k"});
  EXPECT_EQ(work_once().code, 0);
  EXPECT_EQ(job(three)["error"], "exit 3");
  EXPECT_EQ(state(three), "dead");
  EXPECT_EQ(job(nine)["error"], "killed by signal 9");
  EXPECT_EQ(job(missing)["error"], "cannot run \"handlers/Missing\": No such file or directory");
  EXPECT_EQ(job(forbidden)["error"], "cannot run \"handlers/NotRunnable\": Permission denied");
  EXPECT_EQ(state(again), "queued");
  EXPECT_EQ(job(again)["attempt"], 1);
}

TEST_P(Working, no_name_leads_out_of_the_folder) {
  std::ofstream(path("outside")) << "#!/bin/sh\ntouch escaped\n";
  std::filesystem::permissions(path("outside"), std::filesystem::perms::owner_all);
  for (const char* const name : {"../outside", "..", ".hidden", "x/../../outside", "/bin/true"}) {
    const std::string id = enqueue({name, "--attempts", "1"});
    ASSERT_EQ(work_once().code, 0);
    EXPECT_EQ(state(id), "dead") << name;
    EXPECT_THAT(job(id)["error"], HasSubstr("not a plain file name"));
  }
  EXPECT_FALSE(exists("escaped"));
  const std::string id = enqueue({"Plain", "--queue", "../.."});
  ASSERT_EQ(holdfast({"jobs", "work", "--exec", "h/{queue}/{name}", "--queue", "../..", "--once"}).code, 0);
  EXPECT_THAT(job(id)["error"], HasSubstr("not a plain file name"));
}

// Its name is not checked, because --exec does not use it.
TEST_P(Working, a_queue_that_is_called_as_a_mark_does_not_lead_out_of_the_folder) {
  std::ofstream(path("outside")) << "#!/bin/sh\ntouch escaped\n";
  std::filesystem::permissions(path("outside"), std::filesystem::perms::owner_all);
  const std::string id = enqueue({"../outside", "--queue", "{name}"});
  ASSERT_EQ(holdfast({"jobs", "work", "--exec", "handlers/{queue}", "--queue", "{name}", "--once"}).code, 0);
  EXPECT_FALSE(exists("escaped"));
  EXPECT_EQ(job(id)["error"], "cannot run \"handlers/{name}\": No such file or directory");
  const std::string other = enqueue({"{queue}", "--queue", "{name}"});
  ASSERT_EQ(holdfast({"jobs", "work", "--exec", "h/{name}/{queue}", "--queue", "{name}", "--once"}).code, 0);
  EXPECT_EQ(job(other)["error"], "cannot run \"h/{queue}/{name}\": No such file or directory");
}

TEST_P(Working, json_prints_events_on_stdout_and_sends_programs_to_stderr) {
  handler("Talk", "echo said");
  const std::string id = enqueue({"Talk"});
  const Ended ended = work_once({"--json"});
  const auto events = lines_of(ended.out);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["event"], "started");
  EXPECT_EQ(events[1]["event"], "done");
  EXPECT_EQ(events[1]["id"].dump(), id);
  EXPECT_THAT(ended.err, HasSubstr("said\n"));
}

TEST_P(Working, once_ends_when_nothing_is_due_and_does_what_jobs_add) {
  handler("First", HOLDFAST_BINARY " jobs enqueue Second >/dev/null");
  handler("Second", "echo second");
  enqueue({"First"});
  const std::string later = enqueue({"Second", "--in", "1h"});
  EXPECT_THAT(work_once().out, HasSubstr("second\n"));
  EXPECT_EQ(state(later), "queued");
}

TEST_P(Working, only_the_queues_that_are_asked_for) {
  handler("Q", "echo $HOLDFAST_JOB");
  const std::string a = enqueue({"Q", "1", "--queue", "a"}), b = enqueue({"Q", "2", "--queue", "b"}),
                    c = enqueue({"Q", "3", "--queue", "c"});
  work_once({"--queue", "a", "--queue", "b", "--threads", "1"});
  EXPECT_EQ(state(a), "done");
  EXPECT_EQ(state(b), "done");
  EXPECT_EQ(state(c), "queued");
}

TEST_P(Working, a_killed_worker_takes_its_program_with_it_and_another_does_the_job) {
  handler("Long", std::string(says_pid) + "test $HOLDFAST_ATTEMPT = 2 || { sleep 1000 & wait; }");
  const std::string id = enqueue({"Long", "--lock-timeout", "1h", "--attempts", "1"});
  Process first = start(work({"--claim", "2s"}));
  const pid_t program = pid_of_handler();
  first.signal(SIGKILL);
  first.wait();
  EXPECT_TRUE(await([&] { return !runs(program); }));
  Process second = start(work());  // as soon as the claim of the first has run out
  EXPECT_TRUE(second.await_err("job " + id + " Long done"));
  EXPECT_EQ(job(id)["attempt"], 2);
  EXPECT_EQ(job(id)["crashes"], 1);
  EXPECT_THAT(holdfast({"jobs", "ls"}).out, MatchesRegex("(.|\n)* 1/1, 1 crash\n"));
  EXPECT_THAT(holdfast({"jobs", "show", id}).out,
              MatchesRegex("(.|\n)*attempt +1 of 1\ncrashes +1\n(.|\n)*"));
  second.signal(SIGTERM);
  EXPECT_EQ(second.wait(), 0);
}

TEST_P(Working, a_stopped_worker_does_not_keep_its_program_longer_than_its_claim) {
  handler("Long", std::string(says_pid) + "exec sleep 1000");
  enqueue({"Long"});
  Process worker = start(work({"--claim", "2s"}));
  const pid_t program = pid_of_handler();
  worker.signal(SIGSTOP);
  EXPECT_TRUE(await([&] { return !runs(program); }));
}

TEST_P(Working, term_drains) {
  handler("Short", std::string(says_pid) + "while ! test -e go; do sleep 0.05; done; exit 0");
  const std::string id = enqueue({"Short"});
  Process worker = start(work({"--grace", "1h", "--threads", "1"}));
  pid_of_handler();
  worker.signal(SIGTERM);
  const std::string next = enqueue({"Short"});
  std::ofstream(path("go")) << "go";
  EXPECT_EQ(worker.wait(), 0) << worker.err();
  EXPECT_EQ(state(id), "done");
  EXPECT_EQ(state(next), "queued") << "nothing is begun any more";
}

TEST_P(Working, what_is_not_done_within_the_grace_is_stopped_and_handed_back) {
  handler("Long", std::string("trap 'echo told > told; exit 1' TERM; ") + says_pid + waits);
  const std::string id = enqueue({"Long"});
  Process worker = start(work({"--grace", "0s"}));
  pid_of_handler();
  worker.signal(SIGINT);
  EXPECT_EQ(worker.wait(), 0);
  EXPECT_THAT(worker.err(), HasSubstr("handed back to the queue: it was stopped: exit 1"));
  EXPECT_TRUE(exists("told"));
  EXPECT_EQ(state(id), "queued");
  EXPECT_EQ(job(id)["attempt"], 0);
}

TEST_P(Working, a_program_that_was_stopped_is_not_done_even_if_it_exits_with_0) {
  handler("Polite", std::string("trap 'exit 0' TERM; ") + says_pid + waits);
  const std::string id = enqueue({"Polite"});
  Process worker = start(work({"--grace", "0s"}));
  pid_of_handler();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  EXPECT_THAT(worker.err(), HasSubstr("handed back to the queue: it was stopped: exit 0"));
  EXPECT_EQ(state(id), "queued");
  EXPECT_EQ(job(id)["attempt"], 0);
}

// On servers: the embedded store has no room either then.
class NoRoom : public Working {};

TEST_P(NoRoom, a_job_for_which_the_machine_has_no_room_is_handed_back) {
  handler("Any", "echo ran > ran");
  const std::string id = enqueue({"Any"});
  Process worker(plan({"sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh", HOLDFAST_BINARY, "jobs",
                       "work", "--exec", "handlers/{name}", "--once"}));
  EXPECT_EQ(worker.wait(), 0);
  EXPECT_THAT(worker.err(),
              HasSubstr("job " + id + " Any was handed back to the queue: cannot write its arguments"));
  EXPECT_EQ(state(id), "queued");
  EXPECT_EQ(job(id)["attempt"], 0);
  EXPECT_FALSE(exists("ran"));
}

TEST_P(Working, a_second_signal_ends_the_wait_and_kills_what_ignores_term) {
  handler("Deaf", std::string("trap '' TERM; ") + says_pid + "while :; do sleep 1; done");
  const std::string id = enqueue({"Deaf"});
  Process worker = start(work({"--grace", "1h", "--kill-after", "50ms"}));
  const pid_t program = pid_of_handler();
  worker.signal(SIGTERM);
  EXPECT_FALSE(worker.has_ended());
  // Signals of one kind that nobody has taken yet count as one.
  worker.signal(SIGINT);
  EXPECT_EQ(worker.wait(), 0) << worker.err();
  EXPECT_FALSE(runs(program));
  EXPECT_EQ(state(id), "queued");
}

TEST_P(Working, a_cancelled_job_is_stopped) {
  handler("Long", std::string(says_pid) + "exec sleep 1000");
  const std::string queued = enqueue({"Long", "--in", "1h"});
  EXPECT_THAT(holdfast({"jobs", "cancel", "--json", queued}).out,
              HasSubstr("\"still_runs\":false,\"notices_within_ms\":0}"));
  const std::string id = enqueue({"Long"});
  Process worker = start(work({"--claim", "3s"}));
  const pid_t program = pid_of_handler();
  const Ended cancelled = holdfast({"jobs", "cancel", id});
  EXPECT_EQ(cancelled.code, 0);
  EXPECT_THAT(cancelled.out,
              MatchesRegex("job " + id + " Long is cancelled; it still runs on [^ ]+ pid " +
                           std::to_string(worker.pid()) + ", which will learn of this within [0-9.]+m?s\n"));
  EXPECT_TRUE(await([&] { return !runs(program); }));
  EXPECT_TRUE(worker.await_err("job " + id + " Long was cancelled")) << worker.err();
  EXPECT_EQ(state(id), "cancelled");
}

TEST_P(Working, a_cancelled_job_that_still_runs_is_reported_as_json_too) {
  handler("Long", std::string(says_pid) + "exec sleep 1000");
  const std::string id = enqueue({"Long"});
  Process worker = start(work({"--claim", "3s"}));
  pid_of_handler();
  const Ended cancelled = holdfast({"jobs", "cancel", "--json", id});
  EXPECT_EQ(cancelled.code, 0) << cancelled.err;
  EXPECT_THAT(cancelled.out, MatchesRegex("[^\n]*\"still_runs\":true,\"notices_within_ms\":[1-9][0-9]*}\n"));
}

TEST_P(Working, a_job_that_runs_longer_than_at_most_is_stopped_and_has_failed) {
  handler("Long", std::string("trap 'exit 0' TERM; ") + says_pid + waits);
  const std::string id = enqueue({"Long", "--attempts", "1"});
  EXPECT_THAT(work_once({"--at-most", "300ms"}).err,
              HasSubstr("job " + id + " Long is dead: it ran longer than --at-most 300ms: exit 0"));
  EXPECT_EQ(state(id), "dead");
}

TEST_P(Working, every_copy_of_a_job_without_a_lock_runs) {
  handler("Mail", "echo x >> sent");
  for (int i = 0; i < 3; ++i) enqueue({"Mail", "7"});
  ASSERT_EQ(work_once().code, 0);
  EXPECT_EQ(text_of("sent"), "x\nx\nx\n");
}

TEST_P(Working, a_job_outlives_a_lock_that_it_was_given_for_a_time) {
  handler("Slow", std::string(says_pid) + "while ! test -e go; do sleep 0.05; done");
  const std::string id = enqueue({"Slow", "--lock-timeout", "100ms"});
  Process worker = start(work());
  pid_of_handler();
  EXPECT_TRUE(await([&] { return holdfast({"jobs", "locked", "Slow"}).code == 1; }));
  std::ofstream(path("go")) << "go";
  EXPECT_TRUE(worker.await_err("but its lock had expired before the end")) << worker.err();
  EXPECT_EQ(state(id), "done");
}

TEST_P(Working, two_workers_never_run_one_key_at_once) {
  handler("One", "mkdir busy || { echo both >> both; exit 1; }; sleep 0.02; rmdir busy; echo x >> ran");
  for (int i = 0; i < 12; ++i) enqueue({"One", std::to_string(i), "--key", "one", "--on-conflict", "wait"});
  Process a = start(work()), b = start(work());
  EXPECT_TRUE(await([&] { return text_of("ran").size() == 24; }, long_enough)) << a.err() << b.err();
  EXPECT_FALSE(exists("both"));
}

TEST_P(Working, a_job_whose_lock_is_held_is_dropped_and_says_by_whom) {
  handler("Drop", "exit 0");
  ASSERT_EQ(holdfast({"acquire", "lock:Drop:", "--owner", "olga"}).code, 0);
  const std::string id = enqueue({"Drop", "--on-conflict", "drop"});
  EXPECT_THAT(work_once().err, HasSubstr("job " + id + " Drop dropped: lock:Drop: is held by olga"));
  EXPECT_EQ(state(id), "dropped");
}

TEST_F(Home, a_worker_whose_fork_server_is_killed_ends) {
  Process worker = start({"jobs", "work", "--exec", "true"});
  ASSERT_TRUE(await([&] { return children_of(worker.pid()).size() == 1; }));
  const pid_t fork_server = children_of(worker.pid()).front();
  ASSERT_TRUE(await([&] { return proc_file(fork_server, "comm") == "holdfast-forks\n"; }));
  ASSERT_TRUE(send_signal(fork_server, SIGKILL));
  EXPECT_EQ(worker.wait(), 137);
  EXPECT_THAT(worker.err(), HasSubstr("was killed"));
}

// A user who may read jobs but not change them.
class RefusedWork : public JobsHome {
 protected:
  RefusedWork() {
    const std::string url = database_->url();
    const std::size_t table = url.find("?table=") + 7;
    schema_ = url.substr(table, url.find('.', table) - table);
    shared_postgres().execute("CREATE ROLE " + role_ + " LOGIN; GRANT USAGE ON SCHEMA " + schema_ + " TO " +
                              role_ + "; GRANT ALL ON ALL TABLES IN SCHEMA " + schema_ + " TO " + role_ +
                              "; GRANT ALL ON ALL SEQUENCES IN SCHEMA " + schema_ + " TO " + role_);
    shared_postgres().execute("REVOKE UPDATE ON " + schema_ + ".holdfast_jobs FROM " + role_);
    enqueued_ = enqueue({"Job"});
    environment_["HOLDFAST_STORE"] =
        shared_postgres().url(role_, "postgres", "") + "?table=" + schema_ + ".locks";
    handler("Job", "exit 0");
  }
  ~RefusedWork() override { shared_postgres().execute("DROP OWNED BY " + role_ + "; DROP ROLE " + role_); }
  std::string schema_, enqueued_;
  const std::string role_ = "r_" + random_hex(16);
};

TEST_P(RefusedWork, once_ends_with_77_and_the_reason) {
  const Ended ended = work_once();
  EXPECT_EQ(ended.code, 77);
  EXPECT_THAT(
      ended.err,
      MatchesRegex("holdfast: cannot claim jobs: [^\n]*permission denied [^\n]*holdfast_jobs[^\n]*\n"));
}

TEST_P(RefusedWork, a_worker_reports_it_once_and_continues_when_it_is_allowed) {
  Process worker = start(work({"--threads", "1"}));
  ASSERT_TRUE(worker.await_err("cannot claim jobs: ")) << worker.err();
  EXPECT_EQ(work_once().code, 77) << "time passes";
  shared_postgres().execute("GRANT UPDATE ON " + schema_ + ".holdfast_jobs TO " + role_);
  EXPECT_TRUE(worker.await_err("job " + enqueued_ + " Job done")) << worker.err();
  const std::string said = worker.err();
  EXPECT_THAT(said, HasSubstr("claiming jobs works again\n"));
  EXPECT_EQ(said.find("cannot claim jobs"), said.rfind("cannot claim jobs"));
}

HOLDFAST_ON_EVERY_SHARED_STORE_OF_JOBS(Working);
HOLDFAST_ON_STORES(RefusedWork, kinds_named({"postgres"}));

std::vector<Kind> servers_of_jobs() {
  std::vector<Kind> kinds = shared_job_kinds();
  std::erase_if(kinds, [](const Kind& kind) { return !kind.server; });
  return kinds;
}
HOLDFAST_ON_STORES(NoRoom, servers_of_jobs());

}  // namespace
}  // namespace holdfast::test
