// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

namespace holdfast::bench {

Spread Figure::cost() const {
  if (better == Better::less) return ratio;
  return {1 / ratio.median, 1 / ratio.high, 1 / ratio.low, 1 / ratio.most, 1 / ratio.least};
}

Figure compare(const Named& ours, const Named& reference, std::string unit, Better better) {
  return {.what = ours.name,
          .against = reference.name,
          .unit = std::move(unit),
          .better = better,
          .value = spread_of(ours.series),
          .reference = spread_of(reference.series),
          .ratio = spread_of(ratios(ours.series, reference.series))};
}

}  // namespace holdfast::bench
