// SPDX-License-Identifier: Apache-2.0
// spread.h - many measurements of one thing, told in five numbers.
#pragma once
#include <vector>

namespace holdfast::bench {

using Series = std::vector<double>;  // one value for each round

struct Spread {
  double median = 0;
  double low = 0, high = 0;    // quartiles: half of the values lie between
  double least = 0, most = 0;  // all of them
};

// REQUIRES: at least one value.
Spread spread_of(Series values);

// Value by value.  REQUIRES: both are of the same length, and no divisor is 0.
Series ratios(const Series& values, const Series& references);

}  // namespace holdfast::bench
