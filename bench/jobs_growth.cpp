// SPDX-License-Identifier: Apache-2.0
// jobs_growth.cpp - what one job costs when many are queued: a table for each size, measured in turns.
#include "bench/axis.h"
#include "bench/job_stock.h"
#include "bench/workload.h"
#include "holdfast/client.h"
#include "holdfast/spi/store.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

constexpr Millis patience = 60s;     // with a store that has no other way than to enqueue them
constexpr std::uint64_t seeds = 50;  // that are enqueued, and then copied

const std::string growing_queue = "bench";

// A lock table, and so many jobs beside it.
class Grown {
 public:
  Grown(Subject& subject, std::uint64_t count) : wanted_(count) {
    const std::string table = "grown_" + std::to_string(count);
    store_ = try_store(subject.url()).value()->in(table).value();
    store_->admin()->init(clamped_add(BootClock::now(), 30s)).value();
    size_ = enqueue_many(*store_, growing_queue, seeds, patience);
    if (subject.copy_jobs(table, count))
      size_ = count;
    else
      size_ += enqueue_many(*store_, growing_queue, count - size_, patience);
    hand_ = std::make_unique<JobHand>(*store_, growing_queue);
  }

  std::uint64_t size() const { return size_; }
  bool complete() const { return size_ == wanted_; }
  std::string name() const { return short_number(static_cast<double>(size_)) + " queued"; }

  // Claims and finishes one of them, and enqueues another, again and again; microseconds for each.
  double measure(double seconds, Series& enqueued) {
    double adding = 0, working = 0;
    int count = 0;
    for (; adding + working < seconds; ++count) {
      const Instant start = BootClock::now();
      hand_->enqueue();
      const Instant queued = BootClock::now();
      hand_->work();
      working += seconds_since(queued);
      adding += std::chrono::duration<double>(queued - start).count();
    }
    enqueued.push_back(1e6 * adding / count);
    return 1e6 * working / count;
  }

 private:
  const std::uint64_t wanted_;
  std::shared_ptr<Store> store_;
  std::uint64_t size_ = 0;
  std::unique_ptr<JobHand> hand_;
};

}  // namespace

Report run_jobs_growth(const Effort& effort, Subject& subject) {
  const std::vector<std::uint64_t> sizes = effort.quick
                                               ? std::vector<std::uint64_t>{100, 400}
                                               : std::vector<std::uint64_t>{1'000, 100'000, 1'000'000};
  Report report;
  std::vector<std::unique_ptr<Grown>> tables;
  for (const std::uint64_t size : sizes) {
    tables.push_back(std::make_unique<Grown>(subject, size));
    if (tables.back()->complete()) continue;
    report.notes.push_back("no more than " + std::to_string(tables.back()->size()) +
                           " jobs in a minute, of " + std::to_string(size));
    break;
  }

  std::vector<Series> enqueued(tables.size());
  std::vector<Contestant> contestants;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    contestants.push_back(
        {tables[i]->name(), [&, i] { return tables[i]->measure(effort.slice_seconds(), enqueued[i]); }});
  }
  const auto found = take_turns(effort, effort.quick ? 2 : 7, contestants);

  LineChart chart{.title = "One job when many are queued",
                  .note = subject.naming().store + ", one worker; bands: quartiles of the rounds",
                  .x_axis = "jobs queued, logarithmic",
                  .y_axis = "us",
                  .lines = {{"claim and finish", Role::ours, {}}, {"enqueue", Role::part_of_ours, {}}}};
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const auto size = static_cast<double>(tables[i]->size());
    chart.lines[0].points.emplace_back(size, spread_of(found[i].series));
    chart.lines[1].points.emplace_back(size, spread_of(enqueued[i]));
    if (i == 0) continue;
    report.figures.push_back(
        compare({"claim and finish, " + found[i].name, found[i].series}, found[0], "us", Better::less));
    report.figures.push_back(compare({"enqueue, " + found[i].name, enqueued[i]}, {found[0].name, enqueued[0]},
                                     "us", Better::less));
  }
  report.charts.emplace_back("jobs-growth", std::move(chart));
  return report;
}

}  // namespace holdfast::bench
