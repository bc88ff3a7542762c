// SPDX-License-Identifier: Apache-2.0
// latency.h - how long something takes, many times: the median of each round, and the distribution of all.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bench/workload.h"

namespace holdfast::bench {

struct Sampled {
  std::string name;
  std::function<Series()> once;  // several samples, in microseconds
};
struct Caption {
  std::string name, title, note;
};

// Figures: the median of each round against each reference's, and the slowest in ten against the first one's.
// Chart: how many were done within which time.
Report compare_latencies(const Effort& effort, int rounds, const Sampled& ours,
                         const std::vector<Sampled>& references, const Caption& caption);

double micros_between(Instant from, Instant to);

}  // namespace holdfast::bench
