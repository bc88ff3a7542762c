// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <vector>

#include "cli/columns.h"

namespace holdfast::cli {
namespace {

constexpr std::string_view home = "\033[H", clear_line = "\033[K", clear_below = "\033[J";
constexpr std::string_view bold_on = "\033[1m", bold_off = "\033[0m";
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

Terminal::Terminal() : tty_(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)), home_(::getpgrp()) {}

bool Terminal::belongs_to(pid_t group) const noexcept { return tty_ && ::tcgetpgrp(tty_.get()) == group; }

bool Terminal::is_in_pipeline() noexcept { return is_pipe(STDIN_FILENO) || is_pipe(STDOUT_FILENO); }

void Terminal::give_to(pid_t group) const noexcept {
  if (tty_) ::tcsetpgrp(tty_.get(), group);
}

void Terminal::take_back_from(pid_t group) const noexcept {
  if (belongs_to(group)) give_to(home_);
}

bool is_pipe(int fd) noexcept {
  struct stat about {};
  // Some shells make their pipes of sockets.
  return ::fstat(fd, &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode));
}

TerminalSize size_of_terminal(int fd) noexcept {
  winsize known{};
  TerminalSize size;
  if (::ioctl(fd, TIOCGWINSZ, &known) != 0) return size;
  if (known.ws_row > 0) size.rows = known.ws_row;
  if (known.ws_col > 0) size.columns = known.ws_col;
  return size;
}

void count_as_utf8() noexcept { std::setlocale(LC_CTYPE, "C.UTF-8"); }

std::string in_place(std::string_view text, TerminalSize size, bool colour) {
  const std::vector<std::string_view> lines = lines_of(text);
  // The cursor needs the last row, below the last line.
  const std::size_t room = std::max<std::size_t>(size.rows, 2) - 1;
  const bool all = lines.size() <= room;
  std::string out(home);
  const auto add = [&](std::string_view line, bool heading) {
    // A character in the last column could wrap.
    const std::string shown = cut(line, std::max<std::size_t>(size.columns, 1) - 1);
    if (out.size() > home.size()) out += '\n';
    if (heading && colour) out += bold_on;
    out += shown;
    if (heading && colour) out += bold_off;
    out += clear_line;
  };
  for (std::size_t i = 0; i < (all ? lines.size() : room - 1); ++i) add(lines[i], i < headings);
  if (!all) add("and " + std::to_string(lines.size() - room + 1) + " more", false);
  return out += clear_below;
}

}  // namespace holdfast::cli
