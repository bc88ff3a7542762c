// SPDX-License-Identifier: Apache-2.0
#include "bench/svg.h"

#include <array>
#include <cstdio>

namespace holdfast::bench {
namespace {

constexpr std::string_view style = R"(
  text { font-family: system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif; font-size: 13px; fill: #1f2328; stroke: none }
  .paper { fill: #ffffff } .title { font-size: 18px; font-weight: 600 } .note, .tick { font-size: 12px; fill: #59636e }
  .grid { stroke: #e4e8ec } .edge { stroke: #8b949e } .mark { stroke: #1f2328; stroke-dasharray: 4 3 }
  .ours { fill: #0969da; stroke: #0969da } .part { fill: #1b8a74; stroke: #1b8a74 }
  .reference { fill: #d1690f; stroke: #d1690f } .floor { fill: #8c959f; stroke: #8c959f }
  .bar { stroke: none } .band { stroke: none; fill-opacity: 0.18 } .curve { fill: none; stroke-width: 2.2 }
  .whisker { stroke: #1f2328; stroke-opacity: 0.65; stroke-width: 1.4 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .note, .tick { fill: #9da7b1 } .paper { fill: #0d1117 }
    .grid { stroke: #262c34 } .edge { stroke: #6e7681 } .mark { stroke: #e6edf3 }
    .ours { fill: #4493f8; stroke: #4493f8 } .part { fill: #3fb8a0; stroke: #3fb8a0 }
    .reference { fill: #f0883e; stroke: #f0883e } .floor { fill: #768390; stroke: #768390 }
    .bar, .band { stroke: none } .curve { fill: none } .whisker { stroke: #e6edf3 }
  }
)";

std::string number(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

std::string attribute(const char* name, const std::string& value) {
  return std::string(" ") + name + "=\"" + value + "\"";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

const char* class_of(Role role) noexcept {
  switch (role) {
    case Role::ours: return "ours";
    case Role::part_of_ours: return "part";
    case Role::reference: return "reference";
    case Role::floor: return "floor";
  }
  return "";
}

const char* name_of(Role role) noexcept {
  switch (role) {
    case Role::ours: return "ours";
    case Role::part_of_ours: return "a part of ours";
    case Role::reference: return "by hand";
    case Role::floor: return "the floor";
  }
  return "";
}

Sheet::Sheet(double width, double height, std::string title)
    : width_(width), height_(height), title_(std::move(title)) {}

void Sheet::text(Point at, std::string_view words, const char* css, Align align) {
  constexpr const char* anchors[] = {"start", "middle", "end"};
  body_ += "<text" + attribute("x", number(at.x)) + attribute("y", number(at.y)) + attribute("class", css) +
           attribute("text-anchor", anchors[static_cast<int>(align)]) + ">" + escaped(words) + "</text>\n";
}

void Sheet::upright_text(Point at, std::string_view words, const char* css) {
  body_ += "<text" +
           attribute("transform", "translate(" + number(at.x) + " " + number(at.y) + ") rotate(-90)") +
           attribute("class", css) + attribute("text-anchor", "middle") + ">" + escaped(words) + "</text>\n";
}

void Sheet::line(Point from, Point to, const std::string& css) {
  body_ += "<line" + attribute("x1", number(from.x)) + attribute("y1", number(from.y)) +
           attribute("x2", number(to.x)) + attribute("y2", number(to.y)) + attribute("class", css) + "/>\n";
}

void Sheet::box(Point corner, Point size, const std::string& css) {
  body_ += "<rect" + attribute("x", number(corner.x)) + attribute("y", number(corner.y)) +
           attribute("width", number(size.x)) + attribute("height", number(size.y)) + attribute("rx", "2") +
           attribute("class", css) + "/>\n";
}

void Sheet::dot(Point at, double radius, const std::string& css) {
  body_ += "<circle" + attribute("cx", number(at.x)) + attribute("cy", number(at.y)) +
           attribute("r", number(radius)) + attribute("class", css) + "/>\n";
}

void Sheet::shape(const char* tag, const std::vector<Point>& points, const std::string& css) {
  std::string list;
  for (const Point& p : points) list += number(p.x) + "," + number(p.y) + " ";
  body_ += std::string("<") + tag + attribute("points", list) + attribute("class", css) + "/>\n";
}

void Sheet::path(const std::vector<Point>& points, const std::string& css) { shape("polyline", points, css); }
void Sheet::area(const std::vector<Point>& points, const std::string& css) { shape("polygon", points, css); }

std::string Sheet::str() const {
  const std::string size = number(width_) + " " + number(height_);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("viewBox", "0 0 " + size) +
         attribute("width", number(width_)) + attribute("height", number(height_)) +
         attribute("role", "img") + ">\n<title>" + escaped(title_) + "</title>\n<style>" +
         std::string(style) + "</style>\n" + "<rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n" +
         body_ + "</svg>\n";
}

}  // namespace holdfast::bench
