// SPDX-License-Identifier: Apache-2.0
// How CMD is ended, and how long it takes: --on-lost, --kill-after, --at-most, --at-least.
#include "tests/cli/ending.h"

#include <csignal>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Ending, by_kill_sends_no_term_when_the_lease_is_lost) {
  Process process = hold("k", {"--ttl", "3s", "--owner", "me", "--on-lost", "kill"}, stubborn);
  EXPECT_TRUE(process.await_out("ready"));
  lose();
  EXPECT_EQ(process.wait(), 76);
  EXPECT_FALSE(exists("told"));
  EXPECT_THAT(process.err(), HasSubstr("was lost: "));
  EXPECT_THAT(process.err(), HasSubstr("the command was stopped"));
}

TEST_F(Ending, by_kill_ends_it_in_time_when_main_is_stopped) {
  Process process = hold("k", {"--ttl", "4s", "--on-lost", "kill"}, stubborn);
  EXPECT_TRUE(process.await_out("ready"));
  const pid_t command = command_of(process.pid());
  stop(process);
  EXPECT_EQ(holdfast({"run", "-w", "20s", "k", "true"}).code, 0);
  EXPECT_FALSE(runs(command));
  EXPECT_FALSE(exists("told"));
  process.signal(SIGCONT);
  EXPECT_EQ(process.wait(), 76);
}

TEST_F(Ending, ignored_leaves_the_command_alone_and_still_reports_the_lost_lease) {
  Process process = hold("k", {"--ttl", "3s", "--owner", "me", "--on-lost", "ignore"},
                         "trap 'touch told' TERM; while ! test -e enough; do sleep 0.05; done; exit 3");
  lose();
  EXPECT_TRUE(is_free("k"));
  let_pass(1500ms);
  EXPECT_FALSE(process.has_ended());
  std::ofstream(path("enough"));
  EXPECT_EQ(process.wait(), 76);
  EXPECT_FALSE(exists("told"));
  EXPECT_THAT(process.err(), HasSubstr("the command may have run at the same time as another holder"));
}

TEST_F(Ending, ignored_leaves_the_command_alone_when_main_is_killed_and_the_guard_stays_with_it) {
  Process process = hold("k", {"--ttl", "2s", "--on-lost", "ignore"},
                         "sleep 1000 & echo child $!; while ! test -e enough; do sleep 0.05; done");
  const pid_t child = pid_behind(process, "child");
  const pid_t guard = guard_of(process.pid());
  const pid_t command = command_of(process.pid());
  process.signal(SIGKILL);
  process.wait();
  EXPECT_TRUE(await([&] { return is_free("k"); }));
  EXPECT_TRUE(runs(command));
  std::ofstream(path("enough"));
  EXPECT_TRUE(await([&] { return !runs(command) && !runs(child) && !runs(guard); }));
}

TEST_F(Ending, ignored_leaves_the_command_alone_when_main_and_guard_are_killed) {
  Process process = hold("k", {"--ttl", "12s", "--on-lost", "ignore"}, "exec sleep 1000");
  const pid_t guard = guard_of(process.pid());
  const pid_t command = command_of(process.pid());
  process.signal(SIGSTOP);  // or it would notice the guard's death in time
  ASSERT_TRUE(send_signal(guard, SIGKILL));
  process.signal(SIGKILL);
  process.wait();
  EXPECT_TRUE(await([&] { return !runs(guard); }));
  let_pass(300ms);
  EXPECT_TRUE(runs(command));
  EXPECT_TRUE(send_signal(command, SIGKILL));
}

TEST_F(Ending, by_a_program_runs_it_once_instead_of_telling_the_command) {
  write_program("alarm",
                "echo \"$HOLDFAST_KEY|$HOLDFAST_OWNER|$HOLDFAST_TOKEN|$HOLDFAST_REASON|$#\" >> alarmed\n"
                "kill -USR1 -$HOLDFAST_GROUP");
  Process process =
      hold("k", {"--ttl", "12s", "--owner", "me", "--on-lost", "exec:" + path("alarm")},
           "trap 'touch told' TERM; trap 'echo asked; exit 0' USR1; echo token $HOLDFAST_TOKEN; "
           "while :; do sleep 0.05; done");
  EXPECT_TRUE(process.await_out("token "));
  lose();
  EXPECT_EQ(process.wait(), 76);
  EXPECT_THAT(process.out(), HasSubstr("asked"));
  EXPECT_FALSE(exists("told"));
  const std::string out = process.out();
  const std::size_t at = out.find("token ") + 6;
  EXPECT_EQ(text_of("alarmed"), "k|me|" + out.substr(at, out.find('\n', at) - at) + "|gone|0\n");
}

