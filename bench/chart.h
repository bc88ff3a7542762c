// SPDX-License-Identifier: Apache-2.0
// chart.h - charts as SVG.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "bench/report.h"

namespace holdfast::bench {

// The text of an SVG file.
std::string draw(const Chart& chart);

// All figures on one page: how many times as much as the reference each costs.
BarChart overview(const std::vector<std::pair<std::string, Report>>& reports);

}  // namespace holdfast::bench
