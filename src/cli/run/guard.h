// SPDX-License-Identifier: Apache-2.0
// guard.h - the process between `run` and its command, which ends the command before its lease ends.
//
//   main ── link ── guard ── CMD (own group)
//
// The guard is forked first, before any thread, store or secret, does nothing that can hang, and is CMD's
// parent.  It knows the deadline from the main process and needs nobody to keep it:
//
//   state     | event                              | what it does                              | next
//   ----------+------------------------------------+-------------------------------------------+---------
//   idle      | Input                              | keeps it for CMD                          | idle
//   idle      | Start, in time                     | Started, then let CMD exec                | running
//   idle      | Start, too late                    | Ended{lease}                              | gone
//   idle      | main gone                          |                                           | gone
//   running   | Renewed                            | moves its alarms; calls PROGRAM off       | running
//   running   | Signal                             | to the group; CONT too if it is to end    | running
//   running   | exec failed                        | CannotRun                                 | gone
//   running   | CMD stops                          | takes the keyboard back; Stopped          | running
//   running   | Continue                           | keyboard and CONT to the group            | running
//   running   | the alarm of TERM; Stop            | TERM to the group; for exec PROGRAM       | running
//   running   | its time is over                   | TERM, and CONT: the lease is ours         | running
//   running   | PROGRAM cannot be run              | TERM to the group; ProgramFailed          | running
//   running   | the alarm of KILL; main gone       | KILL to all, until nothing is left        | running
//   running   | PROGRAM has had its grace          | KILL to that                              | running
//   running   | CMD ends                           | TERM to what is left of the group         | ending
//   ending    | the alarm of KILL; main gone       | KILL to the group, until it is dead       | ending
//   ending    | the group is empty, PROGRAM runs   | GroupGone: nobody signals that number     | ending
//   ending    | the group is dead, and PROGRAM     | KILL to what has left it, if CMD was ended| ending
//   both      | KILL, and one is not ours to kill  | CannotEnd, once                           |
//   ending    | and that too                       | takes the keyboard back; Ended            | gone
//
// Which alarms there are, and what Stop and main's end do, is schedule.h's business: with --on-lost ignore
// only --at-most sounds one, and the guard stays with CMD when main is gone.
//
// A CMD that ended by itself may have left somebody on purpose: a daemon, with a group of its own, lives
// on.  Not so if CMD was told or made to end, or died of KILL: then all our descendants end with it.
//
// Once CMD runs, nothing here allocates memory: when there is none, CMD is ended in time all the same.
//
// It has a process group of its own, so that whoever stops or kills main's group does not get it too.
#pragma once
#include <sys/types.h>

#include "cli/run/command_process.h"
#include "cli/run/guard_link.h"
#include "cli/run/signals.h"
#include "cli/run/terminal.h"

namespace holdfast::cli {

struct GuardProcess {
  pid_t pid;
  MainEnd link;  // closed: it is dead
};

// Throws std::system_error.  REQUIRES: the process has one thread.
GuardProcess fork_guard(const Work& work, const Signals& signals, const Terminal& terminal);

// In a process that was forked for it, with one thread.
[[noreturn]] void be_guard(GuardEnd link, const Work& work, const Signals& signals, const Terminal& terminal);

}  // namespace holdfast::cli
