// SPDX-License-Identifier: Apache-2.0
// Many shells change one file by reading, thinking and writing: each under the key, so no change is lost.
#include <csignal>
#include <random>
#include <set>
#include <sstream>

#include "tests/cli/home.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr int shells = 8;

class EightShells : public HomeOn {
 protected:
  // A child of CMD does the work, so that it may outlive CMD.  Each update that was finished is in the log.
  static constexpr const char* script =
      R"((read n < count; n=$((n + 1)); echo $n > new.$$; sleep 0.005; mv new.$$ count; echo $n $SHELL_NAME >> log); exit)";

  EightShells() {
    std::ofstream(path("count")) << "0\n";
    std::ofstream(path("log"));
    std::ofstream(path("update")) << script << "\n";
  }

  // `loop` is the head of a loop around `holdfast run`.
  std::vector<Process> start_shells(const std::string& loop, const std::string& ttl) {
    std::vector<Process> started;
    for (int i = 0; i < shells; ++i) {
      environment_["SHELL_NAME"] = "shell" + std::to_string(i);
      started.emplace_back(
          plan({"sh", "-c", loop + " do " HOLDFAST_BINARY " run --ttl " + ttl + " k -- sh ./update; done"}));
    }
    return started;
  }

  struct Update {
    long number;
    std::string shell;
  };
  std::vector<Update> log() const {
    std::istringstream lines(text_of("log"));
    std::vector<Update> updates;
    for (Update update; lines >> update.number >> update.shell;) updates.push_back(update);
    return updates;
  }
  std::set<std::string> who_had_a_turn() const {
    std::set<std::string> names;
    for (const Update& update : log()) names.insert(update.shell);
    return names;
  }
};

TEST_P(EightShells, eight_shells_lose_no_update) {
  // Where nothing rings a turn begins with the next poll, and nobody computes until then.
  const int turns = !GetParam().listener ? 8 : is_server() ? 20 : 50;
  const std::string loop = "i=0; while [ $((i += 1)) -le " + std::to_string(turns) + " ];";
  for (Process& shell : start_shells(loop, "30s")) {
    EXPECT_EQ(shell.wait(100s), 0) << shell.err();
    EXPECT_EQ(shell.err(), "");
  }
  EXPECT_EQ(text_of("count"), std::to_string(shells * turns) + "\n");
  EXPECT_EQ(log().size(), static_cast<std::size_t>(shells * turns));
}

// Whom the next blow hits.
struct Victims {
  bool main, guard, command;
};
constexpr Victims blows[] = {{true, false, false},
                             {false, true, false},
                             {false, false, true},
                             {true, true, false},
                             {true, true, true}};

// One of those that run, holder or waiter, or 0.
pid_t some_main(const std::vector<Process>& started, std::mt19937_64& random) {
  const bool owners_only = random() % 2 == 0;
  std::vector<pid_t> mains;
  for (const Process& shell : started) {
    for (const pid_t child : children_of(shell.pid())) {
      if (owners_only ? command_of(child) != 0 : guard_of(child) != 0) mains.push_back(child);
    }
  }
  return mains.empty() ? 0 : mains[random() % mains.size()];
}

void strike(pid_t main, const Victims& victims) {
  const pid_t guard = guard_of(main);
  const pid_t command = command_of(main);
  if (victims.main) send_signal(main, SIGKILL);
  if (victims.guard) send_signal(guard, SIGKILL);
  if (victims.command) send_signal(command, SIGKILL);
}

TEST_P(EightShells, eight_shells_lose_no_finished_update_whoever_is_killed) {
  const char* const given = std::getenv("HOLDFAST_SEED");
  const std::uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device{}();
  std::printf("HOLDFAST_SEED=%llu repeats this\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);

  // At a server the lease of a killed holder has to run out, but far behind the last write of its orphan.
  std::vector<Process> started = start_shells("while ! test -e stop;", "3s");
  const Instant end = BootClock::now() + 12s;
  const Instant enough = end + 60s;
  int struck = 0;
  while (BootClock::now() < (struck > 20 ? end : enough)) {
    const pid_t main = some_main(started, random);
    if (main != 0 && ++struck != 0) strike(main, blows[random() % std::size(blows)]);
    let_pass(Millis(random() % 40));
  }
  EXPECT_TRUE(await([&] { return who_had_a_turn().size() == shells; }, 60s))
      << "after the blows everyone gets a turn";
  std::ofstream(path("stop"));
  for (Process& shell : started) EXPECT_NE(shell.wait(), -1);

  const std::vector<Update> updates = log();
  std::printf("%d struck, %zu updates finished\n", struck, updates.size());
  for (std::size_t i = 1; i < updates.size(); ++i) {
    EXPECT_GT(updates[i].number, updates[i - 1].number) << "an update was lost at line " << i;
  }
  EXPECT_GE(std::stol(text_of("count")), updates.back().number);
  EXPECT_GT(struck, 20);
}

HOLDFAST_ON_EVERY_SHARED_STORE(EightShells);

}  // namespace
}  // namespace holdfast::test
