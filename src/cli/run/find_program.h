// SPDX-License-Identifier: Apache-2.0
// find_program.h - whether a program can be run, before it is needed.
#pragma once
#include <string>

namespace holdfast::cli {

// Looks where execvp() would: at the path, or along PATH for a plain name.  Zero, or errno.
int why_not_run(const std::string& program);

}  // namespace holdfast::cli
