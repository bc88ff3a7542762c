// SPDX-License-Identifier: Apache-2.0
// supervision.h - CMD runs under our lease: the main process's half of the guard.
//
// Two processes can end CMD's group, and either suffices.  The guard does it in time, whatever becomes of
// us.  We do it when the guard is dead, and beside it when the deadline is near: it may be stopped.
//
//   event                          | what we do
//   -------------------------------+--------------------------------------------------------------------
//   the lease was renewed          | Renewed to the guard, from a thread of the library
//   the lease was lost             | Stop to the guard: TERM, then KILL
//   a signal                       | see signals.h
//   Stopped, by the terminal       | stop too; when continued: renew, then Continue, or if lost Stop at once
//   the guard is stopped           | continue it: nobody has a reason to stop it
//   the guard is dead              | KILL the group; it is over only when nothing of it runs
//   the deadline is near           | KILL the group; nearer still and no word of the guard: KILL that too
//   Ended, CannotRun               | it is over
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "base/wakeup.h"
#include "cli/any_of.h"
#include "cli/guard.h"
#include "holdfast/client.h"

namespace holdfast::cli {

// How CMD ended, with nothing of its group left.
struct CommandEnd {
  std::optional<int> status;  // as waitpid() has it; none if it never ran or nobody knows
  int cannot_run = 0;         // errno
  bool forced = false;        // it was ended because the lease was lost, or nearly
};

class Supervision {
 public:
  // Throws std::system_error.
  Supervision(Lease& lease, Millis ttl, GuardProcess guard, Signals& signals, const Terminal& terminal);

  // Starts CMD and returns when it is over.  `proof` is sent to the guard; the caller keeps its own.
  CommandEnd see_through(int proof);

 private:
  void start(int proof);
  void hear_guard();
  void on(const Started& started) { group_ = started.group; }
  void on(const CannotRun& failure);
  void on(const Stopped& stopped);
  void on(const Ended& ended);
  void hear_signals();
  void go_on();
  void look_after_children();
  void look_at_lease(Instant now);
  Instant next_look(Instant now) const;

  Lease& lease_;
  const Millis ttl_;
  const pid_t guard_;
  // Shared with functions that the library may still be calling when we are gone.
  std::shared_ptr<MainEnd> link_;
  std::shared_ptr<Wakeup> wakeup_ = std::make_shared<Wakeup>();
  Signals& signals_;
  const Terminal& terminal_;
  AnyOf sources_;

  pid_t group_ = 0;  // none yet
  bool guard_lives_ = true;
  bool told_loss_ = false;
  bool over_ = false;
  CommandEnd end_;
};

}  // namespace holdfast::cli
