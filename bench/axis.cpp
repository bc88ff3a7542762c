// SPDX-License-Identifier: Apache-2.0
#include "bench/axis.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdio>

namespace holdfast::bench {
namespace {

constexpr double wanted_ticks = 5;

// The smallest of 1, 2, 5 times a power of ten that is not below.
double round_up(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

double round_down(double value) {
  const double power = std::pow(10, std::floor(std::log10(value) + 1e-9));
  for (const double factor : {5.0, 2.0}) {
    if (factor * power <= value * (1 + 1e-9)) return factor * power;
  }
  return power;
}

}  // namespace

double Axis::at(double value) const {
  const double share = log ? std::log(value / from) / std::log(to / from) : (value - from) / (to - from);
  return std::lerp(start, end, share);
}

std::vector<double> Axis::ticks() const {
  std::vector<double> ticks;
  if (!log) {
    const double step = round_up((to - from) / wanted_ticks);
    for (int i = 0; from + i * step <= to * (1 + 1e-9); ++i) ticks.push_back(from + i * step);
    return ticks;
  }
  // A few decades have room for 2 and 5; many only for some powers of ten.
  const double decades = std::log10(to / from);
  const int stride = std::max(1, static_cast<int>(std::ceil(decades / 10)));
  for (int e = static_cast<int>(std::floor(std::log10(from) + 1e-9)); std::pow(10, e) <= to * (1 + 1e-9);
       e += stride) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10, e);
      const bool shown = factor == 1 || decades <= 3;
      if (shown && value >= from * (1 - 1e-9) && value <= to * (1 + 1e-9)) ticks.push_back(value);
    }
  }
  return ticks;
}

Axis axis_around(const std::vector<double>& values, bool log) {
  assert(!values.empty());
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (!log) {
    const double top = *most > 0 ? *most : 1;
    const double step = round_up(top / wanted_ticks);
    return {.from = 0, .to = step * std::ceil(top / step - 1e-9)};
  }
  assert(*least > 0);
  Axis axis{.from = round_down(*least), .to = round_up(*most), .log = true};
  if (axis.to < axis.from * 1.5) axis.to = axis.from * 10;  // one round value, give or take the last digit
  return axis;
}

std::string short_number(double value) {
  std::array<char, 32> text;
  const double size = std::fabs(value);
  const auto write = [&](double scaled, const char* suffix) {
    const double shown = std::fabs(scaled);
    const int decimals = shown >= 100 || scaled == std::round(scaled) ? 0 : shown >= 10 ? 1 : 2;
    std::snprintf(text.data(), text.size(), "%.*f%s", decimals, scaled, suffix);
  };
  if (size >= 1e6)
    write(value / 1e6, "M");
  else if (size >= 1e4)
    write(value / 1e3, "k");
  else if (size >= 1 || size == 0)
    write(value, "");
  else
    std::snprintf(text.data(), text.size(), "%.2g", value);
  return text.data();
}

}  // namespace holdfast::bench
