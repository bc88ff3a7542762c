// SPDX-License-Identifier: Apache-2.0
// keep_many.cpp - a hundred thousand leases kept by one client: how near they come to their end.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/wakeup.h"
#include "bench/child.h"
#include "bench/usage.h"
#include "bench/workload.h"
#include "holdfast/holdfast.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

constexpr int threads = 64;  // that acquire them
constexpr Millis check_again{250};

struct Crowd {
  int leases;
  Millis ttl;
  Millis watched;
};

struct Kept {
  double lost = 0, in_jeopardy = 0;
  double least_left = 0;  // of any lease, at any time, in milliseconds
  double renewals = 0;    // per second
  double cpu_share = 0;   // of one core
  double seconds = 0;     // until all were acquired
};

// In a process of its own, so that what it uses is its own.
Kept keep_many(const std::string& store, const Crowd& crowd) {
  const Shared<Kept> kept;
  Child child([&] {
    std::atomic<long> in_jeopardy = 0, renewals = 0;
    Client client = open(store);
    std::vector<Lease> leases(static_cast<std::size_t>(crowd.leases));
    const Instant start = BootClock::now();
    {
      std::vector<std::jthread> acquiring;
      for (std::size_t first = 0; first < threads; ++first) {
        acquiring.emplace_back([&, first] {
          for (std::size_t i = first; i < leases.size(); i += threads) {
            leases[i] = client.acquire("many-" + std::to_string(i), {.ttl = crowd.ttl, .wait = 1min});
            leases[i].on_jeopardy([&] { ++in_jeopardy; });
            leases[i].on_renewed([&](Instant) { ++renewals; });
          }
        });
      }
    }
    kept->seconds = seconds_since(start);
    const Instant end = BootClock::now() + crowd.watched;
    const double cpu = cpu_seconds();
    const long before = renewals;
    Millis least = crowd.ttl;
    Wakeup pause;
    while (BootClock::now() < end) {
      for (const Lease& lease : leases) least = std::min(least, lease.remaining());
      pause.wait(BootClock::now() + check_again);
    }
    const double watched = std::chrono::duration<double>(crowd.watched).count();
    kept->lost = static_cast<double>(
        std::count_if(leases.begin(), leases.end(), [](const Lease& lease) { return !lease.held(); }));
    kept->in_jeopardy = static_cast<double>(in_jeopardy);
    kept->least_left = static_cast<double>(least.count());
    kept->renewals = static_cast<double>(renewals - before) / watched;
    kept->cpu_share = 100 * (cpu_seconds() - cpu) / watched;
    _exit(0);  // releasing them one by one is not what is measured
  });
  child.join();
  return *kept;
}

}  // namespace

Report run_keep_many(const Effort& effort, Subject& subject) {
  const Crowd crowd = effort.quick ? Crowd{500, 3s, 3s} : Crowd{100'000, 30s, 90s};
  const Kept kept = keep_many(subject.url(), crowd);
  const double all = crowd.leases, ttl = static_cast<double>(crowd.ttl.count());
  const std::string what = std::to_string(crowd.leases) + " leases";
  const Named acquired{"acquired", {all}};
  const Named least{"the least that any had left", {std::max(kept.least_left, 1.0)}};
  BarChart chart{.title = "How near a kept lease comes to its end",
                 .note = what + " of one client, renewed from a third of their ttl on",
                 .axis = "milliseconds",
                 .bars = {{least.name, spread_of(least.series), Role::ours},
                          {"in jeopardy from here", spread_of({ttl / 3}), Role::reference},
                          {"the ttl", spread_of({ttl}), Role::reference}}};
  return {
      .figures = {compare({what + ": held to the end", {std::max(all - kept.lost, 1.0)}}, acquired, "leases",
                          Better::more),
                  compare({what + ": never in jeopardy", {std::max(all - kept.in_jeopardy, 1.0)}}, acquired,
                          "leases", Better::more),
                  compare({what + ": " + least.name, least.series}, {"its ttl", {ttl}}, "ms", Better::more),
                  compare({what + ": renewals", {std::max(kept.renewals, 1.0)}},
                          {"one every third of the ttl", {all / (ttl / 3000)}}, "/s", Better::less),
                  compare({what + ": CPU, of one core", {std::max(kept.cpu_share, 0.01)}},
                          {"one core", {100}}, "%", Better::less),
                  compare({what + ": acquired", {all / kept.seconds}},
                          {"renewed", {std::max(kept.renewals, 1.0)}}, "/s", Better::more)},
      .charts = {{"keep-many", std::move(chart)}}};
}

}  // namespace holdfast::bench
