// SPDX-License-Identifier: Apache-2.0
// A key that somebody else holds: waiting for it, giving up, being interrupted.
#include <csignal>
#include <deque>
#include <regex>

#include "tests/cli/home.h"
#include "tests/support/listener.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class Waiting : public HomeOn {
 protected:
  // Somebody waits in the queue of that key.
  bool is_waited_for(const std::string& key) const {
    return holdfast({"ls", "--json", key}).out.find("\"waiting\":1") != std::string::npos;
  }
  // Of k, which is held: that waits for it, ends on `signal` and is out of the queue.  Leaving has a moment
  // only: one that was paused then leaves its place behind for a few seconds, and another is tried.
  void expect_to_leave_on(int signal, const Words& words) const {
    const auto nobody_waits = [&] {
      return holdfast({"ls", "--json", "k"}).out.find("\"waiting\":0") != std::string::npos;
    };
    EXPECT_TRUE(await([&] {
      EXPECT_TRUE(await(nobody_waits)) << "since the last one";
      Process waiter = start(words);
      EXPECT_TRUE(await([&] { return is_waited_for("k"); }));
      const pid_t guard = guard_of(waiter.pid());
      const Instant told = BootClock::now();
      waiter.signal(signal);
      EXPECT_EQ(waiter.wait(), 128 + signal);
      EXPECT_LT(BootClock::now() - told, 10s);
      EXPECT_EQ(waiter.out(), "");
      EXPECT_TRUE(await([&] { return !runs(guard); }));
      return nobody_waits();
    })) << signal;
  }
};

using WaitingHere = Home;

// A store at whose address nobody listens.
class WaitingForStore : public Home {
 protected:
  WaitingForStore() { environment_["HOLDFAST_STORE"] = "redis://127.0.0.1:1"; }
  // run, acquire and wait with these options.
  std::vector<Process> start_all(const Words& options) const {
    std::vector<Process> all;
    for (Words words : {Words{"run", "k", "touch", path("ran")}, Words{"acquire", "k"}, Words{"wait", "k"}}) {
      words.insert(words.begin() + 1, options.begin(), options.end());
      all.push_back(start(words));
    }
    return all;
  }
};

TEST_P(Waiting, n_does_not_wait) {
  const Process owner = hold("k");
  const Ended ended = holdfast({"run", "-n", "k", "--", "touch", path("ran")});
  EXPECT_EQ(ended.code, 75);
  EXPECT_THAT(ended.err, MatchesRegex("holdfast: k is held by [^ :]+ pid [0-9]+ \\(.* left\\)\n"));
  EXPECT_THAT(ended.err, HasSubstr("left"));
  EXPECT_FALSE(exists("ran"));
}

TEST_P(Waiting, w_waits_so_long) {
  const Process owner = hold("k");
  const Instant began = BootClock::now();
  EXPECT_EQ(holdfast({"run", "-w", "300ms", "k", "--", "touch", path("ran")}).code, 75);
  EXPECT_GE(BootClock::now() - began, 300ms);
  EXPECT_FALSE(exists("ran"));
}

TEST_P(Waiting, E_is_the_exit_code_of_a_busy_key_and_of_nothing_else) {
  const Process owner = hold("k");
  const Ended skipped = holdfast({"run", "-n", "-E", "0", "k", "true"});
  EXPECT_EQ(skipped.code, 0);
  EXPECT_EQ(skipped.err, "") << "cron would send a mail";
  EXPECT_EQ(holdfast({"run", "-w", "50ms", "-E", "9", "k", "true"}).code, 9);
  EXPECT_EQ(holdfast({"run", "-n", "-E", "9", "free", "false"}).code, 1);
  EXPECT_EQ(holdfast({"run", "-n", "-E", "9", "free", "no-such-program"}).code, 127);
}

TEST_P(Waiting, gets_the_key_when_it_is_released) {
  Process owner = hold("k");
  Process waiter = start({"run", "k", "echo", "mine"});
  ASSERT_TRUE(await([&] { return is_waited_for("k"); }));
  EXPECT_EQ(waiter.out(), "");
  owner.signal(SIGTERM);
  EXPECT_EQ(waiter.wait(), 0);
  EXPECT_EQ(waiter.out(), "mine\n");
}

