// SPDX-License-Identifier: Apache-2.0
#include "cli/top/canvas.h"

#include <langinfo.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <term.h>
#undef tab  // term.h defines macros with common names
#undef lines
#undef columns

#include "base/text.h"

namespace holdfast::cli {
namespace {

enum Colour : short { green = 1, yellow, red };

// We write UTF-8 only: with another encoding, characters that are not ASCII become question marks.
void use_own_locale() {
  std::setlocale(LC_CTYPE, "");
  if (std::strcmp(::nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C");
}

attr_t attribute_of(Style style, bool colour) {
  const auto coloured = [&](short pair, attr_t otherwise) {
    return colour ? static_cast<attr_t>(COLOR_PAIR(pair)) : otherwise;
  };
  switch (style) {
    case Style::plain: return A_NORMAL;
    case Style::strong: return A_BOLD;
    case Style::faint: return A_DIM;
    case Style::heading: return A_REVERSE | A_BOLD;
    case Style::chosen: return A_REVERSE;
    case Style::good: return coloured(green, A_NORMAL);
    case Style::doubtful: return coloured(yellow, A_BOLD);
    case Style::bad: return coloured(red, A_BOLD) | A_BOLD;
  }
  return A_NORMAL;
}

void begin_colours() {
  start_color();
  use_default_colors();
  init_pair(green, COLOR_GREEN, -1);
  init_pair(yellow, COLOR_YELLOW, -1);
  init_pair(red, COLOR_RED, -1);
}

std::string utf8_of(wint_t c) {
  std::string text(MB_CUR_MAX, '\0');
  const int length = std::wctomb(text.data(), static_cast<wchar_t>(c));
  text.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  return text;
}

std::optional<Press> press_of_code(wint_t code) {
  using Kind = Press::Kind;
  switch (code) {
    case KEY_UP: return Press{Kind::up};
    case KEY_DOWN: return Press{Kind::down};
    case KEY_PPAGE: return Press{Kind::page_up};
    case KEY_NPAGE: return Press{Kind::page_down};
    case KEY_HOME: return Press{Kind::first};
    case KEY_END: return Press{Kind::last};
    case KEY_ENTER: return Press{Kind::enter};
    case KEY_BACKSPACE: return Press{Kind::erase};
  }
  return std::nullopt;
}

std::optional<Press> press_of_character(wint_t c) {
  using Kind = Press::Kind;
  if (c == '\n' || c == '\r') return Press{Kind::enter};
  if (c == 27) return Press{Kind::escape};
  if (c == 127 || c == 8) return Press{Kind::erase};
  const std::string text = utf8_of(c);
  if (text.empty() || !is_utf8(text) || printable(text) != text) return std::nullopt;
  return Press{Kind::text, text};
}

}  // namespace

Status Canvas::check() {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1)
    return Error{
        Errc::invalid,
        "top needs a terminal for input and output; without one, use `holdfast ls --watch` or `holdfast "
        "watch`"};
  const char* const name = ::secure_getenv("TERM");
  int found = 0;
  const bool known = name != nullptr && *name != '\0' && setupterm(name, STDOUT_FILENO, &found) == OK;
  const char* const move_cursor = known ? tigetstr("cup") : nullptr;
  // tigetstr() returns -1 for a capability that is not a string.
  const bool movable = move_cursor != nullptr && reinterpret_cast<std::intptr_t>(move_cursor) != -1;
  if (known && movable) return Status{};
  return Error{Errc::invalid,
               "top cannot draw on a terminal with TERM=" + printable(name == nullptr ? "" : name) +
                   "; set TERM to the type of the terminal, as in TERM=xterm, or use `holdfast ls --watch`"};
}

Canvas::Canvas(bool colour) {
  use_own_locale();
  // With a handler of ours, ncurses does not install its own for TSTP.  Its handler would draw when
  // continued, even in the background; and it ignores TSTP while it draws, which discards a pending one.
  auto* const before = std::signal(SIGTSTP, [](int) {});
  newterm(nullptr, stdout, stdin);
  std::signal(SIGTSTP, before);
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, true);
  nodelay(stdscr, true);
  set_escdelay(25);
  colour_ = colour && has_colors();
  if (colour_) begin_colours();
}

Canvas::~Canvas() {
  if (!left_) endwin();
}

TerminalSize Canvas::size() const {
  const int rows = getmaxy(stdscr), columns = getmaxx(stdscr);
  return {static_cast<std::size_t>(std::max(rows, 0)), static_cast<std::size_t>(std::max(columns, 0))};
}

void Canvas::paint(const Screen& screen) {
  werase(stdscr);
  int y = 0;
  for (const ScreenLine& line : screen.lines) {
    wmove(stdscr, y++, 0);
    for (const Span& span : line) {
      wattrset(stdscr, static_cast<int>(attribute_of(span.style, colour_)));
      waddnstr(stdscr, span.text.data(), static_cast<int>(span.text.size()));
    }
  }
  wattrset(stdscr, A_NORMAL);
  curs_set(screen.cursor ? 1 : 0);
  if (screen.cursor) wmove(stdscr, y - 1, static_cast<int>(*screen.cursor));
  wrefresh(stdscr);
}

std::optional<Press> Canvas::next() {
  wint_t c = 0;
  for (int got = wget_wch(stdscr, &c); got != ERR; got = wget_wch(stdscr, &c)) {
    if (const auto press = got == KEY_CODE_YES ? press_of_code(c) : press_of_character(c)) return press;
  }
  return std::nullopt;
}

void Canvas::repaint() {
  left_ = false;
  // Another program changed the terminal without ncurses: endwin() makes it set all modes again.
  if (std::exchange(given_up_, false)) endwin();
  const TerminalSize now = size_of_terminal(STDOUT_FILENO);
  resizeterm(static_cast<int>(now.rows), static_cast<int>(now.columns));
  clearok(stdscr, true);
}

void Canvas::leave() {
  endwin();
  left_ = true;
}

void Canvas::give_up() { given_up_ = left_ = true; }

}  // namespace holdfast::cli
