// SPDX-License-Identifier: Apache-2.0
// screen.h - what `top` shows, as lines of coloured text.  Pure; canvas.h paints it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/see/in_place.h"
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
  std::optional<std::size_t> cursor;  // behind which column of the last line somebody types
  std::size_t most_scroll = 0;        // of what is longer than the screen
};

// `now` on the wall, for ages.
Screen screen_of(const Model& model, TerminalSize size, Moment now);

// How many rows of keys are seen at once.
std::size_t room_for_rows(TerminalSize size) noexcept;

}  // namespace holdfast::cli
