// SPDX-License-Identifier: Apache-2.0
// waiting.cpp - many wait for one key and nothing happens: it should cost next to nothing.
#include <stdexcept>
#include <thread>

#include "base/wakeup.h"
#include "bench/child.h"
#include "bench/raw_sqlite.h"
#include "bench/usage.h"
#include "bench/workload.h"
#include "holdfast/holdfast.h"
#include "stores/decorators/counted.h"
#include "tests/support/await.h"
#include "tests/support/databases.h"
#include "tests/support/scratch.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

constexpr Millis asking_every = 100ms;  // of those who poll by hand

// What all waiters of all processes use in the time that is watched.
struct Books {
  std::atomic<int> waiting = 0;
  std::atomic<Instant::rep> start = 0, end = 0;  // start is set last
  std::atomic<long> statements = 0, cpu_us = 0;

  bool over() const { return end != 0 && BootClock::now() >= instant(end); }
  static Instant instant(Instant::rep since_boot) { return Instant(Instant::duration(since_boot)); }
};

// Watches this process, asleep itself: looking would be more work than waiting.
void watch_this_process(Books& books, const Counts& counts) {
  test::await([&] { return books.start.load() != 0; });
  Wakeup().wait(Books::instant(books.start));
  const double cpu = cpu_seconds();
  const auto trips = counts.trips.load();
  Wakeup().wait(Books::instant(books.end));
  books.cpu_us += static_cast<long>((cpu_seconds() - cpu) * 1e6);
  books.statements += static_cast<long>(counts.trips - trips);
}

void wait_in_threads(const std::string& path, int threads, Books& books) {
  Counts counts;
  Client client(test::wrapped(sqlite::origin({.path = path}).value(), [&](std::unique_ptr<Store> store) {
    return std::make_unique<Counted>(std::move(store), counts);
  }));
  std::stop_source stop;
  std::vector<std::jthread> waiters;
  for (int i = 0; i < threads; ++i) {
    waiters.emplace_back([&] {
      ++books.waiting;
      (void)client.try_acquire("key", {.wait = forever, .stop = stop.get_token()});
    });
  }
  watch_this_process(books, counts);
  stop.request_stop();
}

void ask_in_threads(const std::string& path, int threads, Books& books) {
  Counts counts;
  std::vector<std::jthread> waiters;
  for (int i = 0; i < threads; ++i) {
    waiters.emplace_back([&] {
      RawSqlite raw(path, RawSqlite::How::same_statements);
      ++books.waiting;
      while (!books.over()) {
        ++counts.trips;
        if (!raw.is_held("key")) return;
        test::let_pass(asking_every);
      }
    });
  }
  watch_this_process(books, counts);
}

struct Cost {
  double statements = 0;  // per second, of all
  double cpu_share = 0;   // of one core
};

// Somebody holds the key; `processes` of them run `wait` meanwhile.
template <class Wait>
Cost watch(const std::string& path, int processes, int waiters, Millis length, Wait wait) {
  const Shared<Books> books;
  std::vector<Child> children;
  for (int i = 0; i < processes; ++i) children.emplace_back([&] { wait(path, waiters / processes, *books); });
  if (!test::await([&] { return books->waiting >= waiters; }))
    throw std::runtime_error("not all of them wait");
  // Queueing and falling asleep is not waiting yet.
  const Instant start = after(BootClock::now(), length / 4), end = after(start, length);
  books->end = end.time_since_epoch().count();
  books->start = start.time_since_epoch().count();
  for (Child& child : children) child.join();
  const double seconds = std::chrono::duration<double>(length).count();
  return {.statements = static_cast<double>(std::max(books->statements.load(), 1L)) / seconds,
          .cpu_share = static_cast<double>(std::max(books->cpu_us.load(), 1L)) / 1e4 / seconds};
}

}  // namespace

Report run_waiting(const Effort& effort) {
  const test::Scratch folder;
  const std::string path = folder.path() + "/ours.db";
  const int waiters = effort.quick ? 10 : 100;
  const Millis length = effort.quick ? 200ms : 4s;

  const Shared<std::atomic<bool>> held;
  Child holder([&] {
    const Lease lease = open("sqlite:" + path).acquire("key", {.ttl = 60s});
    *held = true;
    test::await([] { return false; }, 1h);  // until killed
  });
  test::await([&] { return held->load(); });

  Series cpu[3];
  const auto measured = [&](std::size_t which, int processes, auto wait) {
    return [&, which, processes, wait] {
      const Cost cost = watch(path, processes, waiters, length, wait);
      cpu[which].push_back(cost.cpu_share);
      return cost.statements;
    };
  };
  const std::string many = std::to_string(waiters);
  const Contestant contestants[] = {{many + " threads of one client wait", measured(0, 1, wait_in_threads)},
                                    {many + " processes wait", measured(1, waiters, wait_in_threads)},
                                    {many + " threads ask every 100 ms", measured(2, 1, ask_in_threads)}};
  const auto found = take_turns(effort, effort.quick ? 1 : 3, contestants);
  BarChart chart{
      .title = "Waiting for one key",
      .note = "CPU of all waiters together while nothing happens; whiskers: quartiles of the rounds",
      .axis = "% of one core, logarithmic",
      .bars = {{found[0].name, spread_of(cpu[0]), Role::ours},
               {found[1].name, spread_of(cpu[1]), Role::ours},
               {found[2].name, spread_of(cpu[2]), Role::reference}},
      .log = true};
  const auto costs = [&](std::size_t i) { return Named{found[i].name, cpu[i]}; };
  return {.figures = {compare(found[0], found[2], "calls/s", Better::less),
                      compare(costs(0), costs(2), "% CPU", Better::less),
                      compare(found[1], found[2], "calls/s", Better::less),
                      compare(costs(1), costs(2), "% CPU", Better::less)},
          .charts = {{"waiting", std::move(chart)}}};
}

}  // namespace holdfast::bench
