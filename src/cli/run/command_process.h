// SPDX-License-Identifier: Apache-2.0
// command_process.h - from the guard to CMD: fork, set the stage, exec.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "cli/run/guard_link.h"
#include "cli/run/signals.h"
#include "cli/run/terminal.h"
#include "cli/words/command_line.h"

namespace holdfast::cli {

// What to run under which key: known before the guard is forked.
struct Work {
  std::string key;
  std::vector<std::string> command;                                   // REQUIRES: not empty
  std::vector<std::pair<std::string, std::string>> environment = {};  // besides what `run` sets
  Ending ending = {};
};

// How CMD finds the world.  It has a process group of its own, the signals as we found them, the
// descriptors 0, 1, 2 and the one that proves it alive, and dies with the guard that forked it
// (not with --on-lost ignore: then it shall outlive us all).
struct Stage {
  const Work& work;
  const Signals& signals;
  const Terminal& terminal;
  const Start& start;
  int proof;       // -1: none
  int input = -1;  // its stdin; -1: ours
};

struct CommandProcess {
  pid_t pid;  // leads the group of that number
  Fd line;    // CMD waits for one byte here before it execs.  Then: end of file when it has, errno when it
              // cannot
};

// Forks CMD, which stops short of exec until let_go().  Sets HOLDFAST_* in the guard's own environment on
// the way.  Throws std::system_error if there is no process to be had.
// REQUIRES: the caller has one thread and blocks all signals.
CommandProcess prepare_command(const Stage& stage);

void let_go(const CommandProcess& command) noexcept;

// Of PROGRAM, which is run instead of TERM.
struct Alarm {
  const char* program;
  const char* reason;
  pid_t group;  // CMD's
};

// Forks PROGRAM, in a group of its own, with nothing to read and HOLDFAST_* as CMD has them, and
// HOLDFAST_REASON and HOLDFAST_GROUP.  It dies with us.  Nobody has to let it go.  Its pid is -1, and errno
// says why, if there is no process to be had.
// REQUIRES: prepare_command() was called here; one thread, which blocks all signals.
CommandProcess sound_alarm(const Alarm& alarm, const Signals& signals) noexcept;

// What came of exec: zero, or errno; nothing yet, or nothing new, while it is not known.
std::optional<int> exec_outcome(const CommandProcess& command) noexcept;

}  // namespace holdfast::cli
