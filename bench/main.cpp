// SPDX-License-Identifier: Apache-2.0
// holdfast_bench [WORKLOAD...]: prints a table; without arguments all of it.
#include <algorithm>
#include <cstdio>
#include <string>

#include "bench/workload.h"

namespace holdfast::bench {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

double seconds_since(Instant start) {
  return std::chrono::duration<double>(BootClock::now() - start).count();
}

}  // namespace holdfast::bench

namespace {

using namespace holdfast::bench;

constexpr Workload workloads[] = {
    {"pairs", "acquire and release on one thread, against the same statements by hand on the SQLite API",
     run_pairs},
    {"threads", "64 threads that share a client, against one thread", run_threads},
    {"handover", "from a release in one process to holding in another that waits, against a bare FIFO round",
     run_hand_over},
    {"takeover", "from kill -9 of a holder to holding in a process that waits; the ttl is 30 s",
     run_take_over},
    {"command", "`holdfast run k -- true` against `flock f true` and against `true`", run_command},
    {"held", "one look at held(), against one read of the clock", run_held},
};

void print(const Figure& f) {
  std::printf("  %-44s %12.4g %-8s", f.what.c_str(), f.value, f.unit.c_str());
  if (!f.against.empty())
    std::printf("  %-40s %12.4g   ratio %.2f", f.against.c_str(), f.reference, f.ratio());
  std::printf("\n");
}

int usage(const std::string& word) {
  std::fprintf(stderr, "holdfast_bench: \"%s\" is not a workload; known are:\n", word.c_str());
  for (const Workload& w : workloads) {
    std::fprintf(stderr, "  %-10s %s\n", std::string(w.name).c_str(), std::string(w.sentence).c_str());
  }
  return 64;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  for (const std::string& word : wanted) {
    if (std::none_of(std::begin(workloads), std::end(workloads),
                     [&](const Workload& w) { return w.name == word; }))
      return usage(word);
  }
  for (const Workload& w : workloads) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), w.name) == wanted.end()) continue;
    std::printf("%s: %s\n", std::string(w.name).c_str(), std::string(w.sentence).c_str());
    for (const Figure& f : w.run()) print(f);
    std::fflush(stdout);
  }
}
