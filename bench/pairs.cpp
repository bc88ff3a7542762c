// SPDX-License-Identifier: Apache-2.0
// pairs.cpp - what each layer adds to the statements: the client, the store alone, the statements by hand.
#include "base/process.h"
#include "base/random.h"
#include "bench/seam.h"
#include "bench/workload.h"
#include "holdfast/holdfast.h"

namespace holdfast::bench {

Report run_pairs(const Effort& effort, Subject& subject) {
  Client client = open(subject.url());
  Client in_memory = open("memory:");
  Seam seam(subject.url());
  const auto by_hand = subject.by_hand();
  const std::string owner = owner_name(random_hex(32));
  Report report;
  const std::vector<Rival> rivals = subject.rivals(report.notes);

  const auto rate = [&](auto work) { return [&, work] { return rate_of(effort.slice_seconds(), work); }; };
  std::vector<Contestant> contestants = {
      {"Client", rate([&] { client.acquire("client").release(); })},
      {"Store alone", rate([&] { seam.acquire_and_release("store"); })},
      {subject.naming().by_hand, rate([&] { by_hand->acquire_and_release("by-hand", owner); })},
      {"Client on memory:", rate([&] { in_memory.acquire("key").release(); })},
  };
  const std::size_t first_rival = contestants.size();
  for (const Rival& rival : rivals)
    contestants.push_back({rival.name, [&] { return rival.rate(effort.slice_seconds()); }});
  const auto found = take_turns(effort, effort.rounds(), contestants);
  const Named &whole = found[0], &store = found[1], &raw = found[2], &memory = found[3];

  BarChart chart{
      .title = "Acquire and release, one thread",
      .note = "pairs per second, " + subject.naming().store + "; whiskers: quartiles of the rounds",
      .axis = "pairs/s",
      .bars = {{whole.name, spread_of(whole.series), Role::ours},
               {store.name, spread_of(store.series), Role::part_of_ours},
               {raw.name, spread_of(raw.series), Role::reference}}};
  report.figures = {compare(whole, raw, "pairs/s", Better::more),
                    compare(store, raw, "pairs/s", Better::more)};
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    const Named& rival = found[first_rival + i];
    report.figures.push_back(compare(whole, rival, "pairs/s", Better::more));
    chart.bars.push_back({rival.name, spread_of(rival.series), rivals[i].role});
  }
  report.figures.push_back(compare(whole, memory, "pairs/s", Better::more));
  report.charts.emplace_back("pairs", std::move(chart));
  return report;
}

}  // namespace holdfast::bench
