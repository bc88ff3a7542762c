// SPDX-License-Identifier: Apache-2.0
// screen.h - the screen of `top` as lines of coloured text.  Pure; canvas.h paints it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "cli/top/model.h"

namespace holdfast::cli {

enum class Style : std::uint8_t { plain, strong, faint, heading, chosen, good, doubtful, bad };

struct Span {
  std::string text;  // fit for a terminal
  Style style = Style::plain;
};
using ScreenLine = std::vector<Span>;

struct Screen {
  std::vector<ScreenLine> lines;      // no more than the terminal has rows, none longer than its columns
  std::optional<std::size_t> cursor;  // the column of the last line where the user types
  std::size_t most_scroll = 0;        // how far a long page can be scrolled
};

// `now` is of the wall clock, for ages.
Screen screen_of(const Model& model, TerminalSize size, Moment now);

// How many rows of keys the screen has room for.
std::size_t room_for_rows(TerminalSize size) noexcept;

// ---- the keys in columns, as many as there is room for: table.cpp

// The heading, and then as many rows of the model as fit; the selected row stands out.
std::vector<ScreenLine> table_of(const Model& model, std::size_t rows, std::size_t columns, Moment now);

// doubtful: the holder should have renewed by now (a third of the ttl and a little more has passed).  bad: it
// will lose its lease unless it renews soon (two thirds have passed).
Style style_of_lag(const TopRow& row) noexcept;

}  // namespace holdfast::cli
