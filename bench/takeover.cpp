// SPDX-License-Identifier: Apache-2.0
// takeover.cpp - a holder is killed; how long until another one holds?  Its ttl is 30 s and plays no part.
#include <unistd.h>

#include "bench/child.h"
#include "bench/latency.h"
#include "bench/workload.h"
#include "holdfast/holdfast.h"
#include "tests/support/await.h"
#include "tests/support/scratch.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

struct Progress {
  std::atomic<bool> ready = false;
  std::atomic<Instant::rep> noticed = 0;

  void notice() { noticed = BootClock::now().time_since_epoch().count(); }
  Instant at() const { return Instant(Instant::duration(noticed.load())); }
};

void until_it_sleeps() { test::let_pass(5ms); }

double one_take_over(const std::string& path) {
  const std::string url = "sqlite:" + path;
  const Shared<Progress> progress;
  Child owner([&] {
    const Lease lease = open(url).acquire("key", {.ttl = 30s, .wait = 30s});
    progress->ready = true;
    pause();
  });
  test::await([&] { return progress->ready.load(); });
  Child waiter([&] {
    const Lease lease = open(url).acquire("key", {.wait = 60s});
    progress->notice();
  });
  {
    Admin by_hand(try_store(url).value());
    test::await([&] { return !by_hand.list({.what = Query::What::places, .prefix = "key"}).places.empty(); });
  }
  until_it_sleeps();
  const Instant killed = BootClock::now();
  owner.kill();
  waiter.join();
  return micros_between(killed, progress->at());
}

// The least that one process can notice of another's death.
double one_end_of_file() {
  const Shared<Progress> progress;
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe to be had");
  Child owner([&] {
    close(ends[0]);
    progress->ready = true;
    pause();
  });
  close(ends[1]);
  Child waiter([&] {
    char byte = 0;
    if (read(ends[0], &byte, 1) == 0) progress->notice();
  });
  test::await([&] { return progress->ready.load(); });
  until_it_sleeps();
  const Instant killed = BootClock::now();
  owner.kill();
  waiter.join();
  close(ends[0]);
  return micros_between(killed, progress->at());
}

template <class Once>
Series repeated(int times, Once once) {
  Series values;
  while (times-- > 0) values.push_back(once());
  return values;
}

}  // namespace

Report run_takeover(const Effort& effort) {
  const test::Scratch folder;
  const std::string path = folder.path() + "/ours.db";
  const int times = effort.quick ? 2 : 10;
  return compare_latencies(
      effort, effort.rounds(),
      {.name = "kill -9 to holding",
       .once = [&] { return repeated(times, [&] { return one_take_over(path); }); }},
      {{.name = "kill -9 to end of file", .once = [&] { return repeated(times, one_end_of_file); }}},
      {"takeover", "Take-over after kill -9",
       "from the kill to another process holding (or reading the end of a pipe)"});
}

}  // namespace holdfast::bench
