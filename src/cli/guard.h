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
//   idle      | Start, too late                    | Ended{forced}                             | gone
//   idle      | main gone                          |                                           | gone
//   running   | Renewed                            | moves its alarms                          | running
//   running   | Signal                             | to the group                              | running
//   running   | exec failed                        | CannotRun                                 | gone
//   running   | CMD stops                          | takes the keyboard back; Stopped          | running
//   running   | Continue                           | keyboard and CONT to the group            | running
//   running   | Stop; or the alarm of TERM         | TERM to the group                         | running
//   running   | main gone; or the alarm of KILL    | KILL to the group, until it is dead       | running
//   running   | CMD ends                           | TERM to what is left of the group         | ending
//   ending    | main gone; or the alarm of KILL    | KILL to the group, until it is dead       | ending
//   ending    | the group is dead                  | takes the keyboard back; Ended            | gone
//
// It has a process group of its own, so that whoever stops or kills main's group does not get it too.
#pragma once
#include <sys/types.h>

#include "cli/command_process.h"
#include "cli/guard_link.h"
#include "cli/signals.h"
#include "cli/terminal.h"

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
