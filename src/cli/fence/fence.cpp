// SPDX-License-Identifier: Apache-2.0
// fence.cpp - `holdfast fence FILE TOKEN -- CMD`: claim FILE, then become CMD.
//
// There is no process of ours beside CMD that could be killed without it: signals, the terminal and the exit
// code are CMD's own.  The lock is the open file's, which CMD inherits, so it ends when CMD has ended, and
// with it whatever CMD has left running.
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/fence_file.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run/exec.h"

namespace holdfast::cli {

int execute(const Fence& command, const Common&) {
  const auto claim = FenceFile::claim(command.file, command.token, command.wait);
  if (!claim) return fail(claim.error());
  if (outlives_exec(claim->fd())) {
    const std::vector<char*> argv = arguments(command.command);
    ::execvp(argv[0], argv.data());
  }
  return cannot_run(command.command.front(), errno);
}

}  // namespace holdfast::cli
