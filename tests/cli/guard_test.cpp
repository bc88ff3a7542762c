// SPDX-License-Identifier: Apache-2.0
// The promise: the group is dead before anyone else can hold the key, whichever of main and guard is stopped,
// whichever of main, guard and CMD is killed.
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/home.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
constexpr std::size_t npos = std::string::npos;

using Seconds = std::chrono::duration<double>;

// Since the machine started, as /proc/uptime has it, which a shell can read: in hundredths, rounded down.
Seconds uptime() { return BootClock::now().time_since_epoch(); }

// Stops a process in a way that no CONT ends, until this object goes.
class Frozen {
 public:
  explicit Frozen(pid_t pid) : pid_(pid) {
    EXPECT_EQ(ptrace(PTRACE_SEIZE, pid_, nullptr, nullptr), 0) << strerror(errno);
    EXPECT_EQ(ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr), 0) << strerror(errno);
    EXPECT_EQ(waitpid(pid_, nullptr, __WALL), pid_);
  }
  ~Frozen() { ptrace(PTRACE_DETACH, pid_, nullptr, nullptr); }
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;

 private:
  pid_t pid_;
};

template <class Base>
class Guarding : public Base {
 protected:
  // CMD and a child of it write the time into a file as long as they live, and do not listen to TERM.
  static constexpr const char* beating =
      "trap '' TERM; beat() { while :; do read now rest < /proc/uptime; echo $now >> $1; done; }; beat beats "
      "& beat beats";

  // Of which a tenth is the margin: so late may a process wake that is to kill.
  static constexpr const char* ttl = "6s";
  static constexpr Seconds ttl_length{6};

  Seconds last_beat(const std::string& file) const {
    std::istringstream beats(this->text_of(file));
    double last = 0;
    for (double beat = 0; beats >> beat;) last = beat;
    return Seconds(last);
  }

  struct Tree {
    pid_t main, guard, command, grandchild;
    bool group_is_dead() const { return !runs(command) && !runs(grandchild); }
  };
  Tree tree_of(Process& process) const {
    EXPECT_TRUE(process.await_out("grandchild "));
    const pid_t grandchild = std::stoi(process.out().substr(process.out().find("grandchild ") + 11));
    return {process.pid(), guard_of(process.pid()), command_of(process.pid()), grandchild};
  }
  static constexpr const char* family = "sleep 1000 & echo grandchild $!; wait";
};

// Nobody can write to the database in that home.
Process locked_file(const std::string& path, const Process::Plan& plan) {
  Process::Plan sqlite = plan;
  sqlite.command = {"sqlite3", path};
  sqlite.keep_input = true;
  Process process(sqlite);
  process.type("BEGIN IMMEDIATE;\nSELECT 'locked';\n");
  EXPECT_TRUE(process.await_out("locked")) << process.err();
  return process;
}

class GuardHere : public Guarding<Home> {
 protected:
  std::string file() const { return path(".local/state/holdfast/leases.db"); }
  Process lock_database() const { return locked_file(file(), plan({})); }
  std::string owner_of(const std::string& key) const {
    return nlohmann::json::parse(holdfast({"show", key, "--json"}).out).value("owner", "");
  }
  void write_alarm() const {
    std::ofstream(path("alarm")) << "#!/bin/sh\n";
    std::filesystem::permissions(path("alarm"), std::filesystem::perms::owner_all);
  }
};

class Guard : public Guarding<HomeOn> {
 protected:
  Guard() {
    if (!GetParam().make_alone) return;
    database_ = GetParam().alone();
    environment_["HOLDFAST_STORE"] = database_->url();
  }
  // Until the result is gone the store answers nobody.
  std::shared_ptr<void> out_of_reach() {
    if (is_server()) return database_->hang();
    return std::make_shared<Process>(locked_file(path(".local/state/holdfast/leases.db"), plan({})));
  }
};

TEST_P(Guard, main_killed_ends_the_group_and_then_the_key_is_free) {
  Process process = hold("k", {"--ttl", ttl_of_the_dead()}, family);
  const Tree tree = tree_of(process);
  process.signal(SIGKILL);
  EXPECT_EQ(holdfast({"run", "-w", "10s", "k", "true"}).code, 0);
  EXPECT_TRUE(tree.group_is_dead());
  EXPECT_FALSE(runs(tree.guard));
}

