// SPDX-License-Identifier: Apache-2.0
// What we are sent, CMD and its group get.
#include <csignal>

#include "tests/cli/home.h"

namespace holdfast::test {
namespace {

using Signals = HomeOn;
using SignalsHere = Home;

TEST_P(Signals, that_end_are_forwarded_and_we_end_as_the_command_did) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    Process process = hold("k");
    process.signal(signal);
    EXPECT_EQ(process.wait(), 128 + signal);
    EXPECT_TRUE(is_free("k"));
  }
}

TEST_P(Signals, are_waited_out_and_the_commands_own_code_counts) {
  Process process =
      hold("k", {},
           "trap 'echo told; while ! test -e go; do sleep 0.05; done; exit 3' TERM; echo ready; "
           "while :; do :; done");
  EXPECT_TRUE(process.await_out("ready"));
  process.signal(SIGTERM);
  EXPECT_TRUE(process.await_out("told"));
  EXPECT_FALSE(is_free("k"));
  std::ofstream(path("go"));
  EXPECT_EQ(process.wait(), 3);
  EXPECT_TRUE(is_free("k"));
}

TEST_F(SignalsHere, for_users_are_forwarded) {
  Process process = hold("k", {},
                         "trap 'echo one' USR1; trap 'echo two' USR2; trap 'echo size' WINCH; echo ready; "
                         "while :; do :; done");
  EXPECT_TRUE(process.await_out("ready"));
  process.signal(SIGUSR1);
  EXPECT_TRUE(process.await_out("one"));
  process.signal(SIGUSR2);
  EXPECT_TRUE(process.await_out("two"));
  process.signal(SIGWINCH);
  EXPECT_TRUE(process.await_out("size"));
}

TEST_P(Signals, reach_the_whole_group) {
  Process process = hold("k", {}, "sleep 1000 & echo grandchild $!; wait");
  EXPECT_TRUE(process.await_out("grandchild "));
  const pid_t grandchild = std::stoi(process.out().substr(process.out().find("grandchild ") + 11));
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 128 + SIGTERM);
  EXPECT_FALSE(runs(grandchild));
}

TEST_F(SignalsHere, that_were_ignored_when_we_were_started_stay_ignored) {
  Process process(
      plan({"sh", "-c", "trap '' HUP; exec " HOLDFAST_BINARY " run k sh -c 'echo held; sleep 1000'"}));
  EXPECT_TRUE(process.await_out("held"));
  process.signal(SIGHUP);
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 128 + SIGTERM);
}

TEST_P(Signals, to_the_command_alone_end_it_alone) {
  Process process = hold("k");
  ASSERT_TRUE(send_signal(command_of(process.pid()), SIGKILL));
  EXPECT_EQ(process.wait(), 128 + SIGKILL);
  EXPECT_TRUE(is_free("k"));
}

// Stopped by hand, far from a terminal: it keeps its lease, because we go on renewing.
TEST_P(Signals, that_stop_the_command_do_not_stop_us_without_a_terminal) {
  Process process = hold("k", {"--ttl", short_ttl});
  const pid_t command = command_of(process.pid());
  ASSERT_TRUE(send_signal(command, SIGSTOP));
  ASSERT_TRUE(await([&] { return is_stopped(command); }));
  EXPECT_TRUE(is_renewed("k", 2)) << process.err();
  EXPECT_FALSE(is_stopped(process.pid()));
  EXPECT_TRUE(runs(command));
  EXPECT_FALSE(is_free("k"));
  process.signal(SIGCONT);
  EXPECT_TRUE(await([&] { return !is_stopped(command); }));
}

TEST_F(SignalsHere, that_end_continue_a_stopped_command_or_it_would_not_hear_them) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    Process process =
        hold("k", {}, "trap 'echo told; exit 3' TERM INT HUP QUIT; echo ready; while :; do :; done");
    EXPECT_TRUE(process.await_out("ready"));
    const pid_t command = command_of(process.pid());
    ASSERT_TRUE(send_signal_to_group(command, SIGSTOP));
    ASSERT_TRUE(await([&] { return is_stopped(command); }));
    process.signal(signal);
    EXPECT_EQ(process.wait(), 3);
    EXPECT_TRUE(process.await_out("told"));
  }
}

HOLDFAST_ON_EVERY_SHARED_STORE(Signals);

}  // namespace
}  // namespace holdfast::test
