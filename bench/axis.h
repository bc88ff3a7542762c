// SPDX-License-Identifier: Apache-2.0
// axis.h - from values to places on the paper, and the numbers written along it.
#pragma once
#include <string>
#include <vector>

namespace holdfast::bench {

// Places `from` .. `to` of the values at `start` .. `end` of the paper.
struct Axis {
  double from = 0, to = 1;
  double start = 0, end = 1;
  bool log = false;

  double at(double value) const;
  std::vector<double> ticks() const;
};

// Round ends around all values.  Linear axes begin at 0; logarithmic ones REQUIRE values above 0.
Axis axis_around(const std::vector<double>& values, bool log);

// At most four digits: "0.05", "12.3", "1.2k", "30M".
std::string short_number(double value);

}  // namespace holdfast::bench
