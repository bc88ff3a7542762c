// SPDX-License-Identifier: Apache-2.0
// What CMD is given, and what comes back of it.
#include <unistd.h>

#include <csignal>
#include <regex>

#include "base/time.h"
#include "tests/cli/home.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Running = HomeOn;
using RunningHere = Home;

TEST_P(Running, ends_as_its_command_did) {
  for (const int code : {0, 1, 7, 75, 76, 255}) {
    EXPECT_EQ(holdfast({"run", "k", "--", "sh", "-c", "exit " + std::to_string(code)}).code, code);
  }
}

TEST_P(Running, ends_with_128_and_the_signal_that_its_command_died_of) {
  for (const int signal : {SIGTERM, SIGKILL, SIGSEGV, SIGUSR1}) {
    EXPECT_EQ(holdfast({"run", "k", "--", "sh", "-c", "kill -" + std::to_string(signal) + " $$"}).code,
              128 + signal);
  }
}

TEST_P(Running, says_nothing_of_its_own_when_all_is_well) {
  const Ended ended = holdfast({"run", "k", "--", "sh", "-c", "echo out; echo err >&2"});
  EXPECT_EQ(ended.out, "out\n");
  EXPECT_EQ(ended.err, "err\n");
}

TEST_P(Running, gives_its_command_the_arguments_untouched) {
  const Ended ended = holdfast({"run", "k", "--", "printf", "<%s>", "a b", "", "$HOME", "*", "--", "-n"});
  EXPECT_EQ(ended.out, "<a b><><$HOME><*><--><-n>");
}

TEST_P(Running, passes_stdin_through) {
  Process::Plan with_input = holdfast_plan({"run", "k", "cat"});
  with_input.keep_input = true;
  Process process(with_input);
  process.type("line 1\n");
  EXPECT_TRUE(process.await_out("line 1\n"));
  process.type("line 2");
  process.end_input();
  EXPECT_EQ(process.wait(), 0);
  EXPECT_EQ(process.out(), "line 1\nline 2");
}

TEST_P(Running, tells_its_command_key_token_owner_and_deadline) {
  const auto before = std::chrono::floor<std::chrono::seconds>(wall_now().time_since_epoch()).count();
  const Ended ended = holdfast({"run", "--ttl", "10s", "a key", "--", "sh", "-c",
                                "echo \"$HOLDFAST_KEY|$HOLDFAST_TOKEN|$HOLDFAST_OWNER|$HOLDFAST_DEADLINE\""});
  std::smatch found;
  const std::regex expected(R"(a key\|([0-9]+)\|(host:\S+ pid:[0-9]+ guid:[0-9a-f]{32})\|([0-9]+)\n)");
  ASSERT_TRUE(std::regex_match(ended.out, found, expected)) << ended.out;
  const auto deadline = std::stoll(found[3]);
  EXPECT_GE(deadline, before + 9);
  EXPECT_LE(deadline, std::chrono::floor<std::chrono::seconds>(wall_now().time_since_epoch()).count() + 10);
  EXPECT_THAT(holdfast({"run", "--owner", "me", "k", "sh", "-c", "echo $HOLDFAST_OWNER"}).out, "me\n");
}

TEST_F(RunningHere, lets_its_command_use_the_same_store_wherever_it_goes) {
  std::filesystem::create_directory(path("elsewhere"));
  std::ofstream(path("url")) << " sqlite:" << path("by file.db") << " \n";
  const std::string ask = "cd elsewhere && exec " HOLDFAST_BINARY " show k";
  for (const std::string url : {"sqlite:by option.db", "@url"}) {
    const Ended ended = holdfast({"--store", url, "run", "k", "--owner", "me", "--", "sh", "-c", ask});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("held by  me\n"));
  }
  EXPECT_TRUE(exists("by option.db"));
  EXPECT_TRUE(exists("by file.db"));
  EXPECT_TRUE(std::filesystem::is_empty(path("elsewhere")));
}

