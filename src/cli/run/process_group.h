// SPDX-License-Identifier: Apache-2.0
// process_group.h - CMD and all it started: its group, and what has left that.
//
// Nothing here allocates: it must work when there is no memory to be had.
#pragma once
#include <sys/types.h>

namespace holdfast::cli {

// A group by its number.  That is nobody else's as long as one of the group is there, if only to be
// collected; whoever collects its leader looks at once, and then often, whether it is empty.  From the
// moment it was seen to be, it is not signalled any more: the number may be another's.
class Group {
 public:
  Group() noexcept = default;  // none
  explicit Group(pid_t number) noexcept;

  pid_t number() const noexcept { return number_; }
  // There was one, and it was not seen empty.
  explicit operator bool() const noexcept { return number_ != 0 && !gone_; }

  // To every process of it.
  void signal(int signal) noexcept;

  // Nothing of it is left, not even a zombie.
  bool is_empty() noexcept;
  // The same, on somebody's word.
  void is_gone() noexcept { gone_ = true; }

  // Nothing of it runs any more; a zombie that its parent does not collect may be left.  Reads /proc; without
  // one of our own, only an empty group is known to be dead.
  // REQUIRES: it was sent SIGKILL before: one that can still fork can hide from us.
  bool is_dead() noexcept;

  // One of it, or a child of this process, that runs and that we may not signal; 0: none.  Reads /proc.
  pid_t whom_we_may_not_end() noexcept;

 private:
  pid_t number_ = 0;
  bool gone_ = false;
};

// KILL to each child of this process; true if one was left, if only to be collected.  Their children become
// ours then (we are a subreaper), so that doing it until it says false, and collecting, ends all descendants,
// wherever they have gone.  A child's number is nobody else's until we have collected it; and only what the
// kernel calls our child is signalled, whatever /proc says.  Where that is missing, or of another pid
// namespace, one that has died and is traced by somebody else counts as left.
// REQUIRES: only the calling thread collects children.
bool kill_children() noexcept;

// False of a dead one, whoever is to collect it: its children are others' already.  REQUIRES: it was not
// collected, or its number may be somebody else's.
bool runs(pid_t child) noexcept;

bool has_children() noexcept;

// Orphans of our descendants become our children, to be collected by us; and not init's.
void become_subreaper() noexcept;

}  // namespace holdfast::cli