// A waiter that gets no processor for a second loses its place: on a loaded machine the order may be another
// once, but not three times in a row.
TEST_P(Waiting, is_in_order) {
  const auto order_of = [&](const std::string& key) {
    Process owner = hold(key);
    std::deque<Process> waiters;
    for (int n = 1; n <= 3; ++n) {
      const std::string number = std::to_string(n);
      waiters.push_back(start({"run", key, "--", "sh", "-c", "printf " + number + " >> " + key}));
      EXPECT_TRUE(await([&] {
        return holdfast({"show", key, "--json"}).out.find("\"waiting\":" + number) != std::string::npos;
      }));
    }
    EXPECT_EQ(holdfast({"run", "-n", key, "true"}).code, 75);
    owner.signal(SIGTERM);
    for (Process& waiter : waiters) EXPECT_EQ(waiter.wait(), 0);
    return text_of(key);
  };
  std::string order;
  for (int n = 1; n <= 3 && order != "123"; ++n) order = order_of("k" + std::to_string(n));
  EXPECT_EQ(order, "123");
}

TEST_P(Waiting, ends_at_once_on_a_signal_and_never_starts_the_command) {
  const Process owner = hold("k");
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT})
    expect_to_leave_on(signal, {"run", "k", "--", "touch", path("ran")});
  EXPECT_FALSE(exists("ran"));
}

TEST_P(Waiting, of_acquire_ends_on_a_signal_too) {
  const Process owner = hold("k");
  expect_to_leave_on(SIGTERM, {"acquire", "k"});
}

TEST_P(Waiting, is_not_ended_by_signals_meant_for_the_command) {
  Process owner = hold("k");
  Process waiter = start({"run", "k", "true"});
  ASSERT_TRUE(await([&] { return is_waited_for("k"); }));
  for (const int signal : {SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT}) waiter.signal(signal);
  owner.signal(SIGTERM);
  EXPECT_EQ(waiter.wait(), 0);
}

// What the waiter sent just before it was killed may still be granted: that lease runs out by itself.
TEST_P(Waiting, leaves_no_place_behind_when_killed) {
  Process owner = hold("k");
  Process waiter = start({"run", "--ttl", "3s", "k", "true"});
  ASSERT_TRUE(await([&] { return is_waited_for("k"); }));
  waiter.signal(SIGKILL);
  waiter.wait();
  owner.signal(SIGTERM);
  owner.wait();
  EXPECT_TRUE(await([&] { return is_free("k"); })) << owner.err() << holdfast({"show", "k"}).out;
}

TEST_F(WaitingHere, shows_the_holder_on_one_line_of_a_terminal_and_clears_it) {
  Process owner = hold("k");
  Process::Plan on_terminal = holdfast_plan({"run", "k", "echo", "mine"});
  on_terminal.on_terminal = true;
  Process waiter(on_terminal);
  // The first line may be late, and then it shows how late.
  const std::regex line("\r\033\\[Kholdfast: waiting ([0-9]+s )?for k, held by .* pid " +
                        std::to_string(owner.pid()));
  const auto lines = [&] {
    const std::string& out = waiter.out();
    return std::distance(std::sregex_iterator(out.begin(), out.end(), line), std::sregex_iterator());
  };
  EXPECT_TRUE(await([&] { return lines() > 1; })) << waiter.out();  // written anew, in place
  owner.signal(SIGTERM);
  EXPECT_EQ(waiter.wait(), 0);
  EXPECT_TRUE(waiter.out().ends_with("\r\033[Kmine\r\n")) << waiter.out();
  const std::string before = waiter.out().substr(0, waiter.out().size() - 6);
  EXPECT_THAT(before, Not(HasSubstr("\n")));
}

