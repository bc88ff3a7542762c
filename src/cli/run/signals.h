// SPDX-License-Identifier: Apache-2.0
// signals.h - the signals of `run`, read from a signalfd; there are no handlers.
#pragma once
#include <csignal>
#include <optional>

#include "base/fd.h"

namespace holdfast::cli {

// What `run` does with a signal:
//
//   signal                 | waiting for the lease      | CMD runs
//   -----------------------+----------------------------+---------------------------------------
//   INT TERM HUP QUIT      | leave the queue, 128+N     | pass it to CMD's group, then CONT
//   INT QUIT, typed        | the same, by dying of it   | the same; if CMD dies of it, so do we
//   USR1 USR2 WINCH        | ignore it                  | pass it to CMD's group
//   TSTP                   | stop                       | pass it to CMD's group; if that stops, so do we
//   CONT                   | -                          | renew, then continue CMD's group
//
// A signal that was ignored when we were started (nohup) stays ignored, also by CMD.
enum class Meaning { ends, passes, stops, continues, child };
Meaning meaning_of(int signal) noexcept;

// Blocks these signals, SIGCHLD, SIGPIPE, SIGTTIN and SIGTTOU in this thread and in all threads that it
// starts, and returns those that arrive.  Remembers the previous settings, for CMD.
class Signals {
 public:
  // Throws std::system_error.  REQUIRES: the process has one thread and makes only one of these.
  Signals();

  // Readable when next() has something.
  int fd() const noexcept { return fd_.get(); }
  std::optional<int> next() noexcept;
  // The last signal of next() came from the keyboard: all of our group got it.
  bool was_typed() const noexcept { return typed_; }

  // Restores the previous settings.  Safe between fork and exec.
  void restore() const noexcept;

  // Stops our process group as Ctrl-Z does, and returns when it is continued; consumes the CONT.  Returns
  // false at once if the group is orphaned: the kernel does not stop it, because nobody could continue it.
  static bool stop_own_group() noexcept;

  // Dies of INT or QUIT, as a program without handlers does.  If we only exited with 128+N, the shell would
  // continue its script or loop.  Returns if the process cannot die of it, as the init of a container.
  enum class Whom { us, our_group };
  static void die_of(int signal, Whom whom) noexcept;

 private:
  sigset_t mask_before_{};
  struct sigaction child_before_ {};
  bool typed_ = false;
  Fd fd_;
};

// For a new process that reads its signals in its own loop.
void block_all_signals() noexcept;

// A descriptor that is readable after SIGCHLD.  Throws std::system_error.  REQUIRES: SIGCHLD is blocked.
Fd child_signal_fd();
// Reads the signals that have arrived there.
void drain_signals(const Fd& fd) noexcept;

}  // namespace holdfast::cli
