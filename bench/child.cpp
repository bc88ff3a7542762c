// SPDX-License-Identifier: Apache-2.0
#include "bench/child.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "tests/support/await.h"

namespace holdfast::bench {

void* map_shared(std::size_t size) {
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

void unmap_shared(void* memory, std::size_t size) noexcept { munmap(memory, size); }

Child::Child(const std::function<void()>& work) : pid_(fork()) {
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ > 0) return;
  try {
    work();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "holdfast_bench: a child failed: %s\n", e.what());
    _exit(EXIT_FAILURE);
  }
  _exit(EXIT_SUCCESS);
}

Child::~Child() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Child::kill() noexcept { ::kill(pid_, SIGKILL); }

void Child::join() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = 0;
  if (status != 0) throw std::runtime_error("a child did not end well");
}

void Race::line_up() {
  ++ready;
  test::await([this] { return end.load() != 0; });
}

bool Race::running() const { return BootClock::now().time_since_epoch().count() < end.load(); }

Raced race_processes(int runners, double seconds, const std::function<void(Race&, int)>& runner) {
  assert(static_cast<std::size_t>(runners) <= Race::most);
  const Shared<Race> race;
  std::vector<Child> children;
  for (int i = 0; i < runners; ++i) children.emplace_back([&, i] { runner(*race, i); });
  if (!test::await([&] { return race->ready == runners; }))
    throw std::runtime_error("not all processes came to the start");
  const auto length = std::chrono::duration_cast<BootClock::duration>(std::chrono::duration<double>(seconds));
  race->end = (BootClock::now() + length).time_since_epoch().count();
  for (Child& child : children) child.join();
  long sum = 0, least = race->counts[0];
  for (int i = 0; i < runners; ++i) {
    sum += race->counts[i];
    least = std::min(least, race->counts[i].load());
  }
  return {static_cast<double>(sum) / seconds, static_cast<double>(least) / seconds};
}

}  // namespace holdfast::bench