TEST_P(Guard, guard_killed_ends_the_group_and_main_releases) {
  Process process = hold("k", {"--ttl", "1m"}, family);
  const Tree tree = tree_of(process);
  ASSERT_TRUE(send_signal(tree.guard, SIGKILL));
  EXPECT_EQ(process.wait(), 128 + SIGKILL);
  EXPECT_EQ(process.err(), "holdfast: the guard process was killed, and the command with it\n");
  EXPECT_TRUE(tree.group_is_dead());
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Guard, guard_killed_before_the_start_is_not_mistaken_for_success) {
  Process owner = hold("k");
  Process waiter = start({"run", "k", "touch", path("ran")});
  ASSERT_TRUE(await([&] { return guard_of(waiter.pid()) != 0; }));
  ASSERT_TRUE(send_signal(guard_of(waiter.pid()), SIGKILL));
  owner.signal(SIGTERM);
  EXPECT_EQ(waiter.wait(), 128 + SIGKILL);
  EXPECT_EQ(waiter.err(), "holdfast: the guard process was killed; the command was not started\n");
  EXPECT_FALSE(exists("ran"));
  EXPECT_TRUE(is_free("k"));
}

TEST_F(GuardHere, main_and_guard_killed_the_command_dies_and_what_lives_on_keeps_the_key) {
  Process process = hold("k", {"--ttl", "1m"}, family);
  const Tree tree = tree_of(process);
  process.signal(SIGSTOP);  // or it would notice the guard's death in time
  ASSERT_TRUE(send_signal(tree.guard, SIGKILL));
  process.signal(SIGKILL);
  process.wait();
  EXPECT_TRUE(await([&] { return !runs(tree.command); }));
  EXPECT_TRUE(runs(tree.grandchild));
  EXPECT_FALSE(is_free("k"));
  ASSERT_TRUE(send_signal(tree.grandchild, SIGKILL));
  EXPECT_TRUE(await([&] { return is_free("k"); }));
}

TEST_P(Guard, main_stopped_the_group_dies_before_the_deadline_and_only_then_another_begins) {
  Process process = hold("k", {"--ttl", ttl}, beating);
  ASSERT_TRUE(await([&] { return last_beat("beats") > Seconds(0); }));
  const pid_t command = command_of(process.pid());
  const Seconds stopped = stop(process).time_since_epoch();
  Process other = start({"run", "k", "--", "sh", "-c", "read now rest < /proc/uptime; echo $now"});
  EXPECT_TRUE(await([&] { return !runs(command); }));
  EXPECT_EQ(other.wait(), 0) << other.err();
  EXPECT_LT(last_beat("beats"), stopped + ttl_length);
  EXPECT_LT(last_beat("beats"), Seconds(std::stod(other.out())));
  process.signal(SIGCONT);
  EXPECT_EQ(process.wait(), 76);
  EXPECT_THAT(process.err(), HasSubstr("holdfast: the lease on k was lost: "));
}

TEST_F(GuardHere, guard_stopped_is_continued_and_nothing_happens) {
  Process process = hold("k", {"--ttl", "5s"});
  const pid_t guard = guard_of(process.pid());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(send_signal(guard, SIGSTOP));
    EXPECT_TRUE(await([&] { return !is_stopped(guard); }));
  }
  EXPECT_TRUE(is_renewed("k", 2));
  EXPECT_FALSE(process.has_ended()) << process.err();
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 128 + SIGTERM);
}

TEST_P(Guard, frozen_does_not_end_a_lease_that_is_renewed) {
  Process process = hold("k", {"--ttl", short_ttl});
  {
    const Frozen frozen(guard_of(process.pid()));
    EXPECT_TRUE(is_renewed("k", 2));
    EXPECT_FALSE(process.has_ended()) << process.err();
    EXPECT_FALSE(is_free("k"));
  }
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 128 + SIGTERM);
}

TEST_F(GuardHere, frozen_when_the_lease_is_lost_main_kills) {
  Process process = hold("k", {"--ttl", ttl}, beating);
  ASSERT_TRUE(await([&] { return last_beat("beats") > Seconds(0); }));
  const Frozen frozen(guard_of(process.pid()));
  const Process lock = lock_database();
  const Seconds locked = uptime();
  EXPECT_EQ(process.wait(), 76);
  EXPECT_LT(last_beat("beats"), locked + ttl_length);
}

