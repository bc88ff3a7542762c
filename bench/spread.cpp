// SPDX-License-Identifier: Apache-2.0
#include "bench/spread.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>

namespace holdfast::bench {
namespace {

// Between two neighbours, as most programs do it.
double quantile(const Series& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const auto above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - static_cast<double>(below));
}

}  // namespace

Spread spread_of(Series values) {
  assert(!values.empty());
  std::sort(values.begin(), values.end());
  return {.median = quantile(values, 0.5),
          .low = quantile(values, 0.25),
          .high = quantile(values, 0.75),
          .least = values.front(),
          .most = values.back()};
}

Series ratios(const Series& values, const Series& references) {
  assert(values.size() == references.size());
  Series result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    assert(references[i] != 0);
    result.push_back(values[i] / references[i]);
  }
  return result;
}

}  // namespace holdfast::bench