TEST_P(Running, lets_its_command_use_the_same_store) {
  if (!is_server()) environment_["HOLDFAST_STORE"] = "sqlite:" + path("other.db");
  const Ended ended = holdfast({"run", "k", "--owner", "me", "--", HOLDFAST_BINARY, "show", "k"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("held by  me\n"));
  EXPECT_EQ(exists("other.db"), !is_server());
}

TEST_F(RunningHere, gives_its_command_no_descriptor_but_three_and_its_proof_of_life) {
  // An inherited one, as from a careless parent, is not passed on either.
  Process process(plan({"sh", "-c",
                        "exec 7</etc/passwd; exec " HOLDFAST_BINARY
                        " run k sh -c 'ls /proc/$$/fd; readlink /proc/$$/fd/64'"}));
  EXPECT_EQ(process.wait(), 0);
  EXPECT_THAT(process.out(), StartsWith("0\n1\n2\n64\n"));
  EXPECT_THAT(process.out(), HasSubstr("leases.db.d/"));
}

TEST_P(Running, gives_its_command_no_descriptor_of_the_store) {
  Process process(
      plan({"sh", "-c", "exec 7</etc/passwd; exec " HOLDFAST_BINARY " run k sh -c 'ls /proc/$$/fd'"}));
  EXPECT_EQ(process.wait(), 0);
  EXPECT_EQ(process.out(), is_server() ? "0\n1\n2\n" : "0\n1\n2\n64\n");
}

TEST_P(Running, works_with_standard_descriptors_closed) {
  Process process(
      plan({"sh", "-c", "exec " HOLDFAST_BINARY " run k sh -c 'echo to nowhere; exit 3' <&- >&- 2>&-"}));
  EXPECT_EQ(process.wait(), 3);
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Running, gives_its_command_a_process_group_of_its_own) {
  Process process = hold("k");
  const pid_t command = command_of(process.pid());
  ASSERT_NE(command, 0);
  EXPECT_EQ(::getpgid(command), command);
  EXPECT_NE(::getpgid(guard_of(process.pid())), ::getpgid(process.pid()));
}

TEST_P(Running, leaves_the_signals_of_its_command_as_it_found_them) {
  Process process(plan(
      {"sh", "-c", "trap '' HUP; exec " HOLDFAST_BINARY " run k grep -E 'Sig(Blk|Ign)' /proc/self/status"}));
  EXPECT_EQ(process.wait(), 0);
  EXPECT_EQ(process.out(), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000001\n");
}

TEST_P(Running, holds_the_key_while_its_command_runs_and_not_after) {
  Process process = hold("k");
  EXPECT_EQ(holdfast({"run", "-n", "k", "true"}).code, 75);
  EXPECT_EQ(holdfast({"run", "-n", "other", "true"}).code, 0);
  process.signal(SIGTERM);
  process.wait();
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Running, tokens_rise) {
  const auto token = [&] {
    return std::stoll(holdfast({"run", "k", "sh", "-c", "echo $HOLDFAST_TOKEN"}).out);
  };
  const auto first = token();
  EXPECT_GT(token(), first);
}

TEST_P(Running, ends_what_its_command_left_in_its_group_before_it_releases) {
  Process process = start({"run", "k", "--", "sh", "-c", "sleep 1000 & echo $!"});
  EXPECT_EQ(process.wait(), 0);
  EXPECT_FALSE(runs(std::stoi(process.out())));
}

TEST_P(Running, kills_what_ignores_term) {
  Process process = start({"run", "--ttl", "2s", "k", "--", "sh", "-c",
                           "sh -c 'trap \"\" TERM; echo $$ > stubborn; while :; do sleep 1; done' & "
                           "while ! test -s stubborn; do :; done; exit 1"});
  EXPECT_EQ(process.wait(), 1);
  EXPECT_FALSE(runs(std::stoi(text_of("stubborn"))));
}

TEST_P(Running, lets_a_daemon_that_left_the_group_live_on) {
  Process process =
      start({"run", "k", "--", "sh", "-c",
             "setsid sleep 1000 >/dev/null 2>&1 & echo $!; while ! grep -q sleep /proc/$!/comm; do :; done"});
  EXPECT_EQ(process.wait(), 0);
  const pid_t daemon = std::stoi(process.out());
  EXPECT_TRUE(runs(daemon));
  EXPECT_TRUE(is_free("k"));
  EXPECT_TRUE(send_signal(daemon, SIGKILL));
}

TEST_P(Running, renews_as_long_as_its_command_runs) {
  Process process = hold("k", {"--ttl", short_ttl});
  EXPECT_TRUE(is_renewed("k", 4));  // the first ttl is over
  EXPECT_FALSE(process.has_ended()) << process.err();
  EXPECT_FALSE(is_free("k"));
}

TEST_F(RunningHere, takes_a_password_out_of_the_list_of_arguments_and_warns) {
  const std::string url = "postgres://me:hunter2@127.0.0.1:1/db";
  for (const Words& words :
       {Words{"--store", url, "run", "-n", "k", "true"}, Words{"run", "--store=" + url, "-n", "k", "true"}}) {
    Process::Plan held_up = holdfast_plan(words);
    held_up.full_err = true;  // it cannot continue after its warning, so that we can check
    Process process(held_up);
    EXPECT_TRUE(await([&] {
      return proc_file(process.pid(), "cmdline").find("postgres://me:***@127.0.0.1:1/db") !=
             std::string::npos;
    }));
    EXPECT_THAT(proc_file(process.pid(), "cmdline"), Not(HasSubstr("hunter2")));
    EXPECT_TRUE(process.await_err("--store contains a password"));
    EXPECT_EQ(process.wait(), 69);  // nobody is there
    EXPECT_THAT(process.err(), Not(HasSubstr("hunter2")));
  }
  EXPECT_THAT(holdfast({"ls", "--stoer", url}).err, Not(HasSubstr("hunter2")));
}

HOLDFAST_ON_EVERY_SHARED_STORE(Running);

}  // namespace
}  // namespace holdfast::test
