// SPDX-License-Identifier: Apache-2.0
// supervision.h - CMD runs under our lease: the main process's half of the guard.
//
// Two processes can end CMD's group, and either suffices.  The guard does it in time, whatever becomes of
// us.  We do it when the guard is dead, and beside it when the deadline is near: it may be stopped.
//
//   event                          | what we do
//   -------------------------------+--------------------------------------------------------------------
//   the lease was renewed          | Renewed to the guard, from a thread of the library
//   the lease was lost             | Stop to the guard, which does what --on-lost says
//   a signal                       | see signals.h
//   Stopped, by the terminal       | stop too; when continued: renew, then Continue, or if lost Stop at once:
//                                  | CMD is killed and does not move before
//   Stopped, for want of the       | if we have it: renew, then Continue with it.  If nobody can stop us and
//   keyboard                       | bring us to the foreground: HUP and Continue, once
//   the guard is stopped           | continue it: nobody has a reason to stop it
//   the guard is dead              | KILL the group, and what has left it; over only when nothing runs
//   the deadline is near           | KILL the group; nearer still and no word of the guard: KILL that too
//                                  | (not with --on-lost ignore)
//   ProgramFailed, CannotEnd       | say so
//   GroupGone                      | its number is not signalled any more
//   Ended, CannotRun               | it is over
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "cli/run/any_of.h"
#include "cli/run/guard.h"
#include "cli/run/process_group.h"
#include "holdfast/client.h"

namespace holdfast::cli {

// How CMD ended, with nothing of its group left.
struct CommandEnd {
  std::optional<int> status;  // as waitpid() has it; none if it never ran or nobody knows
  bool began = false;         // there was a process for it
  int cannot_run = 0;         // errno
  bool forced = false;        // it was ended because the lease was lost, or nearly
  bool signalled = false;     // with TERM or KILL, and not only by PROGRAM
  bool over_time = false;     // it was ended because it had had its time
  bool asked = false;         // somebody told us to end while it ran, and it was passed on; or typed it
  bool guard_died = false;    // before it could say how CMD ended
  int typed = 0;              // it died of this, INT or QUIT, which somebody typed
  bool typed_to_it = false;   // and our own group has not heard of that
};

// What the main process knows of the run it supervises.
struct RunConfig {
  Millis ttl;
  const Ending& ending;
  bool childless;  // we had no child before the guard: whoever is one later is CMD's
};

class Supervision {
 public:
  // Throws std::system_error.
  Supervision(Lease& lease, const RunConfig& config, GuardProcess guard, Signals& signals,
              const Terminal& terminal);

  // Starts CMD and returns when it is over.  `proof` is sent to the guard; the caller keeps its own.
  CommandEnd see_through(int proof);

 private:
  void start(int proof);
  void hear_guard();
  void on(const Started& started) {
    group_ = Group(started.group);
    end_.began = true;
  }
  void on(const CannotRun& failure);
  void on(const Stopped& stopped);
  void on(const ProgramFailed& failure);
  void on(const GroupGone&) { group_.is_gone(); }
  void on(const CannotEnd& stranger) { say_cannot_end(stranger.pid); }
  void on(const Ended& ended);
  void hear_signals();
  void go_on();
  void hang_up();
  void look_after_children();
  void look_at_lease(Instant now);
  void end_the_rest();
  void say_cannot_end(pid_t stranger);
  bool may_have_keyboard() const { return !in_background_ && terminal_.is_ours(); }
  Schedule schedule() const;
  Instant next_look(Instant now) const;

  Lease& lease_;
  const RunConfig config_;
  const pid_t guard_;
  // Shared with functions that the library may still be calling when we are gone.
  std::shared_ptr<MainEnd> link_;
  std::shared_ptr<Wakeup> wakeup_ = std::make_shared<Wakeup>();
  Signals& signals_;
  const Terminal& terminal_;
  AnyOf sources_;

  Group group_;
  bool in_background_;     // CMD, until it asks for the keyboard
  bool hung_up_ = false;   // CMD was sent HUP
  int ending_signal_ = 0;  // that was sent to us
  bool ending_typed_ = false;
  bool killed_ = false;  // by us
  bool said_cannot_ = false;
  bool guard_lives_ = true;               // it may still have something to say
  Instant alone_since_ = Instant::max();  // it has not
  bool guard_collected_ = false;          // its number may be somebody else's
  bool told_loss_ = false;
  bool over_ = false;
  CommandEnd end_;
};

}  // namespace holdfast::cli
