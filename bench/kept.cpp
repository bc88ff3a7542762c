// SPDX-License-Identifier: Apache-2.0
// kept.cpp - many leases kept by one client: what they cost while nothing happens but renewals.
#include <algorithm>

#include "base/fd.h"
#include "base/wakeup.h"
#include "bench/child.h"
#include "bench/raw_sqlite.h"
#include "bench/usage.h"
#include "bench/workload.h"
#include "holdfast/holdfast.h"
#include "holdfast/sqlite.h"
#include "stores/decorators/counted.h"
#include "tests/support/await.h"
#include "tests/support/databases.h"
#include "tests/support/scratch.h"

namespace holdfast::bench {
namespace {

constexpr Millis check_kept_again{50};  // seldom: checking is measured too

struct Period {
  Millis ttl;   // renewed three times in it
  int periods;  // of renewal, that are watched
};

struct Cost {
  double cpu_share = 0;   // of one core
  double cpu_micros = 0;  // for each renewal
  double renewals = 0;    // per second
  double threads = 0, resident = 0;
};

std::string key_of(int i) { return "lease-" + std::to_string(i); }

// In a process of its own: memory that was once used is not given back.
Cost keep(const std::string& path, int leases, const Period& period) {
  const Shared<Cost> cost;
  Child child([&] {
    Counts counts;
    Client client(test::wrapped(sqlite::store({.path = path}).value(),
                                [&](std::unique_ptr<StoreConnection> connection) {
                                  return std::make_unique<Counted>(std::move(connection), counts);
                                }));
    std::vector<Lease> kept;
    for (int i = 0; i < leases; ++i)
      kept.push_back(client.acquire(key_of(i), {.ttl = period.ttl, .wait = forever}));
    const auto acquired = counts.requests.load();
    test::await([&] { return counts.requests >= acquired + static_cast<std::uint64_t>(leases); });
    const double cpu = cpu_seconds();
    const auto requests = counts.requests.load();
    const Instant start = BootClock::now();
    // To the end of a batch: two or three of them in the same time would be two results.
    const auto goal =
        requests + static_cast<std::uint64_t>(leases) * static_cast<std::uint64_t>(period.periods);
    Wakeup pause;
    pause.wait(start + period.ttl / 3 * period.periods - period.ttl / 6);
    while (counts.requests < goal && kept.front().held()) pause.wait(BootClock::now() + check_kept_again);
    const double seconds = seconds_since(start), used = cpu_seconds() - cpu;
    const auto renewals = static_cast<double>(counts.requests - requests);
    *cost = {.cpu_share = 100 * used / seconds,
             .cpu_micros = 1e6 * used / std::max(renewals, 1.0),
             .renewals = renewals / seconds,
             .threads = static_cast<double>(thread_count()),
             .resident = resident_bytes()};
    for (const Lease& lease : kept) lease.check();
  });
  child.join();
  return *cost;
}

// The same statement for the same rows, all in one transaction, as often.
Cost keep_by_hand(const std::string& path, int leases, const Period& period) {
  const Shared<Cost> cost;
  Child child([&] {
    RawSqlite raw(path, RawSqlite::How::same_statements);
    std::vector<RawSqlite::Held> held;
    for (int i = 0; i < leases; ++i) {
      const std::string key = "raw-" + std::to_string(i);
      held.push_back({key, raw.acquire(key, "somebody")});
    }
    const double cpu = cpu_seconds();
    const Instant start = BootClock::now();
    for (int i = 0; i < period.periods; ++i) {
      raw.renew(held, "somebody");
      test::let_pass(period.ttl / 3);
    }
    const double seconds = seconds_since(start), used = cpu_seconds() - cpu;
    const double renewals = period.periods * static_cast<double>(leases);
    *cost = {.cpu_share = 100 * used / seconds,
             .cpu_micros = 1e6 * used / renewals,
             .renewals = renewals / seconds,
             .threads = 1,
             .resident = resident_bytes()};
    for (const auto& h : held) raw.release(h.key, "somebody", h.token);
  });
  child.join();
  return *cost;
}

struct Found {
  Series cpu_share, cpu_micros, renewals, threads, resident;
};

Contestant contestant(std::string name, Found& into, std::function<Cost()> measure) {
  return {std::move(name), [&into, measure = std::move(measure)] {
            const Cost cost = measure();
            into.cpu_share.push_back(cost.cpu_share);
            into.cpu_micros.push_back(cost.cpu_micros);
            into.renewals.push_back(cost.renewals);
            into.threads.push_back(cost.threads);
            into.resident.push_back(cost.resident / 1e6);
            return cost.resident;
          }};
}

LineChart chart_of(const std::vector<int>& sizes, const std::vector<Found>& ours, const Period& period) {
  LineChart chart{
      .title = "What kept leases cost",
      .note =
          "renewed every " + std::to_string(period.ttl.count() / 3) + " ms by one client; bands: quartiles",
      .x_axis = "leases, logarithmic",
      .y_axis = "CPU (% of a core) and memory (MB), logarithmic",
      .log_y = true,
      .lines = {{"CPU, % of a core", Role::ours, {}}, {"resident memory, MB", Role::part_of_ours, {}}}};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    chart.lines[0].points.emplace_back(sizes[i], spread_of(ours[i].cpu_share));
    chart.lines[1].points.emplace_back(sizes[i], spread_of(ours[i].resident));
  }
  return chart;
}

}  // namespace

