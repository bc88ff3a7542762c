// SPDX-License-Identifier: Apache-2.0
// run.cpp - `holdfast run KEY -- CMD`: acquire, run CMD under a guard, release, end as CMD did.
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <system_error>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run/find_program.h"
#include "cli/run/guard.h"
#include "cli/run/keep_key.h"
#include "cli/run/process_group.h"
#include "cli/run/run_condition.h"
#include "cli/run/supervision.h"
#include "cli/run/wait_for_lease.h"
#include "cli/setup/store_url.h"
#include "core/terms.h"

namespace holdfast::cli {
namespace {

int code_of(int status) {
  return WIFSIGNALED(status) ? exit_signalled(WTERMSIG(status)) : WEXITSTATUS(status);
}

// What stays the same from the fork of the guard to the end.
struct RunContext {
  const Run& command;
  const Work& work;
  Signals& signals;
  const Terminal& terminal;
  bool childless;  // before there was a guard
};

// `how` it came about, and what was done.
int lost(const Lease& lease, const std::string& how, const RunContext& context, const CommandEnd& end) {
  const std::string program = "; \"" + printable(context.work.ending.program) + "\" of --on-lost was run";
  complain("the lease on " + printable(lease.key()) + " " + how +
           (!end.began || end.cannot_run != 0 ? "; the command was not started"
            : !end.forced ? "; the command may have run at the same time as another holder"
            : !end.signalled && context.work.ending.on_lost == OnLost::exec ? program
                                                                            : "; the command was stopped"));
  return exit_lost;
}

int over_time(const Work& work) {
  const std::string& from = work.ending.at_most_from;
  complain("\"" + printable(work.command.front()) + "\" took longer than " + (from.empty() ? "--" : "") +
           "at-most " + format_duration(work.ending.at_most) +
           (from.empty() ? "" : " (set in " + printable(from) + ")") + "; it was stopped");
  return exit_timed_out;
}

// Of --on-lost, before it is needed: when the lease is lost, nobody is there to put it right.  0: it is
// there.
int look_for_program(const Ending& ending) {
  const int error = ending.on_lost == OnLost::exec ? why_not_run(ending.program) : 0;
  if (error == 0) return 0;
  const bool missing = error == ENOENT || error == ENOTDIR;
  const bool words = ending.program.find(' ') != std::string::npos;
  complain("cannot run \"" + printable(ending.program) + "\" of --on-lost: " + std::strerror(error) +
           (missing && words ? "; exec: takes no arguments, so give the path of a script"
            : missing        ? "; give the name of a program in PATH, or its path"
                             : "; make it executable, or give another program"));
  return missing ? exit_not_found : exit_cannot_run;
}

bool succeeded(const CommandEnd& end) {
  return end.status && WIFEXITED(*end.status) && WEXITSTATUS(*end.status) == 0 && !end.forced &&
         !end.over_time && end.cannot_run == 0;
}

// The key is kept for so long, though CMD has ended.
Instant kept_until(Instant granted_at, const RunContext& context, const CommandEnd& end) {
  if (!end.status || end.forced || end.asked) return Instant::min();
  return clamped_add(granted_at, context.command.ending.at_least);
}

// Of a lease that was held until CMD had ended.  None: all is well, or as well as it can be.
std::optional<int> give_back(Lease& lease, const RunContext& context, const CommandEnd& end, bool kept) {
  const auto released = lease.try_release();
  const Lost loss = lease.lost();
  const std::string late = "could not be renewed in time";
  if (end.forced && loss.reason != Loss::none) return lost(lease, "was lost: " + loss.detail, context, end);
  if (end.forced && !released) return lost(lease, "was lost: it " + late, context, end);
  if (end.forced)
    return lost(lease, late, context, end);  // the store came back in time, but too late for CMD
  if (kept && loss.reason != Loss::none)
    complain("the lease on " + printable(lease.key()) + " was lost: " + loss.detail +
             "; the command had already ended, but the key was not kept for all of --at-least");
  else if (!released && end.cannot_run == 0)
    complain("cannot release the lease on " + printable(lease.key()) + ": " + released.error().detail +
             "; it will expire by itself");
  else if (released && *released != Released::released && end.cannot_run == 0)
    return lost(lease, "was lost: " + loss.detail, context, end);
  return std::nullopt;
}

int guard_was_killed(const CommandEnd& end) {
  const bool killed = !end.status || (WIFSIGNALED(*end.status) && WTERMSIG(*end.status) == SIGKILL);
  complain(std::string("the guard process was killed") + (!end.began ? "; the command was not started"
                                                          : killed   ? ", and the command with it"
                                                                     : ""));
  return end.status ? code_of(*end.status) : exit_signalled(SIGKILL);
}

// The lease is let go here, with nothing of CMD left.  Work that ended after the loss is never a success.
int conclude(Granted& granted, Instant granted_at, const RunContext& context, const CommandEnd& end) {
  Lease& lease = granted.lease;
  const bool noted = succeeded(end) && context.command.turn.every > Millis::zero();
  const Instant until = kept_until(granted_at, context, end);
  const bool kept = BootClock::now() < until;
  // Broken since the last renewal, it was no lease to the end of CMD, and nobody has told us.
  Status confirmed = noted || kept ? lease.try_renew() : Status{};
  const Lost loss = lease.lost();
  if (loss.reason != Loss::none) return lost(lease, "was lost: " + loss.detail, context, end);
  // First, so that whoever gets the key next sees it.
  if (noted) note_success(granted.client, lease, std::move(confirmed));
  if (kept) keep_key(lease, until, context.signals);
  if (const auto code = give_back(lease, context, end, kept)) return *code;
  if (end.cannot_run != 0) return cannot_run(context.work.command.front(), end.cannot_run);
  if (end.over_time) return over_time(context.work);
  if (end.guard_died || !end.status) return guard_was_killed(end);
  return code_of(*end.status);
}

int supervise(Granted granted, GuardProcess guard, const RunContext& context, CommandEnd& end) {
  const Instant granted_at = BootClock::now();
  {
    const Fd proof(granted.client.proof_of_life());
    const RunConfig config{core::settle(context.command.options, {}).ttl, context.command.ending,
                           context.childless};
    Supervision supervision(granted.lease, config, std::move(guard), context.signals, context.terminal);
    end = supervision.see_through(proof.get());
  }
  return conclude(granted, granted_at, context, end);
}

// Somebody typed Ctrl-C or Ctrl-\, and means the script around us too.  Had CMD not had the keyboard for
// itself, all of our group would have got it.
void end_as_typed(int signal, Signals::Whom whom) {
  if (signal == SIGINT || signal == SIGQUIT) Signals::die_of(signal, whom);
}

}  // namespace

int execute(const Run& command, const Common& common) {
  if (const int error = look_for_program(command.ending)) return error;
  const Work work{.key = command.key, .command = command.command, .ending = command.ending};
  Signals signals;
  const Terminal terminal;
  const bool childless = !has_children();
  become_subreaper();
  // First of all: it must share nothing with us that a store or a thread has touched.
  GuardProcess guard = fork_guard(work, signals, terminal);

  const bool implicit = common.setup->store.implicit;
  Waited waited = wait_for_lease(
      {common.store, command.key, command.options, admission(command.turn, implicit), common.quiet}, signals);
  if (const auto* interrupted = std::get_if<Interrupted>(&waited)) {
    if (interrupted->typed) end_as_typed(interrupted->signal, Signals::Whom::us);
    return exit_signalled(interrupted->signal);
  }
  if (const auto* error = std::get_if<Error>(&waited)) {
    // Who takes busy for success does not want to hear of it: cron would send a mail.
    if (error->busy() && command.busy_code == exit_ok) return exit_ok;
    const int code = fail(*error);
    return error->busy() ? command.busy_code : code;
  }
  CommandEnd end;
  const int code = supervise(std::get<Granted>(std::move(waited)), std::move(guard),
                             {command, work, signals, terminal, childless}, end);
  if (code == exit_signalled(end.typed))
    end_as_typed(end.typed, end.typed_to_it ? Signals::Whom::our_group : Signals::Whom::us);
  return code;
}

}  // namespace holdfast::cli
