// SPDX-License-Identifier: Apache-2.0
#include "bench/latency.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace holdfast::bench {
namespace {

constexpr double slow_share = 0.9;  // of all that are faster than "the slowest in ten"

double at_share(Series sorted, double share) {
  std::sort(sorted.begin(), sorted.end());
  return sorted[std::min(sorted.size() - 1,
                         static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

Line distribution(const std::string& name, Role role, Series all) {
  std::sort(all.begin(), all.end());
  Line line{name, role, {}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double share = 100 * static_cast<double>(i + 1) / static_cast<double>(all.size());
    line.points.emplace_back(all[i], Spread{share, share, share, share, share});
  }
  return line;
}

}  // namespace

double micros_between(Instant from, Instant to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

Report compare_latencies(const Effort& effort, int rounds, const Sampled& ours,
                         const std::vector<Sampled>& references, const Caption& caption) {
  struct Collected {
    Series slow, all;
  };
  std::vector<Collected> collected(1 + references.size());
  const auto collect = [](const Sampled& sampled, Collected& into) {
    return [&] {
      const Series samples = sampled.once();
      if (samples.empty()) throw std::runtime_error(sampled.name + ": no sample was taken");
      into.all.insert(into.all.end(), samples.begin(), samples.end());
      into.slow.push_back(at_share(samples, slow_share));
      return spread_of(samples).median;
    };
  };
  std::vector<Contestant> contestants = {{ours.name + ", median", collect(ours, collected[0])}};
  for (std::size_t i = 0; i < references.size(); ++i)
    contestants.push_back({references[i].name, collect(references[i], collected[i + 1])});
  const auto found = take_turns(effort, rounds, contestants);

  LineChart chart{.title = caption.title,
                  .note = caption.note,
                  .x_axis = "microseconds, logarithmic",
                  .y_axis = "done by then, %",
                  .lines = {distribution(ours.name, Role::ours, collected[0].all)}};
  Report report;
  constexpr Role roles[] = {Role::reference, Role::floor, Role::part_of_ours};
  for (std::size_t i = 0; i < references.size(); ++i) {
    chart.lines.push_back(
        distribution(references[i].name, roles[i % std::size(roles)], collected[i + 1].all));
    report.figures.push_back(compare(found[0], found[i + 1], "us", Better::less));
  }
  report.figures.push_back(compare({ours.name + ", slowest tenth", collected[0].slow},
                                   {references[0].name + ", slowest tenth", collected[1].slow}, "us",
                                   Better::less));
  report.charts.emplace_back(caption.name, std::move(chart));
  return report;
}

}  // namespace holdfast::bench
