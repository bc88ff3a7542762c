// SPDX-License-Identifier: Apache-2.0
// commands.h - the functions that execute the commands.  Each returns the exit code.
#pragma once
#include "cli/words/command_line.h"

namespace holdfast::cli {

int execute(const Run& command, const Common& common);
int execute(const Acquire& command, const Common& common);
int execute(const Renew& command, const Common& common);
int execute(const Release& command, const Common& common);
int execute(const Show& command, const Common& common);
int execute(const Ls& command, const Common& common);
int execute(const Watch& command, const Common& common);
int execute(const Top& command, const Common& common);
int execute(const Wait& command, const Common& common);
int execute(const Break& command, const Common& common);
int execute(const Purge& command, const Common& common);
int execute(const Init& command, const Common& common);
int execute(const Doctor& command, const Common& common);
int execute(const Config& command, const Common& common);
int execute(const Fence& command, const Common& common);
int execute(const JobsEnqueue& command, const Common& common);
int execute(const JobsWork& command, const Common& common);
int execute(const JobsLs& command, const Common& common);
int execute(const JobsShow& command, const Common& common);
int execute(const JobsChange& command, const Common& common);
int execute(const JobsLocked& command, const Common& common);
int execute(const JobsEnqueued& command, const Common& common);
int execute(const Explain& command, const Common& common);
int execute(const Version& command, const Common& common);
int execute(const Help& command, const Common& common);

}  // namespace holdfast::cli
