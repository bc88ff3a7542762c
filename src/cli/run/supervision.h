// SPDX-License-Identifier: Apache-2.0
// supervision.h - supervises CMD while it runs under our lease: the main process's side of the guard.
//
// Two processes can end CMD's group, and either suffices.  The guard ends it in time even if we hang or die.
// We end it when the guard is dead, and also when the deadline is near, because the guard may be stopped.
//
//   event                          | action
//   -------------------------------+--------------------------------------------------------------------
//   the lease was renewed          | Renewed to the guard, from a thread of the library
//   the lease was lost             | Stop to the guard, which does what --on-lost says
//   a signal                       | see signals.h
//   Stopped, by the terminal       | stop too; when continued: renew, then Continue.  If the lease is lost,
//                                  | Stop at once: CMD is killed before it continues
//   Stopped, because it has no     | if we have the keyboard: renew, then Continue with it.  If no shell can
//   keyboard                       | bring us to the foreground: HUP and Continue, once
//   the guard is stopped           | continue it
//   the guard is dead              | KILL the group and the processes that left it; over when none runs
//   the deadline is near           | KILL the group; if the guard does not report its end, KILL the guard too
//                                  | (not with --on-lost ignore)
//   ProgramFailed, CannotEnd       | complain
//   GroupGone                      | do not signal its number any more
//   Ended, CannotRun               | it is over
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "base/wakeup.h"
#include "cli/epoll_set.h"
#include "cli/run/guard.h"
#include "cli/run/process_group.h"
#include "holdfast/client.h"

namespace holdfast::cli {

// How CMD ended.  No process of its group is left.
struct CommandEnd {
  std::optional<int> status;  // of waitpid(); none if CMD never ran or its end is unknown
  bool began = false;         // a process was created for it
  int cannot_run = 0;         // errno
  bool forced = false;        // it was ended because the lease was lost or about to be
  bool signalled = false;     // by TERM or KILL, and not only by PROGRAM
  bool over_time = false;     // it was ended because of --at-most
  bool asked = false;         // a signal asked us to end while CMD ran, and was passed on; or was typed
  bool guard_died = false;    // before it reported how CMD ended
  int typed = 0;              // it died of this signal, INT or QUIT, which somebody typed
  bool typed_to_it = false;   // our own group did not get that signal
};

// The settings of the run.
struct RunConfig {
  Millis ttl;
  const Ending& ending;
  bool childless;  // we had no child before the guard, so every later one comes from CMD
};

class Supervision {
 public:
  // Throws std::system_error.
  Supervision(Lease& lease, const RunConfig& config, GuardProcess guard, Signals& signals,
              const Terminal& terminal);

  // Starts CMD and returns when it has ended.  Sends a copy of `proof` to the guard.
  CommandEnd run(int proof);

 private:
  void start(int proof);
  void receive_from_guard();
  void on(const Started& started) {
    group_ = Group(started.group);
    end_.began = true;
  }
  void on(const CannotRun& failure);
  void on(const Stopped& stopped);
  void on(const ProgramFailed& failure);
  void on(const GroupGone&) { group_.mark_gone(); }
  void on(const CannotEnd& process) { report_unkillable(process.pid); }
  void on(const Ended& ended);
  void handle_signals();
  void continue_command();
  void hang_up();
  void collect_children();
  void check_lease(Instant now);
  void kill_remaining();
  void report_unkillable(pid_t pid);
  bool may_have_keyboard() const { return !in_background_ && terminal_.is_ours(); }
  Schedule schedule() const;
  Instant next_check(Instant now) const;

  Lease& lease_;
  const RunConfig config_;
  const pid_t guard_;
  // Shared, because the library may still call our functions after we are destroyed.
  std::shared_ptr<MainEnd> link_;
  std::shared_ptr<Wakeup> wakeup_ = std::make_shared<Wakeup>();
  Signals& signals_;
  const Terminal& terminal_;
  EpollSet sources_;

  Group group_;
  bool in_background_;     // CMD runs in the background until it asks for the keyboard
  bool hung_up_ = false;   // CMD was sent HUP
  int ending_signal_ = 0;  // the signal that asked us to end
  bool ending_typed_ = false;
  bool killed_ = false;  // by us
  bool reported_unkillable_ = false;
  bool guard_lives_ = true;               // it may still send messages
  Instant alone_since_ = Instant::max();  // when it closed its link
  bool guard_collected_ = false;          // waitpid() returned it: its number may be reused
  bool sent_loss_ = false;
  bool over_ = false;
  CommandEnd end_;
};

}  // namespace holdfast::cli
