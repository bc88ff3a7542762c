// SPDX-License-Identifier: Apache-2.0
// family.cpp - a command that is hard to end, and one that checks whether it has ended.
//
//   family tree SEED     prints "held" and becomes a tree of processes.  Some ignore TERM, some leave
//                        the group or the session, some are orphans from the start, some fork without end,
//                        some have lost their first thread, so that they look like a zombie.
//   family thread PATH   leaves for a session of its own, where only its second thread lives; then its number
//                        is in that file.
//   family witness MARK  prints "alone", or the processes of the tree with that mark that still live.
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "base/random.h"
#include "tests/cli/proc.h"
#include "tests/support/await.h"

namespace holdfast::test {
namespace {

[[noreturn]] void live() {
  while (true) ::pause();
}

// Another thread does, and this one, the first, ends.
[[noreturn]] void live_on_in_a_thread() {
  std::thread(live).detach();
  ::pthread_exit(nullptr);
}

// A child of it lives at any time, but none for long.
[[noreturn]] void breed() {
  ::signal(SIGCHLD, SIG_IGN);
  while (true) {
    if (::fork() == 0) {
      let_pass(Millis(20));
      ::_exit(0);
    }
    let_pass(Millis(5));
  }
}

void raise_children(Jitter dice, int generation);

[[noreturn]] void be_child(Jitter dice, int generation) {
  if (dice.below(2) == 0) ::signal(SIGTERM, SIG_IGN);
  switch (dice.below(4)) {
    case 0: ::setsid(); break;
    case 1: ::setpgid(0, 0); break;
    case 2:
      if (::fork() != 0) ::_exit(0);  // an orphan
      if (dice.below(2) == 0) ::setsid();
      break;
    default: break;
  }
  if (generation < 2) raise_children(Jitter(dice.next()), generation + 1);
  if (dice.below(8) == 0) breed();
  if (dice.below(3) == 0) live_on_in_a_thread();
  live();
}

void raise_children(Jitter dice, int generation) {
  const std::uint64_t count = dice.below(3) + (generation == 0 ? 1 : 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t seed = dice.next();
    if (::fork() == 0) be_child(Jitter(seed), generation);
  }
}

[[noreturn]] void be_tree(std::uint64_t seed) {
  Jitter dice(seed);
  if (dice.below(2) == 0) ::signal(SIGTERM, SIG_IGN);
  std::puts("held");
  std::fflush(stdout);
  raise_children(Jitter(dice.next()), 0);
  if (dice.below(8) == 0) live_on_in_a_thread();
  live();
}

[[noreturn]] void be_thread(const std::string& path) {
  ::setsid();
  std::thread([path] {
    await([] { return proc_file(::getpid(), "stat").find(") Z ") != std::string::npos; });
    std::ofstream(path + ".new") << ::getpid() << '\n';
    std::filesystem::rename(path + ".new", path);
    live();
  }).detach();
  ::pthread_exit(nullptr);
}

int witness(const char* mark) {
  const std::vector<pid_t> alive = family_of(mark);
  for (const pid_t pid : alive) std::printf("alive %d: %s\n", pid, proc_file(pid, "stat").c_str());
  if (alive.empty()) std::puts("alone");
  return 0;
}

}  // namespace
}  // namespace holdfast::test

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  if (std::string_view(argv[1]) == "tree") holdfast::test::be_tree(std::strtoull(argv[2], nullptr, 10));
  if (std::string_view(argv[1]) == "thread") holdfast::test::be_thread(argv[2]);
  return holdfast::test::witness(argv[2]);
}
