// SPDX-License-Identifier: Apache-2.0
// canvas.h - draws on the terminal with ncurses; no other file uses ncurses.
#pragma once
#include <optional>

#include "cli/top/screen.h"

namespace holdfast::cli {

// Uses the whole screen while it lives.  One object at a time, one thread.
class Canvas {
 public:
  // Errc::invalid: there is no terminal, or its cursor cannot be moved.
  static Status check();

  // REQUIRES: check() is ok.
  explicit Canvas(bool colour);
  ~Canvas();
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  TerminalSize size() const;
  void paint(const Screen& screen);

  // The next key; none if no more were typed.
  std::optional<Press> next();
  // The terminal was resized, or another program wrote on it.
  void repaint();
  // Restores the terminal, before we stop; until repaint().
  void leave();
  // The same if another program uses the terminal already: nothing is written.
  void give_up();

 private:
  bool colour_ = false;
  bool left_ = false;
  bool given_up_ = false;
};

}  // namespace holdfast::cli
