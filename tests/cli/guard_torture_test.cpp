// SPDX-License-Identifier: Apache-2.0
// The promise of guard_test.cpp at random: who is killed or stopped, when, and what the command is made of.
//
//   ./dev soak torture 1000, or HOLDFAST_ROUNDS=1000 HOLDFAST_SEED=7 test_cli_torture
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>

#include "base/random.h"
#include "tests/cli/home.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const given = std::getenv(variable);
  return given != nullptr ? std::strtoull(given, nullptr, 10) : otherwise;
}

// What is done to whom.
enum class Deed {
  kill_main,
  kill_guard,
  kill_command,
  kill_one,
  stop_main,
  stop_guard,
  stop_command,
  stop_one,
  starve_guard,  // of memory; and stop main
  starve_main,
  lock_store,
  count
};
const char* name_of(Deed deed) {
  constexpr const char* names[] = {"kill main",    "kill guard",  "kill command", "kill one",
                                   "stop main",    "stop guard",  "stop command", "stop one",
                                   "starve guard", "starve main", "lock store"};
  return names[static_cast<int>(deed)];
}

void starve(pid_t pid) {
  const rlimit nothing{.rlim_cur = 0, .rlim_max = 0};
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    if (pid > 0) ::prlimit(pid, resource, &nothing, nullptr);
  }
}

// What a server's rounds share.
class Server {
 public:
  explicit Server(const Kind& kind) : kind_(kind), database_(kind.alone()) {}
  std::string url() const { return database_->url(); }
  // For one round.  One at a time: it searches for a free port.
  std::unique_ptr<TestDatabase> another() const {
    const std::lock_guard lock(mutex_);
    return kind_.alone();
  }

 private:
  const Kind kind_;
  const std::unique_ptr<TestDatabase> database_;
  mutable std::mutex mutex_;
};

// One command, one deed, and two who wait for the same key.  In a home of its own.
class Round : protected Household {
 public:
  // On the embedded store if there is no server.
  Round(std::uint64_t seed, const Server* server)
      : dice_(seed), mark_(std::to_string(seed)), embedded_(server == nullptr) {
    deed_ = static_cast<Deed>(dice_.below(static_cast<std::uint64_t>(Deed::count)));
    ttl_ = Millis(4000 + 500 * dice_.below(3));  // a tenth of it is what a busy machine may be late
    from_the_start_ = dice_.below(5) == 0;
    if (deed_ == Deed::lock_store && from_the_start_) deed_ = Deed::stop_main;
    if (embedded_) return;
    // Others share the server: one that is going to freeze is this round's own.
    if (deed_ == Deed::lock_store) own_ = server->another();
    environment_["HOLDFAST_STORE"] = own_ ? own_->url() : server->url();
  }

  // What went wrong; empty if nothing did.
  std::string play() {
    environment_["HOLDFAST_TEST_MARK"] = mark_;
    Process owner = start(
        {"run", "--ttl", std::to_string(ttl_.count()) + "ms", mark_, "--", HOLDFAST_FAMILY, "tree", mark_});
    if (!from_the_start_ && !owner.await_out("held")) return failure("it did not begin: " + owner.err());
    environment_["HOLDFAST_TEST_MARK"] = "witness";
    const Words look{"run", mark_, "--", HOLDFAST_FAMILY, "witness", mark_};
    Process next = start(look);
    Process next_but_one = start(look);
    let_pass(Millis(dice_.below(from_the_start_ ? 50 : static_cast<std::uint64_t>(ttl_.count()))));
    act(owner);
    std::string wrong = see(next) + see(next_but_one);
    // Stopped before it had the key it would begin now.  Not if its guard was killed just now: nobody
    // promises anything when both are.
    if (stops_main()) owner.signal(from_the_start_ ? SIGKILL : SIGCONT);
    if (owner.wait() == -1) wrong += failure("it did not end");
    if (kept_out_ && start(look).wait() != 0) wrong += failure("the store is not to be had");
    if (!await([&] { return marked_with(mark_).empty(); }, 5s)) wrong += failure("somebody is left");
    for (const pid_t pid : marked_with(mark_)) {
      wrong += "left: " + proc_file(pid, "stat");
      send_signal(pid, SIGKILL);
    }
    return wrong;
  }

