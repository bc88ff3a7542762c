// SPDX-License-Identifier: Apache-2.0
// exec.h - helpers around exec: arguments, inherited descriptors, and whether a program can be run.
#pragma once
#include <string>
#include <vector>

namespace holdfast::cli {

// The argv of exec.  It points into `command`.
std::vector<char*> arguments(const std::vector<std::string>& command);

// Duplicates `fd` without close-on-exec.  Scripts use the small numbers (`exec 3>file`), and shells a few
// above ten, so it takes 64 or above, or a smaller number if the limit of open files is below that.  False:
// see errno.  Safe between fork and exec.
bool outlives_exec(int fd) noexcept;

// Searches as execvp() does: the path itself, or PATH for a plain name.  Returns 0 or an errno.
int why_not_run(const std::string& program);

// Complains that the program cannot be run for that errno, and returns the exit code.
int cannot_run(const std::string& program, int error);
// The same for PROGRAM of --on-lost exec:PROGRAM.
int cannot_run_on_lost(const std::string& program, int error);

}  // namespace holdfast::cli
