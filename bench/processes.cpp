// SPDX-License-Identifier: Apache-2.0
// processes.cpp - several processes on one file: with a key each, and all on the same key.
#include <fcntl.h>
#include <sys/file.h>

#include "base/fd.h"
#include "bench/child.h"
#include "bench/raw_sqlite.h"
#include "bench/workload.h"
#include "holdfast/holdfast.h"
#include "tests/support/scratch.h"

namespace holdfast::bench {
namespace {

constexpr int several = 4;

// A connection that is new writes its log back sooner than one that goes on: that is not what is measured
// here.
constexpr int first_pairs = 600;

// Counts how often `turn` can be done.
template <class Turn>
void count(Race& race, int me, Turn turn) {
  race.line_up();
  while (race.running()) {
    turn();
    ++race.counts[me];
  }
}

Raced ours(const std::string& path, int runners, double seconds, bool one_key) {
  return race_processes(runners, seconds, [&](Race& race, int me) {
    Client client = open("sqlite:" + path);
    const std::string key = one_key ? "key" : "key" + std::to_string(me);
    const std::string own = "warm" + std::to_string(me);
    for (int i = 0; i < first_pairs; ++i) client.acquire(own).release();
    count(race, me, [&] { client.acquire(key, {.wait = forever}).release(); });
  });
}

Raced by_hand(const std::string& path, int runners, double seconds) {
  return race_processes(runners, seconds, [&](Race& race, int me) {
    RawSqlite raw(path, RawSqlite::How::same_statements);
    const std::string key = "key" + std::to_string(me);
    for (int i = 0; i < first_pairs; ++i) raw.acquire_and_release(key, "somebody");
    count(race, me, [&] { raw.acquire_and_release(key, "somebody"); });
  });
}

Raced flocked(const std::string& path, int runners, double seconds) {
  return race_processes(runners, seconds, [&](Race& race, int me) {
    const Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    count(race, me, [&] {
      flock(file.get(), LOCK_EX);
      flock(file.get(), LOCK_UN);
    });
  });
}

// How much of its fair share the process has that was served least often; never quite 0.
double least_share(const Raced& raced, int runners) {
  return (raced.least_per_second * runners + 1) / (raced.per_second + 1);
}

}  // namespace

Report run_processes(const Effort& effort) {
  const test::Scratch folder;
  const std::string path = folder.path() + "/ours.db";
  { const Client maker = open("sqlite:" + path); }
  const std::vector<int> sizes = effort.quick ? std::vector{1, several} : std::vector{1, 2, several, 8};
  Series our_least, their_least;
  const auto noted = [](const Raced& raced, int size, Series& least) {
    if (size == several) least.push_back(least_share(raced, size));
    return raced.per_second;
  };
  std::vector<Contestant> contestants;
  for (const int size : sizes) {
    const std::string processes = std::to_string(size) + (size == 1 ? " process" : " processes");
    contestants.push_back({processes, [&, size] {
                             return noted(ours(path, size, effort.slice_seconds(), false), size, our_least);
                           }});
    contestants.push_back({processes + " by hand", [&, size] {
                             return noted(by_hand(path, size, effort.slice_seconds()), size, their_least);
                           }});
  }
  const auto found = take_turns(effort, effort.rounds(), contestants);

  LineChart chart{
      .title = "Processes on one file, a key each",
      .note = "acquire + release, all together; bands: quartiles of the rounds",
      .x_axis = "processes",
      .y_axis = "pairs/s",
      .lines = {{"a Client each", Role::ours, {}}, {"a raw connection each, by hand", Role::reference, {}}}};
  Report report;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Named &us = found[2 * i], &them = found[2 * i + 1];
    chart.lines[0].points.emplace_back(sizes[i], spread_of(us.series));
    chart.lines[1].points.emplace_back(sizes[i], spread_of(them.series));
    if (sizes[i] >= several) report.figures.push_back(compare(us, them, "pairs/s", Better::more));
    if (sizes[i] == several) report.figures.push_back(compare(us, found[0], "pairs/s", Better::more));
  }
  report.figures.push_back(compare({"least served of 4, of its fair share", our_least},
                                   {"by hand", their_least}, "share", Better::more));
  report.charts.emplace_back("processes", std::move(chart));
  return report;
}

Report run_contended(const Effort& effort) {
  const test::Scratch folder;
  const std::string path = folder.path() + "/ours.db";
  Series our_least, their_least;  // who is served least often
  const Contestant contestants[] = {
      {"4 processes on one key",
       [&] {
         const Raced raced = ours(path, several, effort.slice_seconds(), true);
         our_least.push_back(least_share(raced, several));
         return raced.per_second;
       }},
      {"flock(2) on one file",
       [&] {
         const Raced raced = flocked(folder.path() + "/flock", several, effort.slice_seconds());
         their_least.push_back(least_share(raced, several));
         return raced.per_second;
       }},
  };
  const auto found = take_turns(effort, effort.rounds(), contestants);
  BarChart chart{
      .title = "Four processes that want one key all the time",
      .note = "ours serves in order, flock(2) whoever comes first; whiskers: quartiles of the rounds",
      .axis = "grants/s, logarithmic",
      .bars = {{"holdfast, fair", spread_of(found[0].series), Role::ours},
               {"flock(2)", spread_of(found[1].series), Role::reference}},
      .log = true};
  return {.figures = {compare(found[0], found[1], "grants/s", Better::more),
                      compare({"least served process, of its fair share", our_least},
                              {"flock(2): the same", their_least}, "share", Better::more)},
          .charts = {{"contended", std::move(chart)}}};
}

}  // namespace holdfast::bench
