// SPDX-License-Identifier: Apache-2.0
// Who else ends with CMD, who cannot be ended, and what is done without memory.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "tests/cli/ending.h"
#include "tests/support/servers/redis_server.h"

#ifndef HOLDFAST_FAMILY
#define HOLDFAST_FAMILY "test_family"  // no build says which, so the one in PATH
#endif

namespace holdfast::test {
namespace {

// ---- who has left the group

TEST_F(Ending, with_the_lease_reaches_what_has_left_the_group) {
  Process process = hold("k", {"--ttl", "3s", "--owner", "me"}, leaver);
  const pid_t away = pid_behind(process, "away");
  lose();
  EXPECT_EQ(process.wait(), 76);
  EXPECT_FALSE(runs(away));
}

TEST_F(Ending, with_the_time_reaches_what_has_left_the_group) {
  Process process = hold("k", {"--at-most", "3s"}, leaver);
  const pid_t away = pid_behind(process, "away");
  EXPECT_EQ(process.wait(), 124);
  EXPECT_FALSE(runs(away));
}

TEST_F(Ending, of_main_reaches_what_has_left_the_group) {
  Process process = hold("k", {"--ttl", "1h"}, leaver);
  const pid_t away = pid_behind(process, "away");
  process.signal(SIGKILL);
  EXPECT_EQ(holdfast({"run", "-w", "20s", "k", "true"}).code, 0);
  EXPECT_FALSE(runs(away));
}

TEST_F(Ending, of_the_guard_reaches_what_has_left_the_group) {
  Process process = hold("k", {"--ttl", "1h"}, leaver);
  const pid_t away = pid_behind(process, "away");
  ASSERT_TRUE(send_signal(guard_of(process.pid()), SIGKILL));
  EXPECT_EQ(process.wait(), 128 + SIGKILL);
  EXPECT_FALSE(runs(away));
}

TEST_F(Ending, of_the_guard_spares_who_was_our_child_before) {
  Process process(
      plan({"sh", "-c",
            "sleep 1000 & echo before $!; exec " HOLDFAST_BINARY " run k -- sh -c 'echo held; sleep 1000'"}));
  const pid_t before = pid_behind(process, "before");
  EXPECT_TRUE(process.await_out("held"));
  ASSERT_TRUE(send_signal(guard_of(process.pid()), SIGKILL));
  EXPECT_EQ(process.wait(), 128 + SIGKILL);
  EXPECT_TRUE(runs(before));
}

TEST_F(Ending, of_a_command_that_is_killed_reaches_what_has_left_the_group) {
  Process process = hold("k", {}, leaver);
  const pid_t away = pid_behind(process, "away");
  ASSERT_TRUE(send_signal(command_of(process.pid()), SIGKILL));
  EXPECT_EQ(process.wait(), 128 + SIGKILL);
  EXPECT_FALSE(runs(away));
}

TEST_F(Ending, of_a_command_that_was_asked_to_spares_what_has_left_the_group) {
  Process process = hold("k", {}, leaver);
  const pid_t away = pid_behind(process, "away");
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 128 + SIGTERM);
  EXPECT_TRUE(runs(away));
  EXPECT_TRUE(send_signal(away, SIGKILL));
}

TEST_F(Ending, reaches_what_has_left_the_group_and_lost_its_first_thread) {
  for (const std::string killed : {"main", "guard", "command"}) {
    Process process = hold("k", {"--ttl", "1h"}, HOLDFAST_FAMILY " thread away & sleep 1000 & wait");
    ASSERT_TRUE(await([&] { return exists("away"); }));
    const pid_t away = std::stoi(text_of("away"));
    ASSERT_TRUE(runs(away)) << "or the test sees nothing";
    const pid_t main = process.pid();
    const pid_t victim = killed == "main" ? main : killed == "guard" ? guard_of(main) : command_of(main);
    ASSERT_TRUE(send_signal(victim, SIGKILL)) << killed;
    EXPECT_EQ(process.wait(), 128 + SIGKILL) << killed;
    EXPECT_EQ(holdfast({"run", "-w", "20s", "k", "true"}).code, 0) << killed;
    EXPECT_FALSE(runs(away)) << killed;
    if (runs(away)) send_signal(away, SIGKILL);
    std::filesystem::remove(path("away"));
  }
}

// The store is a server: one in a file asks /proc which boot it is.
TEST_F(Ending, reaches_what_has_left_the_group_where_there_is_no_proc) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can put something else in the place of /proc";
  const RedisServer server{{.lines = {"appendonly yes"}}};
  environment_["HOLDFAST_STORE"] = server.url();
  environment_["LEAVER"] = leaver;
  environment_["HOLDFAST"] = HOLDFAST_BINARY;
  Process process(plan({"unshare", "--mount", "sh", "-c",
                        "mount -t tmpfs none /proc && ! test -e /proc/self && "
                        "exec \"$HOLDFAST\" run --at-most 500ms k -- sh -c \"$LEAVER\""}));
  const pid_t away = pid_behind(process, "away");
  EXPECT_EQ(holdfast({"wait", "-w", "20s", "k"}).code, 0);
  EXPECT_FALSE(runs(away)) << "it outlived the lease";
  EXPECT_EQ(process.wait(), 124) << process.err();
}

// ---- in a pid namespace of its own

