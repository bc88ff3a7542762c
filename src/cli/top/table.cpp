// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <utility>

#include "base/time.h"
#include "cli/columns.h"
#include "cli/output.h"
#include "cli/see/describe.h"
#include "cli/top/screen.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t between = 2;  // columns of the screen between two of the table
constexpr std::size_t bar_width = 12;

// Without fractions from ten seconds on: digits that change with every refresh are hard to read.
std::string brief(Millis duration) {
  return format_duration(duration < 10s ? duration / 100 * 100
                                        : std::chrono::floor<std::chrono::seconds>(duration));
}

std::string owner_of(const TopRow& row) {
  if (!is_held(row.lease)) return "-";
  return short_owner(row.lease.owner) + (row.lease.detached ? " (detached)" : "");
}

std::string held_of(const TopRow& row, Moment now) {
  const auto held = held_for(row.lease, now);
  return held ? brief(*held) : "-";
}

std::string left_of(const TopRow& row) {
  if (!is_held(row.lease)) return "free";
  return row.lease.remaining == never ? "no end" : brief(row.lease.remaining);
}

// The remaining time as a part of the ttl.
std::string bar_of(const TopRow& row) {
  if (!is_held(row.lease)) return "";
  constexpr std::size_t inside = bar_width - 2;
  std::size_t full = inside;
  if (row.lease.remaining != never && row.ttl > row.lease.remaining)
    full = static_cast<std::size_t>(row.lease.remaining.count() * static_cast<Millis::rep>(inside) /
                                    row.ttl.count());
  return "[" + std::string(full, '|') + std::string(inside - full, ' ') + "]";
}

std::string lag_of(const TopRow& row) {
  if (!row.is_kept()) return "-";
  // Before a renewal is seen, the time of the last one is unknown.
  return (row.renewed ? "" : ">") + brief(row.lag());
}

struct Column {
  const char* title;
  std::size_t least;  // columns of the screen
  bool grows;         // up to its longest text, if there is room
  bool right;
  int rank;  // the column with the largest rank is dropped first
  std::function<std::string(const TopRow&)> text;
  Style (*style)(const TopRow&);
  std::size_t width = 0, longest = 0;
};

Style plain(const TopRow&) { return Style::plain; }
Style faint(const TopRow&) { return Style::faint; }
Style strong(const TopRow& row) { return row.lease.waiting > 0 ? Style::strong : Style::plain; }

std::vector<Column> all_columns(Moment now) {
  return {
      {"KEY", 8, true, false, 0, [](const TopRow& r) { return r.lease.key; }, plain},
      {"HOLDER", 10, true, false, 3, owner_of, plain},
      {"HELD", 8, false, true, 2, [now](const TopRow& r) { return held_of(r, now); }, plain},
      {"", bar_width, false, false, 6, bar_of, style_of_lag},
      {"LEFT", 7, false, true, 1, left_of, plain},
      {"WAIT", 4, false, true, 4,
       [](const TopRow& r) { return r.lease.waiting == 0 ? "-" : std::to_string(r.lease.waiting); }, strong},
      {"LAG", 6, false, true, 5, lag_of, style_of_lag},
      {"NOTE", 8, true, false, 7, [](const TopRow& r) { return r.lease.note; }, faint},
  };
}

std::size_t width_of(const std::vector<Column>& columns) {
  std::size_t width = 0;
  for (const Column& column : columns) width += column.width + between;
  return width - std::min(width, between);
}

std::size_t longest(const Column& column, const std::vector<TopRow>& rows) {
  std::size_t width = columns_of(column.title);
  for (const TopRow& row : rows) width = std::max(width, columns_of(column.text(row)));
  return width;
}

// The columns that fit; the room that is left goes to the growing columns in turn.
std::vector<Column> fitting(const std::vector<TopRow>& rows, std::size_t room, Moment now) {
  std::vector<Column> columns = all_columns(now);
  for (Column& column : columns) {
    column.width = column.least;
    if (column.grows) column.longest = longest(column, rows);
  }
  while (columns.size() > 1 && width_of(columns) > room) {
    columns.erase(std::max_element(columns.begin(), columns.end(),
                                   [](const Column& a, const Column& b) { return a.rank < b.rank; }));
  }
  std::size_t spare = room - std::min(room, width_of(columns));
  for (bool grown = true; std::exchange(grown, false);) {
    for (Column& column : columns) {
      if (spare == 0 || !column.grows || column.width >= column.longest) continue;
      ++column.width;
      --spare;
      grown = true;
    }
  }
  columns[0].width = std::min(columns[0].width, room);
  return columns;
}

std::string cell(const Column& column, std::string_view text) {
  return column.right ? fitted_right(text, column.width) : fitted(text, column.width);
}

ScreenLine line_of(const TopRow& row, const std::vector<Column>& columns) {
  ScreenLine line;
  for (const Column& column : columns) {
    if (!line.empty()) line.push_back({std::string(between, ' ')});
    line.push_back({cell(column, column.text(row)), column.style(row)});
  }
  return line;
}

void paint_all(ScreenLine& line, Style style) {
  for (Span& span : line) span.style = style;
}

// Fills the line to the right edge, so that its style covers it.
void fill(ScreenLine& line, std::size_t columns) {
  std::size_t width = 0;
  for (const Span& span : line) width += columns_of(span.text);
  if (width < columns) line.push_back({std::string(columns - width, ' '), line.front().style});
}

}  // namespace

Style style_of_lag(const TopRow& row) noexcept {
  if (!row.is_kept()) return Style::plain;
  // Renewals are due at a third of the ttl; a little later is still good.
  if (row.lag() * 10 <= row.ttl * 4) return Style::good;
  return row.lag() * 3 <= row.ttl * 2 ? Style::doubtful : Style::bad;
}

std::vector<ScreenLine> table_of(const Model& model, std::size_t rows, std::size_t columns, Moment now) {
  const std::vector<Column> fit = fitting(model.rows(), columns, now);
  ScreenLine heading;
  for (const Column& column : fit) {
    if (!heading.empty()) heading.push_back({std::string(between, ' ')});
    heading.push_back({cell(column, column.title)});
  }
  paint_all(heading, Style::heading);
  fill(heading, columns);
  std::vector<ScreenLine> lines{std::move(heading)};
  // Scrolled so far that the selected row is visible.
  const std::size_t first = model.selected() < rows ? 0 : model.selected() - rows + 1;
  for (std::size_t i = first; i < std::min(model.rows().size(), first + rows); ++i) {
    const TopRow& row = model.rows()[i];
    ScreenLine line = line_of(row, fit);
    if (!model.unreachable().empty() || !is_held(row.lease)) paint_all(line, Style::faint);
    if (i == model.selected()) paint_all(line, Style::chosen);
    if (i == model.selected()) fill(line, columns);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace holdfast::cli
