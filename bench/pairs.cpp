// SPDX-License-Identifier: Apache-2.0
// pairs.cpp - what each layer adds to the statements: the client, the store alone, the statements by hand.
#include "base/host.h"
#include "base/random.h"
#include "bench/raw_sqlite.h"
#include "bench/seam.h"
#include "bench/workload.h"
#include "holdfast/holdfast.h"
#include "tests/support/scratch.h"

namespace holdfast::bench {

Report run_pairs(const Effort& effort) {
  const test::Scratch folder;
  const std::string path = folder.path() + "/ours.db";
  Client client = open("sqlite:" + path);
  Client in_memory = open("memory:");
  Seam seam(path);
  RawSqlite same(path, RawSqlite::How::same_statements);
  RawSqlite returning(folder.path() + "/raw.db", RawSqlite::How::returning);
  const std::string holder = holder_name(random_hex(32));

  const auto rate = [&](auto work) { return [&, work] { return rate_of(effort.slice_seconds(), work); }; };
  const Contestant contestants[] = {
      {"Client", rate([&] { client.acquire("client").release(); })},
      {"Store alone", rate([&] { seam.acquire_and_release("store"); })},
      {"the same statements by hand", rate([&] { same.acquire_and_release("same", holder); })},
      {"by hand with RETURNING", rate([&] { returning.acquire_and_release("key", holder); })},
      {"Client on memory:", rate([&] { in_memory.acquire("key").release(); })},
  };
  const auto found = take_turns(effort, effort.rounds(), contestants);
  const Named &whole = found[0], &store = found[1], &by_hand = found[2], &with_returning = found[3],
              &memory = found[4];

  BarChart chart{.title = "Acquire and release, one thread",
                 .note = "pairs per second on one SQLite file; whiskers: quartiles of the rounds",
                 .axis = "pairs/s",
                 .bars = {}};
  chart.bars = {{whole.name, spread_of(whole.series), Role::ours},
                {store.name, spread_of(store.series), Role::part_of_ours},
                {by_hand.name, spread_of(by_hand.series), Role::reference},
                {with_returning.name, spread_of(with_returning.series), Role::reference}};
  return {.figures = {compare(whole, by_hand, "pairs/s", Better::more),
                      compare(store, by_hand, "pairs/s", Better::more),
                      compare(whole, with_returning, "pairs/s", Better::more),
                      compare(whole, memory, "pairs/s", Better::more)},
          .charts = {{"pairs", std::move(chart)}}};
}

}  // namespace holdfast::bench
