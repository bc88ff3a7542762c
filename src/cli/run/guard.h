// SPDX-License-Identifier: Apache-2.0
// guard.h - the process between `run` and CMD, which ends CMD before the lease ends.
//
//   main ── link ── guard ── CMD (own group)
//
// The guard is forked first, before any thread, store or secret.  It is the parent of CMD and makes no call
// that can hang.  The main process sends it the deadline; the guard alone enforces it:
//
//   state     | event                              | action                                    | next
//   ----------+------------------------------------+-------------------------------------------+---------
//   idle      | Input                              | keeps it for CMD                          | idle
//   idle      | Start, in time                     | Started, then let CMD exec                | running
//   idle      | Start, too late                    | Ended{lease}                              | gone
//   idle      | main gone                          |                                           | gone
//   running   | Renewed                            | moves its timers, also that of PROGRAM    | running
//   running   | Signal                             | to the group; and CONT if it ends CMD     | running
//   running   | exec failed                        | CannotRun                                 | gone
//   running   | CMD stops                          | takes the keyboard back; Stopped          | running
//   running   | Continue                           | keyboard and CONT to the group            | running
//   running   | the timer of TERM; Stop            | TERM to the group; for exec: runs PROGRAM | running
//   running   | the time of CMD is over            | TERM, and CONT: the lease is ours         | running
//   running   | PROGRAM cannot be run              | TERM to the group; ProgramFailed          | running
//   running   | the timer of KILL; main gone       | KILL to all, until nothing is left        | running
//   running   | the grace of PROGRAM is over       | KILL to PROGRAM                           | running
//   running   | CMD ends                           | TERM to what is left of the group         | ending
//   ending    | the timer of KILL; main gone       | KILL to the group, until it is dead       | ending
//   ending    | the group is empty, PROGRAM runs   | GroupGone: main must not signal it        | ending
//   ending    | the group and PROGRAM are dead     | KILL to what left it, if CMD was ended    | ending
//   both      | a process may not be killed by us  | CannotEnd, once                           |
//   ending    | everything is dead                 | takes the keyboard back; Ended            | gone
//
// schedule.h decides when the timers fire, and what Stop and the end of main do: with --on-lost ignore only
// --at-most sets a timer, and the guard stays with CMD when main is gone.
//
// If CMD ended by itself, a daemon that it started, with a process group of its own, lives on.  If CMD was
// ended, or died of KILL, all our descendants are killed.
//
// Once CMD runs, the guard allocates no memory, so it ends CMD in time even if there is none.
//
// The guard has its own process group, so that a signal to main's group does not stop or kill it.
#pragma once
#include <sys/types.h>

#include "cli/run/command_process.h"
#include "cli/run/guard_link.h"
#include "cli/run/signals.h"
#include "cli/terminal.h"

namespace holdfast::cli {

struct GuardProcess {
  pid_t pid;
  MainEnd link;  // closed when the guard is dead
};

// Throws std::system_error.  REQUIRES: the process has one thread.
GuardProcess fork_guard(const GuardedCommand& spec, const Signals& signals, const Terminal& terminal);

// Runs the guard.  REQUIRES: the process was forked for it, and has one thread.
[[noreturn]] void be_guard(GuardEnd link, const GuardedCommand& spec, const Signals& signals,
                           const Terminal& terminal);

}  // namespace holdfast::cli
