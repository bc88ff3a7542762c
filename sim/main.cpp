// SPDX-License-Identifier: Apache-2.0
// holdfast_sim: runs seeds, and says what they came to.
#include <cstdio>
#include <string>

#include "base/random.h"
#include "sim/arguments.h"
#include "sim/plan.h"
#include "sim/world.h"

namespace holdfast::sim {
namespace {

struct Totals {
  std::uint64_t seeds = 0, events = 0;
  Tally<Fault> faults;
  Tally<Sometimes> seen;

  void add(const Outcome& outcome) {
    ++seeds;
    events += outcome.events;
    faults += outcome.faults;
    seen += outcome.seen;
  }
};

template <class E>
void print(const char* title, const Tally<E>& tally) {
  std::printf("%s\n", title);
  for (const E what : all<E>) {
    std::printf("  %12llu  %s\n", static_cast<unsigned long long>(tally[what]), to_string(what));
  }
}

void print(const Totals& totals) {
  print("faults:", totals.faults);
  print("situations:", totals.seen);
}

void print_failure(std::uint64_t seed, const Arguments& arguments, const Outcome& outcome) {
  std::printf("seed %llu broke a promise: %s\n  %s\nthe last events:\n",
              static_cast<unsigned long long>(seed), outcome.violation->property,
              outcome.violation->detail.c_str());
  for (const Event& event : outcome.last) std::printf("%s\n", to_string(event).c_str());
  const std::string mutant =
      arguments.mutant == Mutant::none ? "" : std::string(" --mutant ") + to_string(arguments.mutant);
  std::printf("to see all events, run: holdfast_sim %llu --trace%s\n", static_cast<unsigned long long>(seed),
              mutant.c_str());
  if (!to_string(arguments.less).empty()) return;
  std::fflush(stdout);
  const Less less = shrink(seed, arguments.mutant, outcome.violation->property);
  if (const std::string words = to_string(less); !words.empty())
    std::printf("the same with less: holdfast_sim %llu --trace%s --less %s\n",
                static_cast<unsigned long long>(seed), mutant.c_str(), words.c_str());
}

int run_one(const Arguments& arguments) {
  std::printf("seed %llu: %s", static_cast<unsigned long long>(arguments.from),
              to_string(arguments.less.of(plan_for(arguments.from))).c_str());
  const Outcome outcome = run(
      arguments.from, {.mutant = arguments.mutant, .print_events = arguments.trace, .less = arguments.less});
  Totals totals;
  totals.add(outcome);
  print(totals);
  std::printf("%llu events, hash %016llx\n", static_cast<unsigned long long>(outcome.events),
              static_cast<unsigned long long>(outcome.hash));
  if (!outcome.violation) return 0;
  print_failure(arguments.from, arguments, outcome);
  return 1;
}

int run_many(const Arguments& arguments) {
  std::printf("%llu seeds from %llu\n", static_cast<unsigned long long>(arguments.seeds),
              static_cast<unsigned long long>(arguments.from));
  std::fflush(stdout);
  const Instant start = BootClock::now();
  Totals totals;
  for (std::uint64_t i = 0; i < arguments.seeds; ++i) {
    const std::uint64_t seed = arguments.from + i;
    const Outcome outcome = run(seed, {.mutant = arguments.mutant, .less = arguments.less});
    totals.add(outcome);
    if (!outcome.violation) continue;
    std::printf("seed number %llu failed\n", static_cast<unsigned long long>(totals.seeds));
    print_failure(seed, arguments, outcome);
    return 1;
  }
  const double seconds = std::chrono::duration<double>(BootClock::now() - start).count();
  print(totals);
  std::printf("%llu seeds, %llu events, %.0f seeds/s, no promise broken\n",
              static_cast<unsigned long long>(totals.seeds), static_cast<unsigned long long>(totals.events),
              static_cast<double>(totals.seeds) / seconds);
  return 0;
}

}  // namespace
}  // namespace holdfast::sim

int main(int argc, char** argv) {
  using namespace holdfast::sim;
  Arguments arguments;
  arguments.from = holdfast::random_bits() >> 32;  // unless given
  if (const std::string wrong = parse(argc, argv, arguments); !wrong.empty()) {
    std::fprintf(stderr, "holdfast_sim: %s\n", wrong.c_str());
    return 64;
  }
  return arguments.seeds == 0 ? run_one(arguments) : run_many(arguments);
}
