// SPDX-License-Identifier: Apache-2.0
// report.h - what a workload has found: figures for the table, charts for the eye.
#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bench/spread.h"

namespace holdfast::bench {

enum class Better { more, less };

// One line of the table.  Machines are noisy: the ratio is what counts, the rest is for orientation.
struct Figure {
  std::string what;     // ours
  std::string against;  // what it is compared with
  std::string unit;     // of value and reference: "pairs/s", "us"
  Better better = Better::more;
  Spread value, reference;
  Spread ratio;  // value / reference, taken round by round

  // How many times as long, or as much of whatever is spent, as the reference: 1 is equal, less is better.
  Spread cost() const;
};

struct Named {
  std::string name;
  Series series;
};
Figure compare(const Named& ours, const Named& reference, std::string unit, Better better);

// Whose measurement it is: decides the colour.
enum class Role { ours, part_of_ours, reference, floor };

struct Bar {
  std::string label;
  Spread value;
  Role role = Role::ours;
};
struct BarChart {
  std::string title, note, axis;  // axis: what the numbers are, with their unit
  std::vector<Bar> bars;
  bool log = false;  // a dot on a logarithmic axis instead of a bar from zero
  double mark = 0;   // a line across all bars, if not 0
  // What the colours mean, if not what Role says.
  std::vector<std::pair<Role, std::string>> legend = {};
};

struct Line {
  std::string label;
  Role role = Role::ours;
  std::vector<std::pair<double, Spread>> points;
};
struct LineChart {
  std::string title, note, x_axis, y_axis;
  bool log_x = true, log_y = false;
  std::vector<Line> lines;
};

using Chart = std::variant<BarChart, LineChart>;

struct Report {
  std::vector<Figure> figures;
  std::vector<std::pair<std::string, Chart>> charts = {};  // by the name of the file
  std::vector<std::string> notes = {};                     // what could not be measured here, and why
};

}  // namespace holdfast::bench
