// SPDX-License-Identifier: Apache-2.0
// Another process that uses the same store and reads commands line by line.
//
//   peer URL                   answers each line of its input with one line:
//     acquire KEY HOLDER TTL_MS PLACE_MS      HOLDER - : our own name, @ : the same and detached
//     renew KEY HOLDER TTL_MS
//     release KEY HOLDER
//     wait KEY                 acquires with the default options of a client, however long it takes
//     load KEY TIMES           acquires and releases so often
//     limit BYTES              no file may grow beyond that, as on a full disk
//     descend                  leaves a grandchild behind that keeps our proof of life; prints its pid
//     fork                     goes on as a forked child with a client of its own; the parent ends
//   peer --work URL WORKER SCOREBOARD TTL_MS outages|steady    acquires and releases until it is killed
#include "tests/processes/peer.h"

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

#include "tests/processes/worker.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

std::string load(Peer& peer, const std::string& key, int times) {
  Token last{};
  for (int i = 0; i < times; ++i) {
    const auto granted = peer.ask({.verb = Verb::acquire, .key = {key}, .owner = {peer.name()}, .ttl = 1h});
    if (!granted || granted->verdict != Verdict::granted) return text(granted);
    if (granted->token <= last) return "error a token fell";
    last = granted->token;
    const auto released =
        peer.ask({.verb = Verb::release, .key = {key}, .owner = {peer.name()}, .token = last});
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

int obey(const std::string& url) {
  auto peer = std::make_unique<Peer>(url);
  std::unique_ptr<Peer> parents;
  std::cout << peer->client() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb, key, owner;
    std::int64_t ttl = 0, place = 0;
    words >> verb >> key;
    if (verb == "load") {
      int times = 0;
      words >> times;
      std::cout << load(*peer, key, times) << std::endl;
      continue;
    }
    if (verb == "wait") {
      Client client = open(url);
      const Lease lease = client.acquire(key, {.wait = forever});
      std::cout << "granted " << to_number(lease.token()) << std::endl;
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
      peer = std::make_unique<Peer>(url);
      std::cout << getpid() << std::endl;
      continue;
    }
    words >> owner >> ttl >> place;
    const bool detached = owner == "@";
    if (owner == "-" || detached) owner = peer->name();
    const Verb which = verb == "acquire" ? Verb::acquire : verb == "renew" ? Verb::renew : Verb::release;
    std::cout << text(peer->ask({.verb = which,
                                 .key = {key},
                                 .owner = {owner},
                                 .ttl = Millis(ttl),
                                 .place = Millis(place),
                                 .detached = detached}))
              << std::endl;
  }
  if (parents) _exit(0);  // a child lets it lie
  return 0;
}

}  // namespace
}  // namespace holdfast::test

int main(int count, char** words) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // no test leaves one behind
  if (count == 2) return holdfast::test::obey(words[1]);
  if (count != 7 || std::string(words[1]) != "--work") return 64;
  return holdfast::test::work({.url = words[2],
                               .worker = std::stoul(words[3]),
                               .scoreboard = words[4],
                               .ttl = holdfast::Millis(std::stol(words[5])),
                               .outages = std::string(words[6]) == "outages"});
}