class EndingInNamespace : public Ending {
 protected:
  void SetUp() override {
    if (Process(plan({"unshare", "--pid", "--fork", "true"})).wait() != 0)
      GTEST_SKIP() << "the system does not let us have a pid namespace";
  }
  // Its first process is that command.
  Process::Plan inside(const Words& command, const Words& options = {}) const {
    Words words{"timeout", "-s", "KILL", "60", "unshare", "--pid", "--fork", "--kill-child"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), command.begin(), command.end());
    return plan(std::move(words));
  }
};

// As in a container, with a /proc of its own and with that of the machine.
TEST_F(EndingInNamespace, of_its_first_process_comes_with_the_time) {
  for (const Words& options : {Words{}, Words{"--mount-proc"}}) {
    Process process(
        inside({HOLDFAST_BINARY, "run", "--at-most", "500ms", "k", "--", "sh", "-c", leaver}, options));
    EXPECT_EQ(process.wait(), 124) << process.err();
    EXPECT_TRUE(is_free("k"));
  }
}

// Where the numbers in /proc are those of other processes.
TEST_F(EndingInNamespace, reaches_what_has_left_the_group_by_the_numbers_that_hold_there) {
  environment_["HOLDFAST"] = HOLDFAST_BINARY;
  const std::string script = R"sh(
      "$HOLDFAST" run --at-most 3s k -- sh -c 'setsid sh -c "echo \$\$ >away; exec sleep 1000" & sleep 1000 & wait'
      echo "ended $?"
      [ -s away ] || echo "nobody went away"
      kill -0 "$(cat away)" 2>/dev/null && echo "it lives on"
      exit 0
  )sh";
  Process process(inside({"sh", "-c", script}));
  process.wait();
  EXPECT_EQ(process.out(), "ended 124\n") << process.err();
}

// ---- who is not ours to end

// It wakes once for each.
long looks_within_half_a_second(pid_t watcher) {
  const auto wakes = [&] { return std::stol("0" + status_line(watcher, "voluntary_ctxt_switches:")); };
  const long before = wakes();
  let_pass(std::chrono::milliseconds(500));
  return wakes() - before;
}

TEST_F(Ending, of_a_process_of_another_user_is_impossible_and_reported) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  // Root without the right to signal others, which is what everybody else is.
  for (const std::string guard : {"lives", "is killed"}) {
    Process process(
        plan({"setpriv", "--bounding-set=-kill", HOLDFAST_BINARY, "run", "--at-most", "3s", "--kill-after",
              "100ms", "k", "--", "setpriv", "--reuid=65534", "sh", "-c", "echo held $$; exec sleep 1000"}));
    const pid_t command = pid_behind(process, "held");
    if (guard == "is killed") {
      ASSERT_TRUE(send_signal(guard_of(process.pid()), SIGKILL));
    }
    const std::string words =
        "process " + std::to_string(command) +
        " of the command belongs to another user and cannot be killed; k stays held until it ends\n";
    EXPECT_TRUE(await([&] { return process.err().find(words) != std::string::npos; })) << process.err();
    EXPECT_FALSE(is_free("k"));
    EXPECT_FALSE(process.has_ended());
    const pid_t watcher = guard == "lives" ? guard_of(process.pid()) : process.pid();
    EXPECT_TRUE(await([&] { return looks_within_half_a_second(watcher) < 20; })) << "it looks without end";
    EXPECT_TRUE(send_signal(command, SIGKILL));
    EXPECT_EQ(process.wait(), guard == "lives" ? 124 : 128 + SIGKILL);
    EXPECT_EQ(process.err().find(words), process.err().rfind(words));
    EXPECT_TRUE(is_free("k"));
  }
}

// ---- out of memory

// From now on it gets none.
void starve(pid_t pid) {
  ASSERT_GT(pid, 0) << "0 would be ourselves";
  const rlimit nothing{.rlim_cur = 0, .rlim_max = 0};
  EXPECT_EQ(::prlimit(pid, RLIMIT_AS, &nothing, nullptr), 0);
  EXPECT_EQ(::prlimit(pid, RLIMIT_DATA, &nothing, nullptr), 0);
}

TEST_F(Ending, comes_in_time_from_a_guard_without_memory) {
  Process process = hold("k", {"--ttl", "4s"}, leaver);
  const pid_t away = pid_behind(process, "away");
  const pid_t command = command_of(process.pid());
  starve(guard_of(process.pid()));
  stop(process);
  EXPECT_EQ(holdfast({"run", "-w", "20s", "k", "true"}).code, 0);
  EXPECT_FALSE(runs(command));
  EXPECT_FALSE(runs(away));
  process.signal(SIGCONT);
  EXPECT_EQ(process.wait(), 76);
}

TEST_F(Ending, comes_in_time_when_main_has_no_memory) {
  Process process = hold("k", {"--ttl", "4s"}, leaver);
  const pid_t away = pid_behind(process, "away");
  const pid_t command = command_of(process.pid());
  starve(process.pid());
  process.signal(SIGUSR1);  // it ends the command, and there is something to do
  EXPECT_EQ(holdfast({"run", "-w", "20s", "k", "true"}).code, 0);
  EXPECT_FALSE(runs(command));
  send_signal(away, SIGKILL);  // the command ended as it was asked to
}

}  // namespace
}  // namespace holdfast::test
