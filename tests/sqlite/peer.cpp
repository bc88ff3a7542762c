// SPDX-License-Identifier: Apache-2.0
// Another process that uses the same file, told what to do line by line.
//
//   peer PATH TABLE            answers each line of its input with one line:
//     acquire KEY HOLDER TTL_MS PLACE_MS      HOLDER - : our own name, @ : the same and detached
//     renew KEY HOLDER TTL_MS
//     release KEY HOLDER
//     load KEY TIMES           acquires and releases so often
//     limit BYTES              no file may grow beyond that, as on a full disk
//     descend                  leaves a grandchild behind that keeps our proof of life; says its pid
//     fork                     goes on as a forked child with a client of its own; the parent ends
//   peer --torture PATH WORKER SCOREBOARD     acquires and releases until it is killed
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "base/host.h"
#include "base/random.h"
#include "holdfast/sqlite.h"
#include "tests/sqlite/scoreboard.h"
#include "tests/support/await.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class Peer {
 public:
  Peer(std::string path, std::string table)
      : origin_(sqlite::origin({.path = std::move(path), .table = std::move(table)}).value()),
        store_(origin_->connect(BootClock::now() + 20s).value()),
        name_(holder_name(origin_->client() + random_hex(16))) {}

  const std::string& name() const { return name_; }
  const std::string& client() const { return origin_->client(); }
  int proof_of_life() const { return origin_->proof_of_life(); }

  Result<Reply> ask(const Request& request) {
    Reply reply;
    const Status status = store_->apply({&request, 1}, {&reply, 1}, BootClock::now() + 20s);
    if (!status) return status.error();
    return reply;
  }

 private:
  const std::shared_ptr<Origin> origin_;
  const std::unique_ptr<Store> store_;
  const std::string name_;
};

std::string text(const Result<Reply>& reply) {
  if (!reply) return "error " + reply.error().detail;
  static constexpr const char* verdicts[] = {"granted", "released", "busy", "lost"};
  return std::string(verdicts[static_cast<int>(reply->verdict)]) + " " + std::to_string(number(reply->token));
}

std::string load(Peer& peer, const std::string& key, int times) {
  Token last{};
  for (int i = 0; i < times; ++i) {
    const auto granted = peer.ask({.verb = Verb::acquire, .key = {key}, .holder = {peer.name()}, .ttl = 1h});
    if (!granted || granted->verdict != Verdict::granted) return text(granted);
    if (granted->token <= last) return "error a token fell";
    last = granted->token;
    const auto released =
        peer.ask({.verb = Verb::release, .key = {key}, .holder = {peer.name()}, .token = last});
    if (!released || released->verdict != Verdict::released) return text(released);
  }
  return "done";
}

std::string descend(const Peer& peer) {
  int line[2];
  if (pipe2(line, O_CLOEXEC) != 0) return "error pipe";
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      fcntl(peer.proof_of_life(), F_SETFD, 0);  // inherited by what runs now
      execlp("sleep", "sleep", "1000", nullptr);
      _exit(127);
    }
    _exit(write(line[1], &grandchild, sizeof grandchild) == sizeof grandchild ? 0 : 1);
  }
  pid_t grandchild = 0;
  return read(line[0], &grandchild, sizeof grandchild) == sizeof grandchild ? std::to_string(grandchild)
                                                                            : "error read";
}

std::string limit(rlim_t bytes) {
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit most{bytes, RLIM_INFINITY};
  return setrlimit(RLIMIT_FSIZE, &most) == 0 ? "done" : "error setrlimit";
}

int obey(const std::string& path, const std::string& table) {
  auto peer = std::make_unique<Peer>(path, table);
  std::unique_ptr<Peer> parents;
  std::cout << peer->client() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb, key, holder;
    std::int64_t ttl = 0, place = 0;
    words >> verb >> key;
    if (verb == "load") {
      int times = 0;
      words >> times;
      std::cout << load(*peer, key, times) << std::endl;
      continue;
    }
    if (verb == "limit") {
      std::cout << limit(key == "none" ? RLIM_INFINITY : std::stoul(key)) << std::endl;
      continue;
    }
    if (verb == "descend") {
      std::cout << descend(*peer) << std::endl;
      continue;
    }
    if (verb == "fork") {
      if (fork() != 0) _exit(0);
      parents = std::move(peer);
      peer = std::make_unique<Peer>(path, table);
      std::cout << getpid() << std::endl;
      continue;
    }
    words >> holder >> ttl >> place;
    const bool detached = holder == "@";
    if (holder == "-" || detached) holder = peer->name();
    const Verb which = verb == "acquire" ? Verb::acquire : verb == "renew" ? Verb::renew : Verb::release;
    std::cout << text(peer->ask({.verb = which,
                                 .key = {key},
                                 .holder = {holder},
                                 .ttl = Millis(ttl),
                                 .place = Millis(place),
                                 .detached = detached}))
              << std::endl;
  }
  if (parents) _exit(0);  // a child lets it lie
  return 0;
}

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

int torture(const std::string& path, std::size_t worker, const std::string& scoreboard) {
  Scoreboard& board = *map_scoreboard(scoreboard);
  Score& score = board.scores[worker];
  const auto fail = [&](const std::string& what) {
    ++score.errors;
    std::cerr << "worker " << worker << ": " << what << std::endl;
    return 1;
  };
  Peer peer(path, "locks");
  Jitter jitter(random_bits());
  const std::string own = "own" + std::to_string(worker);
  while (true) {
    const bool shared = jitter.below(2) == 0;
    const std::size_t slot = jitter.below(board.holders.size());
    const std::string key = shared ? "shared" + std::to_string(slot) : own;
    const auto granted = peer.ask({.verb = Verb::acquire, .key = {key}, .holder = {peer.name()}, .ttl = 1h});
    if (!granted) return fail(granted.error().detail);
    if (granted->verdict == Verdict::busy && shared) continue;
    if (granted->verdict != Verdict::granted) return fail("own key is " + text(granted));
    if (!shared && number(granted->token) <= score.token.exchange(number(granted->token)))
      return fail("a token fell");
    if (shared) {
      const int before = board.holders[slot].exchange(getpid());
      if (before != 0 && !dies(before)) return fail("two hold " + key);
      if (board.holders[slot].exchange(0) != getpid()) return fail("somebody else took " + key);
    }
    const auto released =
        peer.ask({.verb = Verb::release, .key = {key}, .holder = {peer.name()}, .token = granted->token});
    if (!released || released->verdict != Verdict::released) return fail("release: " + text(released));
    ++score.pairs;
  }
}

}  // namespace
}  // namespace holdfast::test

int main(int count, char** words) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // no test leaves one behind
  if (count == 5 && std::string(words[1]) == "--torture")
    return holdfast::test::torture(words[2], std::stoul(words[3]), words[4]);
  if (count == 3) return holdfast::test::obey(words[1], words[2]);
  return 64;
}
