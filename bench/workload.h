// SPDX-License-Identifier: Apache-2.0
// workload.h - a thing that is measured, always beside what it is compared with, in the same run.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "bench/report.h"
#include "bench/subject.h"
#include "holdfast/clock.h"

namespace holdfast::bench {

struct Effort {
  bool quick = false;  // to see that it works, not how fast
  std::uint64_t seed = 0;
  std::uint64_t keys = 0;                // that list-many makes known; 0: a million, or few if it is quick
  std::string self = {}, holdfast = {};  // the paths of this program and of the command

  int rounds() const { return quick ? 3 : 9; }
  double slice_seconds() const { return quick ? 0.02 : 0.3; }
};

struct Workload {
  std::string_view name;
  std::string_view sentence;
  std::string_view store;  // that it is about
  Report (*run)(const Effort& effort, Subject& subject);
};

std::span<const Workload> all_workloads();

// What `--instructions` runs; not one of the above, since it takes valgrind.
extern const Workload instructions_workload;
// What that runs under valgrind: an operation so many times.
void repeat_operation(const std::string& operation, int times);

// One of those that are compared: `once` measures for about a slice and returns what it found, above 0.
struct Contestant {
  std::string name;
  std::function<double()> once;
};

// Lets all of them run once a round, in an order drawn from the seed, so that noise hits all alike.
std::vector<Named> take_turns(const Effort& effort, int rounds, std::span<const Contestant> contestants);

double seconds_since(Instant start);

// Calls `work` for about that long; calls per second.
template <class Work>
double rate_of(double seconds, Work work) {
  constexpr int between_looks = 16;  // at the clock
  const Instant start = BootClock::now();
  double passed = 0;
  long count = 0;
  while ((passed = seconds_since(start)) < seconds) {
    for (int i = 0; i < between_looks; ++i) work();
    count += between_looks;
  }
  return static_cast<double>(count) / passed;
}

// On any store.
Report run_pairs(const Effort& effort, Subject& subject);
Report run_threads(const Effort& effort, Subject& subject);
Report run_handover(const Effort& effort, Subject& subject);
Report run_waiting(const Effort& effort, Subject& subject);
Report run_jobs(const Effort& effort, Subject& subject);
Report run_jobs_growth(const Effort& effort, Subject& subject);
Report run_keep_many(const Effort& effort, Subject& subject);
Report run_list_many(const Effort& effort, Subject& subject);
// On SQLite.
Report run_processes(const Effort& effort);
Report run_contended(const Effort& effort);
Report run_takeover(const Effort& effort);
Report run_held(const Effort& effort);
Report run_command(const Effort& effort);
Report run_kept(const Effort& effort);
Report run_instructions(const Effort& effort);

}  // namespace holdfast::bench
