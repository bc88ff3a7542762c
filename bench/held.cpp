// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "bench/workload.h"
#include "holdfast/holdfast.h"

namespace holdfast::bench {
namespace {

template <class Check>
double nanos_of(int checks, Check check) {
  const Instant start = BootClock::now();
  long sum = 0;
  for (int i = 0; i < checks; ++i) sum += check() ? 1 : 0;
  if (sum != checks) throw std::runtime_error("held: the lease was lost");
  return seconds_since(start) / checks * 1e9;
}

}  // namespace

Report run_held(const Effort& effort) {
  Client client = open("memory:");
  const Lease lease = client.acquire("key");
  const std::stop_token stop = lease.stop_token();
  const Instant start = BootClock::now();
  const int checks = effort.quick ? 20'000 : 1'000'000;
  const Contestant contestants[] = {
      {"held()", [&] { return nanos_of(checks, [&] { return lease.held(); }); }},
      {"one read of the clock", [&] { return nanos_of(checks, [&] { return BootClock::now() > start; }); }},
      {"stop_token().stop_requested()",
       [&] { return nanos_of(checks, [&] { return !stop.stop_requested(); }); }},
  };
  const auto found = take_turns(effort, effort.rounds(), contestants);
  BarChart chart{.title = "Checking whether a lease is held",
                 .note = "no I/O: the deadline against the clock; whiskers: quartiles of the rounds",
                 .axis = "nanoseconds",
                 .bars = {{found[0].name, spread_of(found[0].series), Role::ours},
                          {found[2].name, spread_of(found[2].series), Role::ours},
                          {found[1].name, spread_of(found[1].series), Role::reference}}};
  return {.figures = {compare(found[0], found[1], "ns", Better::less),
                      compare(found[2], found[1], "ns", Better::less)},
          .charts = {{"held", std::move(chart)}}};
}

}  // namespace holdfast::bench