TEST_F(Ending, by_a_program_kills_both_in_time) {
  write_program(
      "alarm", "trap '' TERM; sleep 1000 & echo $! > child; echo $$ > alarmed; while :; do sleep 0.05; done");
  Process process = hold("k", {"--ttl", "8s", "--on-lost", "exec:" + path("alarm")}, stubborn);
  EXPECT_TRUE(process.await_out("ready"));
  const pid_t command = command_of(process.pid());
  stop(process);
  EXPECT_EQ(holdfast({"run", "-w", "20s", "k", "true"}).code, 0);
  EXPECT_FALSE(runs(command));
  ASSERT_TRUE(exists("alarmed"));
  EXPECT_FALSE(runs(std::stoi(text_of("alarmed"))));
  EXPECT_FALSE(runs(std::stoi(text_of("child"))));
  EXPECT_FALSE(exists("told"));
}

TEST_F(Ending, by_a_program_is_called_off_when_the_lease_is_renewed_after_all) {
  write_program("alarm", "echo alarmed >> alarmed");
  Process process =
      hold("k", {"--ttl", "9s", "--kill-after", "3s", "--on-lost", "exec:" + path("alarm")},
           "setsid sleep 1000 >/dev/null 2>&1 & echo daemon $!; while ! test -e enough; do sleep 0.05; done");
  const pid_t daemon = pid_behind(process, "daemon");
  come_near_to_loss("alarmed");
  let_pass(4500ms);  // it would have been lost long ago
  EXPECT_FALSE(process.has_ended()) << process.err();
  EXPECT_EQ(text_of("alarmed"), "alarmed\n");
  std::ofstream(path("enough"));
  EXPECT_EQ(process.wait(), 0) << process.err();
  EXPECT_THAT(process.err(), Not(HasSubstr("lost")));
  EXPECT_THAT(process.err(), Not(HasSubstr("stopped")));
  EXPECT_TRUE(runs(daemon));
  EXPECT_TRUE(send_signal(daemon, SIGKILL));
}

TEST_F(Ending, comes_when_its_time_is_over_though_a_program_was_run_before) {
  write_program("alarm", "touch alarmed");
  Process process = hold(
      "k", {"--ttl", "9s", "--kill-after", "3s", "--at-most", "10s", "--on-lost", "exec:" + path("alarm")},
      "trap 'echo told; exit 0' TERM; while :; do sleep 0.05; done");
  come_near_to_loss("alarmed");
  EXPECT_EQ(process.wait(), 124);
  EXPECT_THAT(process.out(), HasSubstr("told"));
  EXPECT_THAT(process.err(), HasSubstr("--at-most 10s; it was stopped"));
  EXPECT_THAT(process.err(), Not(HasSubstr("lost")));
}

TEST_F(Ending, begun_is_brought_to_an_end_though_the_lease_is_renewed_after_all) {
  Process process = hold("k", {"--ttl", "9s", "--kill-after", "3s"}, stubborn);
  come_near_to_loss("told");
  EXPECT_EQ(process.wait(), 76);
  EXPECT_THAT(process.err(),
              HasSubstr("holdfast: the lease on k could not be renewed in time; the command was stopped\n"));
  EXPECT_THAT(process.err(), Not(HasSubstr("lost")));
  EXPECT_TRUE(is_free("k"));
}

TEST_F(Ending, by_a_program_leaves_it_its_time_though_the_command_has_ended) {
  // Four and a half seconds; what a command leaves behind has two.
  write_program("alarm", "kill -USR1 -$HOLDFAST_GROUP; sleep 2.3; touch finished");
  Process process = hold("k", {"--ttl", "27s", "--on-lost", "exec:" + path("alarm")},
                         "trap 'exit 0' USR1; while :; do sleep 0.05; done");
  const Process lock = lock_store();
  EXPECT_EQ(process.wait(60s), 76);
  EXPECT_TRUE(exists("finished"));
}

