// SPDX-License-Identifier: Apache-2.0
// workload.h - a thing that is measured, always beside what it is compared with, in the same run.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/clock.h"

namespace holdfast::bench {

// One line of the table.  Machines are noisy: the ratio is what counts, the rest is for orientation.
struct Figure {
  std::string what;      // ours
  std::string against;   // what it is compared with; empty: nothing
  double value = 0;      // of ours, in `unit`
  double reference = 0;  // of the other
  std::string unit;      // "pairs/s", "us"
  bool more_is_better = true;

  double ratio() const { return reference == 0 ? 0 : value / reference; }
};

struct Workload {
  std::string_view name;
  std::string_view sentence;
  std::vector<Figure> (*run)();
};

std::vector<Figure> run_pairs();
std::vector<Figure> run_threads();
std::vector<Figure> run_take_over();
std::vector<Figure> run_hand_over();
std::vector<Figure> run_command();
std::vector<Figure> run_held();

double median(std::vector<double> values);
double seconds_since(Instant start);

}  // namespace holdfast::bench
