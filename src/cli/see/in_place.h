// SPDX-License-Identifier: Apache-2.0
// in_place.h - a text that takes the place of the one before it on a terminal.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::cli {

struct TerminalSize {
  std::size_t rows = 24;
  std::size_t columns = 80;
};
TerminalSize size_of_terminal(int fd) noexcept;

// Answers are UTF-8 whatever the locale is: so are the characters that in_place() counts after this.
void count_as_utf8() noexcept;

// The lines of `text` from the upper left corner on, cut to what the terminal has room for; the first two are
// headings.  No mode of the terminal is changed, so that none has to be restored, whoever ends us and how.
std::string in_place(std::string_view text, TerminalSize size, bool colour);

}  // namespace holdfast::cli