Report run_kept(const Effort& effort) {
  const test::Scratch folder;
  const std::string path = folder.path() + "/ours.db";
  { const Client maker = open("sqlite:" + path); }
  const Period period = effort.quick ? Period{Millis(3000), 1} : Period{Millis(6000), 3};
  const std::vector<int> sizes = effort.quick ? std::vector{1, 200} : std::vector{1, 100, 1'000, 10'000};
  const int most = sizes.back();

  std::vector<Found> ours(sizes.size());
  Found by_hand;
  std::vector<Contestant> contestants;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    contestants.push_back(contestant(std::to_string(sizes[i]) + " kept", ours[i],
                                     [&, n = sizes[i]] { return keep(path, n, period); }));
  }
  contestants.push_back(contestant("by hand", by_hand, [&] { return keep_by_hand(path, most, period); }));
  (void)take_turns(effort, effort.quick ? 1 : 3, contestants);

  const Found &one = ours.front(), &many = ours.back();
  const std::string what = std::to_string(most) + " leases";
  // What one more lease takes; in the file that is a row.
  Series per_lease, per_row;
  for (std::size_t i = 0; i < many.resident.size(); ++i) {
    per_lease.push_back(std::max(1.0, (many.resident[i] - one.resident[i]) * 1e6 / (most - 1)));
    per_row.push_back(file_bytes(path) / (2 * most));  // theirs are beside ours
  }
  return {
      .figures =
          {compare({what + ": CPU for each renewal", many.cpu_micros},
                   {"the same statements by hand", by_hand.cpu_micros}, "us", Better::less),
           compare({what + ": CPU for each renewal", many.cpu_micros}, {"one lease", one.cpu_micros}, "us",
                   Better::less),
           compare({what + ": CPU, of one core", many.cpu_share}, {"one lease", one.cpu_share}, "%",
                   Better::less),
           compare({what + ": renewals", many.renewals}, {"one lease", one.renewals}, "/s", Better::more),
           compare({what + ": threads", many.threads}, {"one lease", one.threads}, "threads", Better::less),
           compare({what + ": resident", many.resident}, {"one lease", one.resident}, "MB", Better::less),
           compare({what + ": memory for each", per_lease}, {"its row in the file", per_row}, "bytes",
                   Better::less)},
      .charts = {{"kept", chart_of(sizes, ours, period)}}};
}

}  // namespace holdfast::bench
