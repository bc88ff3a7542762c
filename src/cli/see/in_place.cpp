// SPDX-License-Identifier: Apache-2.0
#include "cli/see/in_place.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <clocale>
#include <vector>

#include "cli/columns.h"

namespace holdfast::cli {
namespace {

constexpr std::string_view home = "\033[H", clear_line = "\033[K", clear_below = "\033[J";
constexpr std::string_view bold = "\033[1m", plain = "\033[0m";
constexpr std::size_t headings = 2;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
  }
  return lines;
}

}  // namespace

void count_as_utf8() noexcept { std::setlocale(LC_CTYPE, "C.UTF-8"); }

TerminalSize size_of_terminal(int fd) noexcept {
  winsize size{};
  const bool known = ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
  return known ? TerminalSize{size.ws_row, size.ws_col} : TerminalSize{};
}

std::string in_place(std::string_view text, TerminalSize size, bool colour) {
  const std::vector<std::string_view> lines = lines_of(text);
  // The last row is the cursor's, behind the end of the last line.
  const std::size_t room = std::max<std::size_t>(size.rows, 2) - 1;
  const bool all = lines.size() <= room;
  std::string out(home);
  const auto add = [&](std::string_view line, bool heading) {
    // A character in the last column could wrap.
    const std::string shown = cut(line, std::max<std::size_t>(size.columns, 1) - 1);
    if (out.size() > home.size()) out += '\n';
    if (heading && colour) out += bold;
    out += shown;
    if (heading && colour) out += plain;
    out += clear_line;
  };
  for (std::size_t i = 0; i < (all ? lines.size() : room - 1); ++i) add(lines[i], i < headings);
  if (!all) add("and " + std::to_string(lines.size() - room + 1) + " more", false);
  return out += clear_below;
}

}  // namespace holdfast::cli
