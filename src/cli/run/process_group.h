// SPDX-License-Identifier: Apache-2.0
// process_group.h - signals CMD and everything it started: its process group, and processes that left it.
//
// Nothing here allocates memory: it must work when there is none.
#pragma once
#include <sys/types.h>

namespace holdfast::cli {

// A process group by its number.  The kernel does not reuse the number while one process of the group exists,
// even as a zombie.  After collecting the leader, the caller checks at once, and then often, whether the
// group is empty.  Once it was seen empty, it is not signalled any more: the number may be reused.
class Group {
 public:
  Group() noexcept = default;  // no group
  explicit Group(pid_t number) noexcept;

  pid_t number() const noexcept { return number_; }
  // There is a group, and it was not seen empty.
  explicit operator bool() const noexcept { return number_ != 0 && !gone_; }

  // Sends the signal to every process of the group.
  void signal(int signal) noexcept;

  // No process is left, not even a zombie.
  bool is_empty() noexcept;
  // Another process saw it empty.
  void mark_gone() noexcept { gone_ = true; }

  // No process of it runs; zombies that their parents do not collect may be left.  Reads /proc; without the
  // /proc of our pid namespace, only an empty group is known to be dead.  REQUIRES: SIGKILL was sent before;
  // a process that can still fork could be missed.
  bool is_dead() noexcept;

  // A running process of the group, or a child of this process, that we may not signal; 0: none.  Reads
  // /proc.
  pid_t unkillable_process() noexcept;

 private:
  pid_t number_ = 0;
  bool gone_ = false;
};

// Sends KILL to each child of this process; returns true if there was one, even a zombie.  Their children
// become ours (we are a subreaper), so the caller ends all descendants by calling this and collecting until
// it returns false.  A child's number is not reused until we collect it, and a process is signalled only if
// the kernel says that it is our child, whatever /proc says.  Without the /proc of our pid namespace, a dead
// child that another process traces counts as left.  REQUIRES: only the calling thread collects children.
bool kill_children() noexcept;

// False for a zombie: its children already have another parent.  REQUIRES: it was not collected, because its
// number may be reused then.
bool runs(pid_t child) noexcept;

bool has_children() noexcept;

// From now on, orphans of our descendants become our children, not those of init.
void become_subreaper() noexcept;

}  // namespace holdfast::cli