TEST_F(Ending, by_a_program_that_cannot_be_run_is_refused_before_anything_begins) {
  const auto with = [&](const std::string& program) {
    return holdfast({"run", "--on-lost", "exec:" + program, "k", "touch", path("ran")});
  };
  std::ofstream(path("plain"));
  Ended ended = with("./nothing");
  EXPECT_EQ(ended.code, 127);
  EXPECT_EQ(ended.err,
            "holdfast: cannot run \"./nothing\" of --on-lost: No such file or directory; give the name "
            "of a program in PATH, or its path\n");
  EXPECT_EQ(with("no-such-program-anywhere").code, 127);
  ended = with("./plain");
  EXPECT_EQ(ended.code, 126);
  EXPECT_EQ(ended.err,
            "holdfast: cannot run \"./plain\" of --on-lost: Permission denied; make it executable, or give "
            "another program\n");
  EXPECT_EQ(with("/").code, 126);
  ended = with("/bin/true --now");
  EXPECT_EQ(ended.code, 127);
  EXPECT_EQ(
      ended.err,
      "holdfast: cannot run \"/bin/true --now\" of --on-lost: No such file or directory; exec: takes no "
      "arguments, so give the path of a script\n");
  EXPECT_FALSE(exists("ran"));
  EXPECT_FALSE(exists(".local"));  // no store was opened
  EXPECT_EQ(with("true").code, 0);
  write_program("with a space", "");
  EXPECT_EQ(with("./with a space").code, 0);
}

TEST_F(Ending, by_a_program_that_is_gone_sends_term_and_reports_it) {
  write_program("nothing", "");
  Process process = hold("k", {"--ttl", "12s", "--owner", "me", "--on-lost", "exec:./nothing"},
                         "trap 'echo told; exit 0' TERM; echo ready; while :; do sleep 0.05; done");
  EXPECT_TRUE(process.await_out("ready"));
  std::filesystem::remove(path("nothing"));
  lose();
  EXPECT_EQ(process.wait(), 76);
  EXPECT_THAT(process.out(), HasSubstr("told"));
  EXPECT_THAT(process.err(), HasSubstr("cannot run \"./nothing\" of --on-lost: No such file"));
}

TEST_F(Ending, waits_for_kill_after_between_term_and_kill) {
  // With the usual grace it would have been killed after 3 s.
  Process process =
      hold("k", {"--ttl", "18s", "--owner", "me", "--kill-after", "6s"},
           "trap 'sleep 3.3; echo done; exit 0' TERM; echo ready; while :; do sleep 0.05; done");
  EXPECT_TRUE(process.await_out("ready"));
  lose();
  EXPECT_EQ(process.wait(), 76);
  EXPECT_THAT(process.out(), HasSubstr("done"));
}

TEST_F(Ending, kills_what_the_command_left_behind_after_kill_after) {
  Process process =
      start({"run", "--ttl", "1h", "--kill-after", "0s", "k", "--", "sh", "-c",
             "sh -c 'trap \"echo told > told\" TERM; echo $$ > left; while :; do sleep 0.05; done' & "
             "while ! test -s left; do :; done"});
  EXPECT_EQ(process.wait(), 0);
  EXPECT_FALSE(runs(std::stoi(text_of("left"))));
  EXPECT_FALSE(exists("told"));
}

TEST_F(Ending, refuses_a_grace_that_does_not_fit_into_the_lease) {
  const Ended ended = holdfast({"run", "--ttl", "6s", "--kill-after", "2.1s", "k", "touch", path("ran")});
  EXPECT_EQ(ended.code, 64);
  EXPECT_EQ(
      ended.err,
      "holdfast: --kill-after \"2.1s\" is too long for a lease of 6s; give at most 2s, a third of --ttl\n");
  EXPECT_FALSE(exists("ran"));
  EXPECT_EQ(holdfast({"run", "--ttl", "6s", "--kill-after", "2s", "k", "true"}).code, 0);
}

TEST_F(Ending, comes_when_the_command_has_had_its_time) {
  const Ended ended = holdfast({"run", "--at-most", "300ms", "k", "sleep", "1000"});
  EXPECT_EQ(ended.code, 124);
  EXPECT_EQ(ended.err, "holdfast: \"sleep\" took longer than --at-most 300ms; it was stopped\n");
  EXPECT_TRUE(is_free("k"));
  EXPECT_EQ(holdfast({"run", "--at-most", "1h", "k", "--", "sh", "-c", "exit 3"}).code, 3);
}

TEST_F(Ending, comes_in_time_with_every_manner_and_kills_who_does_not_listen) {
  const Words manners{"term", "kill", "ignore", "exec:/bin/true"};
  std::vector<Process> all;
  for (const std::string& manner : manners)
    all.push_back(hold(manner, {"--at-most", "3s", "--kill-after", "3s", "--on-lost", manner},
                       "trap 'echo told' TERM; while :; do sleep 0.05; done"));
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].wait(), 124) << manners[i];
    EXPECT_THAT(all[i].out(), HasSubstr("told")) << manners[i];
    EXPECT_TRUE(is_free(manners[i]));
  }
}

