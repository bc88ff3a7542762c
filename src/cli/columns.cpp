// SPDX-License-Identifier: Apache-2.0
#include "cli/columns.h"

#include <algorithm>
#include <cwchar>
#include <numeric>

#include "base/text.h"

namespace holdfast::cli {
namespace {

constexpr std::size_t gap = 2;  // between two columns of a table
constexpr std::string_view bold = "\033[1m";
constexpr std::string_view reset_style = "\033[0m";

struct Glyph {
  std::string text;
  std::size_t columns;
};

// REQUIRES: `text` begins with a character of well-formed UTF-8.
Glyph first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80 ? 1 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  unsigned point = length == 1 ? byte(0) : byte(0) & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) point = point << 6 | (byte(i) & 0x3Fu);
  const int width = ::wcwidth(static_cast<wchar_t>(point));
  if (width < 0) return {std::string("?").append(length - 1, '\0'), 1};
  return {std::string(text.substr(0, length)), static_cast<std::size_t>(width)};
}

std::vector<Glyph> glyphs_of(std::string_view text) {
  const std::string shown = printable(text);
  std::vector<Glyph> all;
  for (std::string_view rest = shown; !rest.empty();) {
    all.push_back(first_of(rest));
    rest.remove_prefix(all.back().text.size());
    std::erase(all.back().text, '\0');
  }
  return all;
}

std::size_t sum(const std::vector<Glyph>& glyphs) {
  std::size_t columns = 0;
  for (const Glyph& glyph : glyphs) columns += glyph.columns;
  return columns;
}

std::vector<std::size_t> widths_of(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  return widths;
}

std::string one_line(const Row& row, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string cell = printable(row[i]);
    line += cell + std::string(widths[i] - columns_of(cell) + gap, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string spaces(std::size_t columns, std::size_t taken) {
  return std::string(columns - std::min(columns, taken), ' ');
}

}  // namespace

std::string cut(std::string_view text, std::size_t columns) {
  const std::vector<Glyph> glyphs = glyphs_of(text);
  const bool all = sum(glyphs) <= columns;
  if (columns == 0) return "";
  const std::size_t room = all ? columns : columns - 1;
  std::string out;
  std::size_t taken = 0;
  for (const Glyph& glyph : glyphs) {
    if (taken + glyph.columns > room) break;
    out += glyph.text;
    taken += glyph.columns;
  }
  return all ? out : out + "~";
}

std::string tail(std::string_view text, std::size_t columns) {
  std::vector<Glyph> glyphs = glyphs_of(text);
  while (sum(glyphs) > columns) glyphs.erase(glyphs.begin());
  std::string out;
  for (const Glyph& glyph : glyphs) out += glyph.text;
  return out;
}

std::size_t columns_of(std::string_view text) { return sum(glyphs_of(text)); }

std::string fitted(std::string_view text, std::size_t columns) {
  const std::string shown = cut(text, columns);
  return shown + spaces(columns, columns_of(shown));
}

std::string fitted_right(std::string_view text, std::size_t columns) {
  const std::string shown = cut(text, columns);
  return spaces(columns, columns_of(shown)) + shown;
}

std::string aligned(const Rows& rows, bool headed, bool colour) {
  const std::vector<std::size_t> widths = widths_of(rows);
  std::string text;
  for (const Row& row : rows) {
    const bool heading = headed && &row == &rows.front();
    const std::string line = one_line(row, widths);
    if (!text.empty()) text += '\n';
    text += heading && colour ? std::string(bold) + line + std::string(reset_style) : line;
  }
  return text;
}

void fit(Rows& rows, std::initializer_list<std::size_t> yielding, std::size_t columns, std::size_t shortest) {
  std::vector<std::size_t> widths = widths_of(rows);
  if (widths.empty()) return;
  const std::size_t gaps = gap * (widths.size() - 1);
  std::size_t whole = std::accumulate(widths.begin(), widths.end(), gaps);
  while (whole > columns) {
    const std::size_t widest =
        *std::max_element(yielding.begin(), yielding.end(),
                          [&](std::size_t a, std::size_t b) { return widths[a] < widths[b]; });
    if (widths[widest] <= shortest) break;
    --widths[widest];
    --whole;
  }
  for (auto& row : rows) {
    for (const std::size_t i : yielding) {
      if (i < row.size() && columns_of(row[i]) > widths[i]) row[i] = cut(row[i], widths[i]);
    }
  }
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  columns = std::max<std::size_t>(columns, 2);  // the widest character has two
  std::vector<std::string> lines;
  std::vector<Glyph> line;
  const auto end_line = [&](std::size_t glyphs, std::size_t dropped) {
    std::string out;
    for (std::size_t i = 0; i < glyphs; ++i) out += line[i].text;
    lines.push_back(std::move(out));
    line.erase(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(glyphs + dropped));
  };
  for (Glyph& glyph : glyphs_of(text)) {
    line.push_back(std::move(glyph));
    if (sum(line) <= columns) continue;
    const auto space = std::find_if(line.rbegin(), line.rend(), [](const Glyph& g) { return g.text == " "; });
    const auto at = static_cast<std::size_t>(line.rend() - space);
    if (at > 1)
      end_line(at - 1, 1);
    else
      end_line(line.size() - 1, 0);
  }
  if (!line.empty() || lines.empty()) end_line(line.size(), 0);
  return lines;
}

}  // namespace holdfast::cli
