// SPDX-License-Identifier: Apache-2.0
// jobs.cpp - what a job costs from its enqueueing to its end, beside as many writes by hand.
#include <algorithm>
#include <cmath>

#include "bench/job_stock.h"
#include "bench/together.h"
#include "bench/workload.h"
#include "holdfast/client.h"
#include "holdfast/spi/store.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

constexpr int many = 16;

const std::string queue = "bench", empty_queue = "bench-empty";

// Workers that find enough to do for as long as they are measured.
class Crew {
 public:
  Crew(Store& store, int size) : store_(store) {
    for (int i = 0; i < size; ++i) hands_.push_back(std::make_unique<JobHand>(store, queue));
  }

  double rate(double seconds, std::atomic<std::int64_t>& stock) {
    const auto wanted = std::max<std::int64_t>(least, std::llround(2 * last_rate_ * seconds));
    if (stock < wanted)
      stock += static_cast<std::int64_t>(
          enqueue_many(store_, queue, static_cast<std::uint64_t>(wanted - stock), patience));
    std::atomic<std::int64_t> done = 0;
    std::atomic<bool> ran_out = false;
    const Instant start = BootClock::now();
    std::atomic<double> passed = seconds;
    rate_of_threads(static_cast<int>(hands_.size()), seconds, [&](int i) {
      if (ran_out) return;
      if (hands_[static_cast<std::size_t>(i)]->work())
        ++done;
      else if (!ran_out.exchange(true))
        passed = seconds_since(start);
    });
    stock -= done;
    if (!ran_out) passed = seconds_since(start);
    return last_rate_ = static_cast<double>(done) / passed;
  }

 private:
  static constexpr std::int64_t least = 64;
  static constexpr Millis patience = 10s;

  Store& store_;
  std::vector<std::unique_ptr<JobHand>> hands_;
  double last_rate_ = 0;
};

}  // namespace

Report run_jobs(const Effort& effort, Subject& subject) {
  const auto store = try_store(subject.url()).value();
  JobHand hand(*store, queue), idler(*store, empty_queue);
  Crew one(*store, 1), all(*store, many);
  std::atomic<std::int64_t> stock = 0;
  std::vector<std::unique_ptr<ByHand>> raw;
  std::vector<std::string> keys;
  for (int i = 0; i < many; ++i) {
    raw.push_back(subject.by_hand_durably());
    keys.push_back("jobs-raw-" + std::to_string(i));
  }
  const double slice = effort.slice_seconds();
  const auto by_hand = [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    raw[at]->acquire_and_release(keys[at], "somebody");
  };

  const std::vector<Contestant> contestants = {
      {"enqueue", [&] { return rate_of(slice, [&] { hand.enqueue(), ++stock; }); }},
      {"claim and finish, 1 worker", [&] { return one.rate(slice, stock); }},
      {"claim and finish, 16 workers", [&] { return all.rate(slice, stock); }},
      {"a poll that finds nothing", [&] { return rate_of(slice, [&] { idler.work(); }); }},
      {"two writes by hand", [&] { return rate_of(slice, [&] { by_hand(0); }); }},
      {"two writes by hand, 16 connections", [&] { return rate_of_threads(many, slice, by_hand); }},
  };
  const auto found = take_turns(effort, effort.quick ? 2 : 5, contestants);
  const Named &enqueue = found[0], &alone = found[1], &together = found[2], &empty_poll = found[3],
              &pair = found[4], &pairs = found[5];
  Named single{"one write by hand", pair.series};
  for (double& rate : single.series) rate *= 2;

  BarChart chart{.title = "Jobs, from enqueue to done",
                 .note = "per second, " + subject.naming().store + "; whiskers: quartiles of the rounds",
                 .axis = "per second",
                 .bars = {{enqueue.name, spread_of(enqueue.series), Role::ours},
                          {alone.name, spread_of(alone.series), Role::ours},
                          {together.name, spread_of(together.series), Role::ours},
                          {empty_poll.name, spread_of(empty_poll.series), Role::part_of_ours},
                          {single.name, spread_of(single.series), Role::reference},
                          {pair.name, spread_of(pair.series), Role::reference},
                          {pairs.name, spread_of(pairs.series), Role::reference}}};
  return {.figures = {compare(enqueue, single, "jobs/s", Better::more),
                      compare(alone, pair, "jobs/s", Better::more),
                      compare(together, alone, "jobs/s", Better::more),
                      compare(together, pairs, "jobs/s", Better::more),
                      compare(empty_poll, single, "polls/s", Better::more)},
          .charts = {{"jobs", std::move(chart)}}};
}

}  // namespace holdfast::bench