TEST_F(WaitingHere, says_nothing_without_a_terminal) {
  Process owner = hold("k");
  const Ended ended = holdfast({"run", "-w", "1500ms", "-E", "0", "k", "true"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err, "");
}

TEST_F(WaitingHere, says_nothing_on_a_terminal_when_the_key_is_free) {
  Process::Plan on_terminal = holdfast_plan({"run", "k", "echo", "mine"});
  on_terminal.on_terminal = true;
  // If acquiring takes longer than a quarter of a second, the line appears; but it does not always.
  EXPECT_TRUE(await([&] {
    Process process(on_terminal);
    EXPECT_EQ(process.wait(), 0);
    EXPECT_THAT(process.out(), EndsWith("mine\r\n"));
    return process.out() == "mine\r\n";
  }));
}

TEST_F(WaitingForStore, takes_as_long_as_w_and_is_69) {
  const Instant began = BootClock::now();
  for (Process& process : start_all({"-w", "1500ms"})) {
    EXPECT_EQ(process.wait(), 69) << process.err();
    EXPECT_THAT(process.err(), MatchesRegex("holdfast: gave up after 1.5s: cannot connect to [^\n]*\n"));
  }
  EXPECT_GE(BootClock::now() - began, 1500ms);
  EXPECT_EQ(holdfast({"run", "-w", "200ms", "-E", "0", "k", "true"}).code, 69) << "the key is not busy";
  EXPECT_FALSE(exists("ran"));
}

TEST_F(WaitingForStore, takes_ten_seconds_without_n_or_w_and_none_with_n) {
  const Instant began = BootClock::now();
  std::vector<Process> at_once = start_all({"-n"});
  for (Process& process : start_all({})) {
    EXPECT_EQ(process.wait(), 69) << process.err();
    EXPECT_THAT(process.err(), MatchesRegex("holdfast: gave up after 10s: cannot connect to [^\n]*\n"));
  }
  EXPECT_GE(BootClock::now() - began, 10s);
  for (Process& process : at_once) {
    EXPECT_EQ(process.wait(), 69) << process.err();
    EXPECT_THAT(process.err(), MatchesRegex("holdfast: cannot connect to [^\n]*\n"));
  }
}

TEST_F(WaitingForStore, takes_no_longer_where_a_server_accepts_and_never_answers) {
  const Listener silent;
  environment_["HOLDFAST_STORE"] = "redis://" + silent.place();
  Process patient = start({"run", "-w", "1m", "k", "true"});
  Process hasty = start({"run", "-w", "200ms", "k", "true"});
  Process once = start({"run", "-n", "k", "true"});  // that takes as long as one opening may: 5 s
  EXPECT_EQ(hasty.wait(), 69) << hasty.err();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(holdfast({"wait", "-w", "200ms", "k"}).code, 69);
  EXPECT_TRUE(runs(once.pid()));
  EXPECT_EQ(once.wait(), 69) << once.err();
  EXPECT_TRUE(runs(patient.pid()));
  patient.signal(SIGTERM);
  EXPECT_EQ(patient.wait(), 128 + SIGTERM);
}

TEST_F(WaitingForStore, ends_on_a_signal) {
  for (Process& process : start_all({"-w", "10m"})) {
    // Told on the way: it has begun, and does not give up.
    ASSERT_TRUE(process.await_err(
        "cannot connect to redis://127.0.0.1:1: Connection refused; trying again for another 9m"))
        << process.err();
    process.signal(SIGTERM);
    EXPECT_EQ(process.wait(), 128 + SIGTERM);
  }
}

TEST_F(WaitingForStore, says_why_on_a_terminal) {
  Process::Plan on_terminal = holdfast_plan({"run", "-w", "10m", "k", "true"});
  on_terminal.on_terminal = true;
  Process process(on_terminal);
  EXPECT_TRUE(await([&] {
    return process.out().find("for k: cannot connect to redis://127.0.0.1:1: Connection refused") !=
           std::string::npos;
  })) << process.out();
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 128 + SIGTERM);
}

HOLDFAST_ON_EVERY_SHARED_STORE(Waiting);

}  // namespace
}  // namespace holdfast::test
