// SPDX-License-Identifier: Apache-2.0
// threads.cpp - many threads on one client: what can be won is won by batching.
#include <memory>

#include "bench/together.h"
#include "bench/workload.h"
#include "holdfast/holdfast.h"
#include "stores/decorators/counted.h"
#include "tests/support/databases.h"

namespace holdfast::bench {
namespace {

constexpr int many = 64;

LineChart chart_of(const Naming& naming, const std::vector<int>& sizes, const std::vector<Named>& found) {
  LineChart chart{.title = "Threads in one process, a key each",
                  .note = "acquire + release, " + naming.store + "; bands: quartiles of the rounds",
                  .x_axis = "threads",
                  .y_axis = "pairs/s",
                  .lines = {{"one shared Client", Role::ours, {}},
                            {"a raw connection each, by hand", Role::reference, {}},
                            {naming.batch + ", one thread", Role::floor, {}}}};
  const Spread batch = spread_of(found.back().series);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    chart.lines[0].points.emplace_back(sizes[i], spread_of(found[2 * i].series));
    chart.lines[1].points.emplace_back(sizes[i], spread_of(found[2 * i + 1].series));
    chart.lines[2].points.emplace_back(sizes[i], batch);
  }
  return chart;
}

}  // namespace

Report run_threads(const Effort& effort, Subject& subject) {
  Counts counts;
  Client client(
      test::wrapped(try_store(subject.url()).value(), [&](std::unique_ptr<StoreConnection> connection) {
        return std::make_unique<Counted>(std::move(connection), counts);
      }));
  std::vector<std::unique_ptr<ByHand>> raw;
  std::vector<std::string> keys, raw_keys;
  for (int i = 0; i < many; ++i) {
    keys.push_back("threads-" + std::to_string(i));
    raw_keys.push_back("threads-raw-" + std::to_string(i));
    raw.push_back(subject.by_hand());
  }
  const auto shared = [&](int i) { client.acquire(keys[static_cast<std::size_t>(i)]).release(); };
  const auto by_hand = [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    raw[at]->acquire_and_release(raw_keys[at], "somebody");
  };

  Series batch, alone;
  const std::vector<int> sizes = effort.quick ? std::vector{1, many} : std::vector{1, 2, 4, 8, 16, 32, many};
  std::vector<Contestant> contestants;
  for (const int size : sizes) {
    contestants.push_back(
        {std::to_string(size) + (size == 1 ? " thread" : " threads") + ", one Client", [&, size] {
           const auto trips = counts.trips.load(), requests = counts.requests.load();
           const double rate = rate_of_threads(size, effort.slice_seconds(), shared);
           Series* const kept = size == many ? &batch : size == 1 ? &alone : nullptr;
           if (kept != nullptr)
             kept->push_back(static_cast<double>(counts.requests - requests) /
                             static_cast<double>(counts.trips - trips));
           return rate;
         }});
    contestants.push_back({std::to_string(size) + (size == 1 ? " raw connection" : " raw connections"),
                           [&, size] { return rate_of_threads(size, effort.slice_seconds(), by_hand); }});
  }
  contestants.push_back({subject.naming().batch, [&] {
                           return many * rate_of(effort.slice_seconds(), [&] {
                                    raw.front()->acquire_and_release_all(raw_keys, "somebody");
                                  });
                         }});
  const auto found = take_turns(effort, effort.rounds(), contestants);
  const std::size_t last = found.size() - 3;
  const Named &one = found[0], &one_raw = found[1], &all = found[last], &all_raw = found[last + 1],
              &batched = found[last + 2];
  return {
      .figures = {compare(all, one, "pairs/s", Better::more), compare(all, all_raw, "pairs/s", Better::more),
                  compare(all, batched, "pairs/s", Better::more),
                  compare(all, one_raw, "pairs/s", Better::more),
                  compare({"requests that travel together, 64 threads", batch}, {"1 thread", alone},
                          "requests", Better::more)},
      .charts = {{"threads", chart_of(subject.naming(), sizes, found)}}};
}

}  // namespace holdfast::bench
