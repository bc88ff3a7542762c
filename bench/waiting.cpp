// SPDX-License-Identifier: Apache-2.0
// waiting.cpp - many wait for one key and nothing happens: it should cost next to nothing.
#include <stdexcept>
#include <thread>

#include "base/fd.h"
#include "base/wakeup.h"
#include "bench/child.h"
#include "bench/usage.h"
#include "bench/workload.h"
#include "holdfast/holdfast.h"
#include "stores/decorators/counted.h"
#include "tests/support/await.h"
#include "tests/support/databases.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* wanted = "waiting";
constexpr Millis asking_every = 100ms;  // of those who poll by hand

// What all waiters of all processes use in the time that is watched.
struct Books {
  std::atomic<int> waiting = 0;
  std::atomic<Instant::rep> start = 0, end = 0;  // start is set last
  std::atomic<long> statements = 0, cpu_us = 0;

  bool over() const { return end != 0 && BootClock::now() >= instant(end); }
  static Instant instant(Instant::rep since_boot) { return Instant(Instant::duration(since_boot)); }
};

// Watches this process, asleep itself: polling would be more work than waiting.
void watch_this_process(Books& books, const Counts& counts) {
  test::await([&] { return books.start.load() != 0; });
  Wakeup().wait(Books::instant(books.start));
  const double cpu = cpu_seconds();
  const auto trips = counts.trips.load();
  Wakeup().wait(Books::instant(books.end));
  books.cpu_us += static_cast<long>((cpu_seconds() - cpu) * 1e6);
  books.statements += static_cast<long>(counts.trips - trips);
}

void wait_in_threads(Subject& subject, int threads, Books& books) {
  Counts counts;
  // Opening is not what is measured, and may take its time on a busy machine.
  Client client(test::wrapped(try_store(subject.url()).value(),
                              [&](std::unique_ptr<StoreConnection> connection) {
                                return std::make_unique<Counted>(std::move(connection), counts);
                              }),
                {.connect_wait = 1min});
  std::stop_source stop;
  std::vector<std::jthread> waiters;
  for (int i = 0; i < threads; ++i) {
    waiters.emplace_back([&] {
      ++books.waiting;
      (void)client.try_acquire(wanted, {.wait = forever, .stop = stop.get_token()});
    });
  }
  watch_this_process(books, counts);
  stop.request_stop();
}

void ask_in_threads(Subject& subject, int threads, Books& books) {
  Counts counts;
  std::vector<std::jthread> waiters;
  for (int i = 0; i < threads; ++i) {
    waiters.emplace_back([&] {
      const auto raw = subject.by_hand();
      ++books.waiting;
      while (!books.over()) {
        ++counts.trips;
        if (!raw->is_held(wanted)) return;
        test::let_pass(asking_every);
      }
    });
  }
  watch_this_process(books, counts);
}

struct Length {
  Millis before, watched;
};

struct Cost {
  double statements = 0;  // per second, of all: calls of the driver
  double served = 0;      // per second: what the server says; 0 if there is none
  double cpu_share = 0;   // of one core
};

// Somebody holds the key; `processes` of them run `wait` meanwhile.
template <class Wait>
Cost watch(Subject& subject, int processes, int waiters, Length length, Wait wait) {
  const Shared<Books> books;
  std::vector<Child> children;
  for (int i = 1; i <= processes; ++i) {
    children.emplace_back([&] { wait(subject, waiters / processes, *books); });
    // One after the other: who opens a store has only so long for it, and opening is not what is measured.
    if (!test::await([&] { return books->waiting >= waiters / processes * i; }))
      throw std::runtime_error("not all of them wait");
  }
  // Queueing and falling asleep is not waiting yet.
  const Instant start = clamped_add(BootClock::now(), length.before),
                end = clamped_add(start, length.watched);
  books->end = end.time_since_epoch().count();
  books->start = start.time_since_epoch().count();
  Wakeup().wait(start);
  const double before = subject.served().value_or(0);
  Wakeup().wait(end);
  const double served = subject.served().value_or(0) - before;
  for (Child& child : children) child.join();
  const double seconds = std::chrono::duration<double>(length.watched).count();
  return {.statements = static_cast<double>(std::max(books->statements.load(), 1L)) / seconds,
          .served = std::max(served, 1.0) / seconds,
          .cpu_share = static_cast<double>(std::max(books->cpu_us.load(), 1L)) / 1e4 / seconds};
}

}  // namespace

Report run_waiting(const Effort& effort, Subject& subject) {
  const int waiters = effort.quick ? 10 : subject.crowd();
  const Length length = effort.quick ? Length{50ms, 200ms} : Length{std::max(1000ms, subject.lag()), 4s};

  const Shared<std::atomic<bool>> held;
  Child owner([&] {
    const Lease lease = open(subject.url()).acquire(wanted, {.ttl = 30s});
    *held = true;
    test::await([] { return false; }, 1h);  // until killed
  });
  test::await([&] { return held->load(); });

  Series cpu[3], served[3];
  const auto measured = [&](std::size_t which, int processes, auto wait) {
    return [&, which, processes, wait] {
      const Cost cost = watch(subject, processes, waiters, length, wait);
      cpu[which].push_back(cost.cpu_share);
      served[which].push_back(cost.served);
      return cost.statements;
    };
  };
  const std::string many = std::to_string(waiters);
  std::vector<Contestant> contestants = {
      {many + " threads of one client wait", measured(0, 1, wait_in_threads)},
      {many + " processes wait", measured(1, waiters, wait_in_threads)},
      {many + " threads ask every 100 ms", measured(2, 1, ask_in_threads)}};
  if (subject.served()) {
    // What a server has to do for each of them: of one alone, and of those who stand further back.
    const Length longer = {length.before, effort.quick ? 200ms : 10s};
    for (const int few : {1, 20}) {
      contestants.push_back({"each of " + std::to_string(few) + " that wait", [&, few, longer] {
                               return watch(subject, few, few, longer, wait_in_threads).served / few;
                             }});
    }
  }
  const auto found = take_turns(effort, effort.quick ? 1 : 3, contestants);
  Report report;
  Named each_asks{"each that asks every 100 ms", served[2]};
  for (double& rate : each_asks.series) rate /= waiters;
  for (std::size_t i = 3; i < found.size(); ++i)
    report.figures.push_back(compare(found[i], each_asks, "served/s", Better::less));
  for (const std::size_t i : {0U, 1U}) {
    const auto against_asking = [&](const Series(&series)[3], const char* unit) {
      report.figures.push_back(
          compare({found[i].name, series[i]}, {found[2].name, series[2]}, unit, Better::less));
    };
    report.figures.push_back(compare(found[i], found[2], "calls/s", Better::less));
    if (subject.served()) against_asking(served, "served/s");
    against_asking(cpu, "% CPU");
  }
  report.charts.emplace_back(
      "waiting", BarChart{.title = "Waiting for one key",
                          .note = subject.naming().store +
                                  ": CPU of all waiters together while nothing happens; whiskers: quartiles",
                          .axis = "% of one core, logarithmic",
                          .bars = {{found[0].name, spread_of(cpu[0]), Role::ours},
                                   {found[1].name, spread_of(cpu[1]), Role::ours},
                                   {found[2].name, spread_of(cpu[2]), Role::reference}},
                          .log = true});
  return report;
}

}  // namespace holdfast::bench
