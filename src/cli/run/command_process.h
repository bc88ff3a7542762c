// SPDX-License-Identifier: Apache-2.0
// command_process.h - how the guard starts CMD: fork, set up, exec.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "cli/run/guard_link.h"
#include "cli/run/run.h"
#include "cli/run/signals.h"
#include "cli/terminal.h"

namespace holdfast::cli {

// The command to run, and its key: known before the guard is forked.
struct GuardedCommand {
  std::string key;
  std::vector<std::string> command;                                   // REQUIRES: not empty
  std::vector<std::pair<std::string, std::string>> environment = {};  // besides HOLDFAST_KEY and the like
  Ending ending = {};
};

// The environment of CMD.  CMD has its own process group, the signal settings that we were started with, and
// the descriptors 0, 1, 2 and `proof`.  It dies with the guard that forked it, except with --on-lost ignore.
struct CommandSetup {
  const GuardedCommand& spec;
  const Signals& signals;
  const Terminal& terminal;
  const Start& start;
  int proof;       // the descriptor that proves that the client lives; -1: none
  int input = -1;  // stdin of CMD; -1: ours
};

struct CommandProcess {
  pid_t pid;  // leads the group of that number
  Fd socket;  // CMD waits here for a byte before exec.  Then: end of file if exec succeeded, else errno
};

// Forks CMD, which waits for let_exec() before it execs.  Sets HOLDFAST_* in the guard's own environment.
// Throws std::system_error if no process can be created.  REQUIRES: the caller has one thread and blocks all
// signals.
CommandProcess prepare_command(const CommandSetup& setup);

void let_exec(const CommandProcess& command) noexcept;

// PROGRAM of --on-lost, which is run instead of sending TERM.
struct OnLostProgram {
  const char* program;
  const char* reason;
  pid_t group;  // CMD's
};

// Forks and execs PROGRAM in its own process group, with an empty stdin, the HOLDFAST_* variables of CMD,
// HOLDFAST_REASON and HOLDFAST_GROUP.  It dies with us.  If no process can be created, its pid is -1; see
// errno.  REQUIRES: prepare_command() was called here; one thread, which blocks all signals.
CommandProcess start_on_lost_program(const OnLostProgram& program, const Signals& signals) noexcept;

// The result of exec: 0 or an errno; nullopt if it is not known yet, or was returned before.
std::optional<int> exec_outcome(const CommandProcess& command) noexcept;

}  // namespace holdfast::cli
