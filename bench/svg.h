// SPDX-License-Identifier: Apache-2.0
// svg.h - a sheet of paper that ends up as an SVG file, readable on a light and on a dark page.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/report.h"

namespace holdfast::bench {

struct Point {
  double x = 0, y = 0;
};

// Text, as it may stand between two tags or in an attribute.
std::string escaped(std::string_view text);

// The classes of the style sheet: what a thing is, not which colour it has.
const char* class_of(Role role) noexcept;
const char* name_of(Role role) noexcept;  // for a legend

class Sheet {
 public:
  Sheet(double width, double height, std::string title);

  enum class Align { left, middle, right };
  void text(Point at, std::string_view words, const char* css, Align align = Align::left);
  void upright_text(Point at, std::string_view words, const char* css);  // reads upwards
  void line(Point from, Point to, const std::string& css);
  void box(Point corner, Point size, const std::string& css);
  void dot(Point at, double radius, const std::string& css);
  void path(const std::vector<Point>& points, const std::string& css);
  void area(const std::vector<Point>& points, const std::string& css);

  // The whole file.
  std::string str() const;

 private:
  void shape(const char* tag, const std::vector<Point>& points, const std::string& css);

  const double width_, height_;
  const std::string title_;
  std::string body_;
};

}  // namespace holdfast::bench
