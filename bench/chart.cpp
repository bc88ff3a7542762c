// SPDX-License-Identifier: Apache-2.0
#include "bench/chart.h"

#include <algorithm>

#include "bench/axis.h"
#include "bench/svg.h"

namespace holdfast::bench {
namespace {

constexpr double margin = 24;
constexpr double letter = 7.1;  // about as wide as one is at 13 px
constexpr double head = 64;     // title and note

double width_of(const std::string& text) { return letter * static_cast<double>(text.size()); }

void write_head(Sheet& sheet, const std::string& title, const std::string& note) {
  sheet.text({margin, 32}, title, "title");
  sheet.text({margin, 52}, note, "note");
}

// Returns where it ends.
double legend_entry(Sheet& sheet, Point at, Role role, const std::string& label) {
  sheet.box({at.x, at.y - 10}, {12, 12}, std::string("bar ") + class_of(role));
  sheet.text({at.x + 18, at.y}, label, "note");
  return at.x + 36 + width_of(label) * 0.92;
}

std::vector<std::pair<Role, std::string>> legend_of(const BarChart& chart) {
  if (!chart.legend.empty()) return chart.legend;
  std::vector<std::pair<Role, std::string>> legend;
  for (const Role role : {Role::ours, Role::part_of_ours, Role::reference, Role::floor}) {
    const bool used =
        std::any_of(chart.bars.begin(), chart.bars.end(), [&](const Bar& b) { return b.role == role; });
    if (used) legend.emplace_back(role, name_of(role));
  }
  return legend;
}

std::string draw_bars(const BarChart& chart) {
  constexpr double row = 30, thickness = 16, plot_width = 460, value_width = 70;
  double label_width = 0;
  std::vector<double> values;
  for (const Bar& bar : chart.bars) {
    label_width = std::max(label_width, width_of(bar.label));
    values.insert(values.end(), {bar.value.low, bar.value.high, bar.value.median});
  }
  if (chart.mark != 0) values.push_back(chart.mark);
  const double left = margin + label_width + 12, top = head + 36;
  const double bottom = top + row * static_cast<double>(chart.bars.size());
  const double width = std::max(left + plot_width + value_width, margin * 2 + width_of(chart.note));
  Axis axis = axis_around(values, chart.log);
  axis.start = left;
  axis.end = left + plot_width;

  Sheet sheet(width, bottom + 56, chart.title);
  write_head(sheet, chart.title, chart.note);
  double x = margin;
  for (const auto& [role, label] : legend_of(chart)) x = legend_entry(sheet, {x, head + 14}, role, label);
  for (const double tick : axis.ticks()) {
    sheet.line({axis.at(tick), top}, {axis.at(tick), bottom}, "grid");
    sheet.text({axis.at(tick), bottom + 18}, short_number(tick), "tick", Sheet::Align::middle);
  }
  sheet.text({(axis.start + axis.end) / 2, bottom + 40}, chart.axis, "note", Sheet::Align::middle);
  if (chart.mark != 0) sheet.line({axis.at(chart.mark), top}, {axis.at(chart.mark), bottom}, "mark");

  double y = top + row / 2;
  for (const Bar& bar : chart.bars) {
    const std::string css = class_of(bar.role);
    const double end = axis.at(bar.value.median);
    sheet.text({left - 10, y + 4}, bar.label, "label", Sheet::Align::right);
    if (!chart.log) sheet.box({left, y - thickness / 2}, {end - left, thickness}, "bar " + css);
    sheet.line({axis.at(bar.value.low), y}, {axis.at(bar.value.high), y},
               chart.log ? css + " curve" : "whisker");
    if (chart.log) sheet.dot({end, y}, 5, css);
    sheet.text({std::max(end, axis.at(bar.value.high)) + 10, y + 4}, short_number(bar.value.median), "tick");
    y += row;
  }
  sheet.line({left, top}, {left, bottom}, "edge");
  return sheet.str();
}

void draw_line(Sheet& sheet, const Line& line, const Axis& x, const Axis& y) {
  constexpr std::size_t few = 16;  // points that are worth a dot each
  std::vector<Point> middle, around;
  for (const auto& [at, value] : line.points) {
    middle.push_back({x.at(at), y.at(value.median)});
    around.push_back({x.at(at), y.at(value.low)});
  }
  for (auto it = line.points.rbegin(); it != line.points.rend(); ++it)
    around.push_back({x.at(it->first), y.at(it->second.high)});
  const std::string css = class_of(line.role);
  if (middle.size() <= few) sheet.area(around, "band " + css);
  sheet.path(middle, "curve " + css);
  if (middle.size() > few) return;
  for (const Point& p : middle) sheet.dot(p, 3.5, css);
}

std::string draw_lines(const LineChart& chart) {
  constexpr double left = 84, right = 24, width = 760, top = head + 40, bottom = top + 300;
  std::vector<double> xs, ys;
  for (const Line& line : chart.lines) {
    for (const auto& [at, value] : line.points) {
      xs.push_back(at);
      ys.insert(ys.end(), {value.low, value.high, value.median});
    }
  }
  Axis x = axis_around(xs, chart.log_x), y = axis_around(ys, chart.log_y);
  x.start = left, x.end = width - right;
  y.start = bottom, y.end = top;

  Sheet sheet(width, bottom + 60, chart.title);
  write_head(sheet, chart.title, chart.note);
  double legend = margin;
  for (const Line& line : chart.lines)
    legend = legend_entry(sheet, {legend, head + 14}, line.role, line.label);
  for (const double tick : y.ticks()) {
    sheet.line({left, y.at(tick)}, {width - right, y.at(tick)}, "grid");
    sheet.text({left - 8, y.at(tick) + 4}, short_number(tick), "tick", Sheet::Align::right);
  }
  // Where few sizes were measured, those are the numbers to write; a curve gets round ones.
  std::sort(xs.begin(), xs.end());
  xs.erase(std::unique(xs.begin(), xs.end()), xs.end());
  if (xs.size() <= 8) x.from = xs.front(), x.to = std::max(xs.back(), xs.front() * 1.001);
  for (const double tick : xs.size() <= 8 ? xs : x.ticks()) {
    sheet.line({x.at(tick), top}, {x.at(tick), bottom}, "grid");
    sheet.text({x.at(tick), bottom + 18}, short_number(tick), "tick", Sheet::Align::middle);
  }
  sheet.line({left, top}, {left, bottom}, "edge");
  sheet.line({left, bottom}, {width - right, bottom}, "edge");
  sheet.text({(left + width - right) / 2, bottom + 42}, chart.x_axis, "note", Sheet::Align::middle);
  sheet.upright_text({26, (top + bottom) / 2}, chart.y_axis, "note");
  for (const Line& line : chart.lines) draw_line(sheet, line, x, y);
  return sheet.str();
}

}  // namespace

std::string draw(const Chart& chart) {
  if (const auto* bars = std::get_if<BarChart>(&chart)) return draw_bars(*bars);
  return draw_lines(std::get<LineChart>(chart));
}

BarChart overview(const std::vector<std::pair<std::string, Report>>& reports) {
  BarChart chart{
      .title = "All ratios of this run",
      .note = "what ours takes, in times what the reference takes; whiskers: quartiles of the rounds",
      .axis = "times the reference, logarithmic",
      .bars = {},
      .log = true,
      .mark = 1,
      .legend = {{Role::part_of_ours, "cheaper or faster"},
                 {Role::floor, "the same, as far as can be told"},
                 {Role::reference, "dearer or slower"}}};
  for (const auto& [name, report] : reports) {
    for (const Figure& figure : report.figures) {
      const Spread cost = figure.cost();
      const Role role = cost.high < 1 ? Role::part_of_ours : cost.low > 1 ? Role::reference : Role::floor;
      chart.bars.push_back({name + ": " + figure.what + " / " + figure.against, cost, role});
    }
  }
  return chart;
}

}  // namespace holdfast::bench
