// SPDX-License-Identifier: Apache-2.0
// process_group.h - CMD and all it started, as long as that stays in its group.
#pragma once
#include <sys/types.h>

namespace holdfast::cli {

// To every process of the group.
void signal_group(pid_t group, int signal) noexcept;

// Nothing of the group is left, not even a zombie.
bool group_is_empty(pid_t group) noexcept;

// Nothing of the group runs any more; a zombie that its parent does not collect may be left.  Reads /proc.
// REQUIRES: the group was sent SIGKILL before: one that can still fork can hide from us.
bool group_is_dead(pid_t group);

// Orphans of our descendants become our children, to be collected by us; and not init's.
void become_subreaper() noexcept;

}  // namespace holdfast::cli