TEST_F(Ending, the_key_is_held_until_the_last_of_a_command_out_of_time_is_dead) {
  Process process = hold("k", {"--at-most", "2s", "--kill-after", "5s"}, stubborn);
  const pid_t command = command_of(process.pid());
  ASSERT_TRUE(await([&] { return exists("told"); }));
  EXPECT_EQ(holdfast({"run", "-n", "k", "true"}).code, 75);
  EXPECT_EQ(holdfast({"run", "-w", "20s", "k", "true"}).code, 0);
  EXPECT_FALSE(runs(command));
  EXPECT_EQ(process.wait(), 124);
}

TEST_F(Ending, comes_in_time_while_main_is_stopped) {
  Process process = hold("k", {"--ttl", "1h", "--at-most", "500ms"}, "exec sleep 1000");
  const pid_t command = command_of(process.pid());
  process.signal(SIGSTOP);
  EXPECT_TRUE(await([&] { return !runs(command); }));
  process.signal(SIGCONT);
  EXPECT_EQ(process.wait(), 124);
}

TEST_F(Ending, by_time_also_reaches_a_stopped_command) {
  Process process = hold("k", {"--at-most", "3s", "--kill-after", "10s"},
                         "trap 'echo told; exit 0' TERM; echo ready; while :; do :; done");
  EXPECT_TRUE(process.await_out("ready"));
  ASSERT_TRUE(send_signal_to_group(command_of(process.pid()), SIGSTOP));
  EXPECT_EQ(process.wait(), 124);
  EXPECT_THAT(process.out(), HasSubstr("told"));
}

TEST_F(Ending, by_loss_does_not_move_a_stopped_command) {
  Process process = hold("k", {"--ttl", "3s", "--owner", "me"},
                         "trap 'echo > moved' CONT TERM; echo ready; while :; do :; done");
  EXPECT_TRUE(process.await_out("ready"));
  const pid_t command = command_of(process.pid());
  ASSERT_TRUE(send_signal_to_group(command, SIGSTOP));
  ASSERT_TRUE(await([&] { return is_stopped(command); }));
  lose();
  EXPECT_EQ(process.wait(), 76);
  EXPECT_FALSE(exists("moved"));
}

TEST_F(Ending, early_the_key_is_kept_for_what_is_left_of_its_time) {
  const Instant begun = BootClock::now();
  Process process = hold("k", {"--ttl", "4s", "--at-least", "8s"}, "exit 3");
  let_pass(4100ms);  // more than the ttl: it is renewed
  EXPECT_EQ(holdfast({"run", "-n", "k", "true"}).code, 75);
  EXPECT_EQ(process.wait(), 3);
  EXPECT_GE(BootClock::now() - begun, 8s);
  EXPECT_EQ(process.err(), "");
  EXPECT_TRUE(is_free("k"));
}

TEST_F(Ending, late_nothing_more_is_kept) {
  Process process = hold("k", {"--at-least", "100ms"}, "sleep 0.3");
  EXPECT_EQ(process.wait(), 0);
  EXPECT_EQ(holdfast({"run", "--at-least", "1h", "k", "./nothing"}).code, 127);
}

TEST_F(Ending, a_key_that_is_kept_is_released_on_a_signal) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Process process = hold("k", {"--at-least", "1h"}, "exit 3");
    const pid_t guard = guard_of(process.pid());
    EXPECT_TRUE(await([&] { return !runs(guard); }));
    EXPECT_FALSE(is_free("k"));
    process.signal(signal);
    EXPECT_EQ(process.wait(), 3);
    EXPECT_TRUE(is_free("k"));
  }
}

TEST_F(Ending, asked_for_keeps_the_key_no_longer) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Process process =
        hold("k", {"--at-least", "1h"}, "trap 'exit 4' INT TERM HUP; while :; do sleep 0.05; done");
    process.signal(signal);
    EXPECT_EQ(process.wait(), 4);
    EXPECT_TRUE(is_free("k"));
  }
}

TEST_F(Ending, a_key_that_is_lost_while_it_is_kept_does_not_undo_the_work) {
  Process process = hold("k", {"--ttl", "6s", "--owner", "me", "--at-least", "1h"}, "exit 0");
  const pid_t guard = guard_of(process.pid());
  EXPECT_TRUE(await([&] { return !runs(guard); }));
  EXPECT_TRUE(is_renewed("k", 3));  // first of all when the command has ended, to be sure that it is ours
  lose();
  EXPECT_EQ(process.wait(), 0);
  EXPECT_THAT(process.err(), HasSubstr("the lease on k was lost: "));
  EXPECT_THAT(process.err(), HasSubstr("not kept for all of --at-least"));
}

}  // namespace
}  // namespace holdfast::test
