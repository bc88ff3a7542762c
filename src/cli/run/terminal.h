// SPDX-License-Identifier: Apache-2.0
// terminal.h - who may read the keyboard.
#pragma once
#include <sys/types.h>

#include "base/fd.h"

namespace holdfast::cli {

// The terminal that controls this process, if one does.  Remembers our own group, so that whoever made
// it, and the guard forked behind it, can give the keyboard to CMD and back to where it came from.
//
// REQUIRES: SIGTTOU is blocked, or asking for the keyboard in the background would stop us.
class Terminal {
 public:
  Terminal();

  explicit operator bool() const noexcept { return static_cast<bool>(tty_); }

  // Our group has the keyboard.
  bool is_ours() const noexcept { return belongs_to(home_); }
  bool belongs_to(pid_t group) const noexcept;

  // What we read or write is a pipe: others of our group, a pager for one, may want the keyboard.
  static bool is_in_pipeline() noexcept;

  // Safe between fork and exec.
  void give_to(pid_t group) const noexcept;
  // Only if `group` has it: else somebody, a shell, has already taken it.
  void take_back_from(pid_t group) const noexcept;

 private:
  Fd tty_;
  pid_t home_;
};

}  // namespace holdfast::cli
