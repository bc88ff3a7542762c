// SPDX-License-Identifier: Apache-2.0
// canvas.h - the terminal as ncurses has it; the only place that knows ncurses.
#pragma once
#include <optional>

#include "cli/top/screen.h"

namespace holdfast::cli {

// From when it is made until it is gone the whole screen is ours.  One at a time; one thread.
class Canvas {
 public:
  // Errc::invalid: there is no terminal, or none on which text can be put where one wants it.
  static Status check();

  // REQUIRES: check() is ok.
  explicit Canvas(bool colour);
  ~Canvas();
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  TerminalSize size() const;
  void paint(const Screen& screen);

  // None: nothing more was typed so far.
  std::optional<Press> next();
  // The terminal has another size now, or somebody has written over it.
  void repaint();
  // While we are stopped the terminal is as it was, until repaint().
  void leave();
  // The same, if somebody else has it already: nothing of theirs is touched.
  void give_up();

 private:
  bool colour_ = false;
  bool left_ = false;
  bool given_up_ = false;
};

}  // namespace holdfast::cli