 private:
  std::string failure(const std::string& what) const {
    return "round " + mark_ + ", " + name_of(deed_) + ", ttl " + std::to_string(ttl_.count()) +
           " ms: " + what + "\n";
  }
  bool stops_main() const { return deed_ == Deed::stop_main || deed_ == Deed::starve_guard; }
  std::string see(Process& witness) {
    if (witness.wait() == 0 && witness.out() == "alone\n") return "";
    // Main was stopped while it wrote, and keeps the file until it goes on or is killed: nobody gets in.
    const bool locked =
        witness.err().find("timed out while other processes were writing the file") != std::string::npos;
    if (embedded_ && stops_main() && locked) return kept_out_ = true, "";
    // Its server was frozen.
    if (own_ && witness.wait() == 69) return kept_out_ = true, "";
    return failure("the next one saw: " + witness.out() + witness.err());
  }
  pid_t one_of_family() {
    const std::vector<pid_t> family = family_of(mark_);
    return family.empty() ? 0 : family[dice_.below(family.size())];
  }
  void act(Process& owner);
  void lock_store(Process& owner);

  Jitter dice_;
  const std::string mark_;
  const bool embedded_;
  Deed deed_;
  Millis ttl_;
  std::unique_ptr<TestDatabase> own_;
  bool from_the_start_;  // else it has begun when it happens
  bool kept_out_ = false;
};

void Round::act(Process& owner) {
  const pid_t main = owner.pid();
  bool ends = false;  // and not only goes on as if nothing were
  switch (deed_) {
    case Deed::kill_main: break;
    case Deed::kill_guard: ends = send_signal(guard_of(main), SIGKILL); break;
    case Deed::kill_command: ends = send_signal(command_of(main), SIGKILL); break;
    case Deed::kill_one: send_signal(one_of_family(), SIGKILL); break;
    case Deed::stop_guard: send_signal(guard_of(main), SIGSTOP); break;
    case Deed::stop_command: send_signal(command_of(main), SIGSTOP); break;
    case Deed::stop_one: send_signal(one_of_family(), SIGSTOP); break;
    case Deed::starve_main: starve(main); break;
    case Deed::starve_guard: starve(guard_of(main)); [[fallthrough]];
    case Deed::stop_main: ends = send_signal(main, SIGSTOP); break;
    case Deed::lock_store: return lock_store(owner);
    case Deed::count: break;
  }
  if (ends) return;
  // In half of the rounds it lasts longer than the lease would without a renewal.
  if (deed_ != Deed::kill_main) {
    const Millis longer = dice_.below(2) == 0 ? ttl_ : Millis(0);
    let_pass(longer + Millis(dice_.below(500)));
  }
  owner.signal(SIGKILL);
}

// Until the lease is lost and the holder has ended.
void Round::lock_store(Process& owner) {
  if (own_) {
    const auto silence = own_->hang();
    owner.wait();
    return;
  }
  Process::Plan sqlite = plan({"sqlite3", path(".local/state/holdfast/leases.db")});
  sqlite.keep_input = true;
  Process lock(sqlite);
  lock.type(".timeout 5000\nBEGIN IMMEDIATE;\nSELECT 'locked';\n");
  if (lock.await_out("locked")) owner.wait();
}

class GuardTorture : public ::testing::Test {
 protected:
  static constexpr int at_a_time = 8;

  static void torture(const Server* server) {
    const std::uint64_t seed = number_from("HOLDFAST_SEED", random_bits());
    const std::uint64_t rounds = number_from("HOLDFAST_ROUNDS", 32);
    std::printf("HOLDFAST_SEED=%llu repeats this\n", static_cast<unsigned long long>(seed));
    std::fflush(stdout);  // so that the output shows it even if we are killed for taking too long
    Jitter dice(seed);
    std::vector<std::uint64_t> seeds(rounds);
    for (std::uint64_t& each : seeds) each = dice.next();
    std::atomic<std::size_t> begun{0};
    std::mutex mutex;
    std::string wrong;
    std::vector<std::thread> players;
    for (int i = 0; i < at_a_time; ++i) {
      players.emplace_back([&] {
        for (std::size_t round = 0; (round = begun++) < seeds.size();) {
          const std::string failure = Round(seeds[round], server).play();
          const std::lock_guard lock(mutex);
          wrong += failure;
          std::printf("%s", failure.c_str());
          std::fflush(stdout);
        }
      });
    }
    for (std::thread& player : players) player.join();
    EXPECT_EQ(wrong, "");
  }
};

TEST_F(GuardTorture, nobody_is_alive_when_the_next_one_begins_on_the_embedded_store) { torture(nullptr); }

TEST_F(GuardTorture, nobody_is_alive_when_the_next_one_begins_on_a_server) {
  const auto kinds = kinds_named({"redis"});
  ASSERT_EQ(kinds.size(), 1u);
  const Server server(kinds.front());
  torture(&server);
}

}  // namespace
}  // namespace holdfast::test
