// SPDX-License-Identifier: Apache-2.0
#include "tests/processes/worker.h"

#include <unistd.h>

#include <fstream>
#include <iostream>

#include "core/timing.h"
#include "tests/processes/peer.h"
#include "tests/processes/scoreboard.h"
#include "tests/support/await.h"

namespace holdfast::test {
namespace {

// Gone, or about to be: the kernel closes what a process has open a moment before that is seen.
bool dies(int pid) {
  return await([&] {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    if (!std::getline(stat, text)) return true;
    const char state = text.at(text.rfind(')') + 2);
    return state == 'Z' || state == 'X';
  });
}

bool is_outage(const Error& error) { return error.code == Errc::unavailable || error.code == Errc::in_doubt; }

class Worker {
 public:
  explicit Worker(const Work& work)
      : work_(work),
        board_(*map_scoreboard(work.scoreboard)),
        score_(board_.scores[work.worker]),
        peer_(work.url),
        can_know_the_dead_(static_cast<bool>(Fd(peer_.proof_of_life()))) {}

  // Empty, or what must not be.
  std::string turn() {
    const std::size_t slot = jitter_.below(board_.slots.size());
    const std::string key = "key" + std::to_string(slot);
    const Instant sent = BootClock::now();
    const auto granted =
        ask({.verb = Verb::acquire, .key = {key}, .owner = {peer_.name()}, .ttl = work_.ttl});
    if (!granted) return failed("acquire", granted.error());
    if (granted->verdict == Verdict::busy) return "";
    if (granted->verdict != Verdict::granted) return "acquire is answered by " + text(granted);

    if (std::string wrong = alone(board_.slots[slot], sent, granted->token); !wrong.empty())
      return key + ": " + wrong;

    const auto released =
        ask({.verb = Verb::release, .key = {key}, .owner = {peer_.name()}, .token = granted->token});
    if (!released) return failed("release", released.error());
    const bool late = BootClock::now() >= sent + work_.ttl;
    // Where a call was not answered, a release may have come twice.
    if (released->verdict != Verdict::released && !late && !work_.outages)
      return key + ": release is answered by " + text(released);
    ++score_.pairs;
    return "";
  }
  void fail(const std::string& what) {
    ++score_.errors;
    std::cerr << "worker " << work_.worker << ": " << what << std::endl;
  }

 private:
  // A store that is there for sure has all the time it needs; one that may hang is soon given up.
  Result<Reply> ask(const Request& request) {
    const Millis patience = work_.outages ? work_.ttl / 2 : Millis(20'000);
    return peer_.ask(request, BootClock::now() + patience);
  }

  std::string failed(const char* verb, const Error& error) {
    if (!work_.outages || !is_outage(error)) return std::string(verb) + ": " + error.detail;
    ++score_.outages;
    return "";
  }

  // While we believe to have it, nobody else does, and its token is the highest yet.
  std::string alone(Slot& slot, Instant sent, Token token) {
    const Instant deadline = core::deadline_of(sent, work_.ttl, core::margin_of(work_.ttl, {}, Millis(1)));
    const Belief mine(::getpid(), deadline);
    const Belief before = slot.owner.exchange(mine);
    const Instant entered = BootClock::now();
    if (entered >= deadline) return "";  // we never held it, so we cannot judge others
    // Only a store that has a proof of life may give away what a dead process has not used up.
    const auto excused = [&] { return can_know_the_dead_ && dies(before.pid()); };
    if (!before.none() && before.pid() != ::getpid() && before.deadline() > entered && !excused())
      return "process " + std::to_string(before.pid()) + " believes to have it, too";
    const std::uint64_t last = slot.token.exchange(to_number(token));
    dwell();
    const Belief after = slot.owner.exchange(Belief());
    if (BootClock::now() >= deadline) return "";
    if (!(after == mine)) return "somebody else took it meanwhile";
    const bool same_again = to_number(token) == last && work_.outages;  // an acquire that was answered twice
    if (to_number(token) <= last && !same_again)
      return "its token fell from " + std::to_string(last) + " to " + std::to_string(to_number(token));
    return "";
  }

  // Most stay for a moment, some so long that a server can die and come back meanwhile.
  void dwell() {
    const Millis longest = std::min(work_.ttl / 2, Millis(300));
    const bool stays = jitter_.below(16) == 0;
    let_pass(Millis(jitter_.below(stays ? static_cast<std::uint64_t>(longest.count()) : 3)));
  }

  const Work work_;
  Scoreboard& board_;
  Score& score_;
  Peer peer_;
  const bool can_know_the_dead_;
  Jitter jitter_{random_bits()};
};

}  // namespace

int work(const Work& work) {
  Worker worker(work);
  while (true) {
    const std::string wrong = worker.turn();
    if (wrong.empty()) continue;
    worker.fail(wrong);
    return 1;
  }
}

}  // namespace holdfast::test
