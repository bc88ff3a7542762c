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

Report compare_latencies(const Effort& effort, int rounds, const Sampled& ours, const Sampled& reference,
                         const Caption& caption) {
  struct Collected {
    Series slow, all;
  };
  Collected us, them;
  const auto collect = [](const Sampled& sampled, Collected& into) {
    return [&] {
      const Series samples = sampled.once();
      if (samples.empty()) throw std::runtime_error(sampled.name + ": no sample was taken");
      into.all.insert(into.all.end(), samples.begin(), samples.end());
      into.slow.push_back(at_share(samples, slow_share));
      return spread_of(samples).median;
    };
  };
  const Contestant contestants[] = {{ours.name + ", median", collect(ours, us)},
                                    {reference.name, collect(reference, them)}};
  const auto found = take_turns(effort, rounds, contestants);
  LineChart chart{.title = caption.title,
                  .note = caption.note,
                  .x_axis = "microseconds, logarithmic",
                  .y_axis = "done by then, %",
                  .lines = {distribution(ours.name, Role::ours, us.all),
                            distribution(reference.name, Role::reference, them.all)}};
  return {.figures = {compare(found[0], found[1], "us", Better::less),
                      compare({ours.name + ", slowest tenth", us.slow},
                              {reference.name + ", slowest tenth", them.slow}, "us", Better::less)},
          .charts = {{caption.name, std::move(chart)}}};
}

}  // namespace holdfast::bench