TEST_F(GuardHere, frozen_when_the_lease_is_granted_does_not_start_the_command_late_and_reports_it) {
  write_alarm();
  for (const std::string on_lost : {"term", "exec:./alarm"}) {
    Process owner = hold("k");
    Process waiter = start({"run", "--ttl", "1s", "--on-lost", on_lost, "k", "touch", path("ran")});
    ASSERT_TRUE(await([&] { return holdfast({"ls", "--json"}).out.find("\"waiting\":1") != npos; }));
    ASSERT_TRUE(await([&] { return guard_of(waiter.pid()) != 0; }));  // it may start after it has queued
    {
      const Frozen frozen(guard_of(waiter.pid()));
      owner.signal(SIGTERM);
      const std::string its_pid = "pid:" + std::to_string(waiter.pid()) + " ";
      ASSERT_TRUE(await([&] { return owner_of("k").find(its_pid) != npos; }));
      let_pass(1s);  // renewed meanwhile, but the message to start has the old deadline
    }
    EXPECT_EQ(waiter.wait(), 76);
    EXPECT_THAT(waiter.err(), EndsWith("; the command was not started\n"));
  }
  EXPECT_FALSE(exists("ran"));
}

TEST_F(GuardHere, frozen_and_main_killed_ends_the_group_when_it_thaws) {
  Process process = hold("k", {"--ttl", "1m"}, family);
  const Tree tree = tree_of(process);
  process.signal(SIGSTOP);
  ASSERT_TRUE(send_signal(tree.guard, SIGSTOP));
  ASSERT_TRUE(await([&] { return is_stopped(tree.guard); }));
  process.signal(SIGKILL);  // the kernel continues the guard
  EXPECT_TRUE(await([&] { return tree.group_is_dead() && !runs(tree.guard); }));
  EXPECT_TRUE(await([&] { return is_free("k"); }));
}

TEST_P(Guard, ends_the_group_in_time_when_the_store_is_out_of_reach) {
  Process process = hold("k", {"--ttl", ttl}, beating);
  ASSERT_TRUE(await([&] { return last_beat("beats") > Seconds(0); }));
  const auto silence = out_of_reach();
  const Seconds locked = uptime();
  EXPECT_EQ(process.wait(), 76);
  EXPECT_LT(last_beat("beats"), locked + ttl_length);
  EXPECT_THAT(process.err(), HasSubstr("was lost"));
}

TEST_F(GuardHere, tells_the_command_before_it_kills) {
  Process process = hold("k", {"--ttl", "10s"}, "trap 'echo told; exit 0' TERM; sleep 1000 & wait");
  const Process lock = lock_database();
  EXPECT_EQ(process.wait(), 76);  // and not 0: the work was cut short
  EXPECT_THAT(process.out(), HasSubstr("told"));
}

TEST_F(GuardHere, ends_the_command_of_a_lease_that_is_gone) {
  Process process = hold("k", {"--ttl", "12s"}, "trap 'echo told; exit 0' TERM; sleep 1000 & wait");
  Process sqlite(plan({"sqlite3", file(), ".timeout 5000", "DELETE FROM locks WHERE key = 'k'"}));
  EXPECT_EQ(sqlite.wait(), 0) << sqlite.err();
  EXPECT_EQ(process.wait(), 76);
  EXPECT_THAT(process.out(), HasSubstr("told"));
  EXPECT_THAT(process.err(), HasSubstr("the lease on k was lost: "));
}

TEST_P(Guard, ends_the_command_of_a_lease_that_somebody_released) {
  Process process = hold("k", {"--ttl", "3s", "--owner", "me"});
  EXPECT_EQ(holdfast({"release", "k", "--owner", "me"}).code, 0);
  EXPECT_EQ(process.wait(), 76);
}

TEST_P(Guard, under_another_holdfast_both_keys_wait_for_the_inner_command) {
  const std::string life = ttl_of_the_dead();
  Process process = start({"run", "outer", "--ttl", life, "--", HOLDFAST_BINARY, "run", "inner", "--ttl",
                           life, "--", "sh", "-c", "echo held $$; exec sleep 1000"});
  ASSERT_TRUE(process.await_out("held ")) << process.err();
  const pid_t command = std::stoi(process.out().substr(5));
  process.signal(SIGKILL);
  EXPECT_TRUE(await([&] { return is_free("outer"); }));
  EXPECT_FALSE(runs(command));
  EXPECT_TRUE(await([&] { return is_free("inner"); }));
}

HOLDFAST_ON_EVERY_SHARED_STORE(Guard);

}  // namespace
}  // namespace holdfast::test
