// SPDX-License-Identifier: Apache-2.0
// signals.h - the signals of `run`: taken from a descriptor, never in a handler.
#pragma once
#include <csignal>
#include <optional>

#include "base/fd.h"

namespace holdfast::cli {

// What a signal means to `run`:
//
//   signal                 | waiting for the lease      | CMD runs
//   -----------------------+----------------------------+---------------------------------------
//   INT TERM HUP QUIT      | leave the queue, 128+N     | goes to CMD's group, and then CONT
//   INT QUIT, typed        | the same, by dying of it   | the same; if CMD dies of it, so do we
//   USR1 USR2 WINCH        | nobody to give it to       | goes to CMD's group
//   TSTP                   | stop                       | goes to CMD's group; if it stops, so do we
//   CONT                   | -                          | renew, then CMD's group continues
//
// One that was ignored when we were started (nohup) stays ignored, by CMD as well.
enum class Meaning { ends, passes, stops, continues, child };
Meaning meaning_of(int signal) noexcept;

// Blocks those signals, SIGCHLD, and what a terminal or a closed pipe would stop us with, in this thread
// and all it starts; hands out those that come.  Remembers how it was before, for CMD.
class Signals {
 public:
  // Throws std::system_error.  REQUIRES: the process has one thread, and makes one of these.
  Signals();

  // Readable when next() has something.
  int fd() const noexcept { return fd_.get(); }
  std::optional<int> next() noexcept;
  // What next() gave last came from the keyboard: all of our group got it, not only we.
  bool was_typed() const noexcept { return typed_; }

  // Makes it as it was before we came.  For a child between fork and exec: calls nothing that may not be
  // called there.
  void restore() const noexcept;

  // Stops this process and those of its group as Ctrl-Z would have, and returns when continued.  Takes the
  // CONT as well.  False, and at once, if nobody could continue it: an orphaned group is not stopped.
  static bool stop_own_group() noexcept;

  // Dies of INT or QUIT as a program does that has never heard of signals: a shell whose command merely ends
  // with 128+N goes on with its script or loop.  Comes back if it cannot: as init of a container.
  enum class Whom { us, our_group };
  static void die_of(int signal, Whom whom) noexcept;

 private:
  sigset_t mask_before_{};
  struct sigaction child_before_ {};
  bool typed_ = false;
  Fd fd_;
};

// Blocks everything in a new process that has nobody to answer to but its own loop.
void block_all_signals() noexcept;

}  // namespace holdfast::cli
