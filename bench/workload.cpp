// SPDX-License-Identifier: Apache-2.0
#include "bench/workload.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

namespace holdfast::bench {
namespace {

constexpr Workload workloads[] = {
    {"pairs", "acquire and release on one thread, layer by layer, against the same statements by hand",
     run_pairs},
    {"threads",
     "64 threads, a key each, that share a client, against one thread and against 64 raw connections",
     run_threads},
    {"processes", "4 processes, a key each, against 4 that run statements by hand", run_processes},
    {"contended", "4 processes that want one key all the time, against flock(2)", run_contended},
    {"handover",
     "from a release in one process to holding in another that waits, against a byte through a pipe",
     run_handover},
    {"takeover",
     "from kill -9 of a holder to holding in a process that waits, against an end of file on a pipe",
     run_takeover},
    {"held", "one look at held(), against one read of the clock", run_held},
    {"command", "`holdfast run k -- true` and its parts, against `flock f true` and against `true`",
     run_command},
    {"kept", "10,000 leases that one client keeps, against one lease and against renewing by hand", run_kept},
    {"waiting", "100 that wait for one key, as threads and as processes, against asking every 100 ms",
     run_waiting},
};

}  // namespace

constinit const Workload instructions_workload{
    "instructions", "what single operations cost, counted by callgrind: the same on every run",
    run_instructions};

std::span<const Workload> all_workloads() { return workloads; }

std::vector<Named> take_turns(const Effort& effort, int rounds, std::span<const Contestant> contestants) {
  std::vector<Named> results;
  for (const Contestant& c : contestants) results.push_back({c.name, {}});
  std::vector<std::size_t> order(contestants.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 dice(effort.seed);
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), dice);
    for (const std::size_t i : order) {
      const double value = contestants[i].once();
      // Nothing was counted: dividing by it would make nonsense of the whole record.
      if (!(value > 0)) throw std::runtime_error(contestants[i].name + ": nothing was measured");
      results[i].series.push_back(value);
    }
  }
  return results;
}

double seconds_since(Instant start) {
  return std::chrono::duration<double>(BootClock::now() - start).count();
}

}  // namespace holdfast::bench
