// SPDX-License-Identifier: Apache-2.0
// terminal.h - the terminal: who may read its keyboard, how large it is, and a text redrawn in place.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace holdfast::cli {

// The controlling terminal of this process, if it has one.  It remembers our own process group, so that this
// process, and the guard forked from it, can give the keyboard to CMD and take it back.
//
// REQUIRES: SIGTTOU is blocked; otherwise the kernel stops a background process that asks for the keyboard.
class Terminal {
 public:
  Terminal();

  explicit operator bool() const noexcept { return static_cast<bool>(tty_); }

  // Our group has the keyboard.
  bool is_ours() const noexcept { return belongs_to(home_); }
  bool belongs_to(pid_t group) const noexcept;

  // Our stdin or stdout is a pipe: another process of our group, such as a pager, may want the keyboard.
  static bool is_in_pipeline() noexcept;

  // Safe between fork and exec.
  void give_to(pid_t group) const noexcept;
  // Only if `group` has it: otherwise a shell has already taken it.
  void take_back_from(pid_t group) const noexcept;

 private:
  Fd tty_;
  pid_t home_;
};

// A pipe or a socket: its other end can be closed.
bool is_pipe(int fd) noexcept;

struct TerminalSize {
  std::size_t rows = 24;
  std::size_t columns = 80;
};
// The default where the terminal does not know its size.
TerminalSize size_of_terminal(int fd) noexcept;

// Makes in_place() and columns.h count characters of UTF-8, whatever the locale is: answers are UTF-8.
void count_as_utf8() noexcept;

// The lines of `text`, drawn from the upper left corner over what was there, and cut to the size of the
// terminal; the first two are headings.  No mode of the terminal is changed, so none has to be restored,
// however this process ends.
std::string in_place(std::string_view text, TerminalSize size, bool colour);

}  // namespace holdfast::cli
