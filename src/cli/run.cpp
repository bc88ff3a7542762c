// SPDX-License-Identifier: Apache-2.0
// run.cpp - `holdfast run KEY -- CMD`: acquire, run CMD under a guard, release, end as CMD did.
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <system_error>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/guard.h"
#include "cli/output.h"
#include "cli/process_group.h"
#include "cli/supervision.h"
#include "cli/turn.h"
#include "cli/wait_for_lease.h"
#include "core/terms.h"

namespace holdfast::cli {
namespace {

int code_of(int status) {
  return WIFSIGNALED(status) ? exit_signalled(WTERMSIG(status)) : WEXITSTATUS(status);
}

int cannot_run(const Work& work, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  const char* const right = missing           ? "; give a program that is in PATH, or the path of one"
                            : error == EACCES ? "; give one that is executable"
                                              : "";
  complain("cannot run \"" + printable(work.command.front()) + "\": " + std::strerror(error) + right);
  return missing ? exit_not_found : exit_cannot_run;
}

int lost(const Lease& lease, const std::string& why, const CommandEnd& end) {
  complain("the lease on " + printable(lease.key()) + " was lost: " + why +
           (end.forced ? "; the command was stopped" : "; the command may not have been alone"));
  return exit_lost;
}

bool succeeded(const CommandEnd& end) {
  return end.status && WIFEXITED(*end.status) && WEXITSTATUS(*end.status) == 0 && !end.forced &&
         end.cannot_run == 0;
}

// The lease is let go here, with nothing of CMD left.  Work that ended after the loss is never a success.
int conclude(Granted& granted, const Turn& turn, const Work& work, const CommandEnd& end) {
  Lease& lease = granted.lease;
  const Lost loss = lease.lost();
  if (loss.reason != Loss::none) return lost(lease, loss.detail, end);
  // First, so that whoever gets the key next sees it.
  if (succeeded(end)) note_success(turn, granted.client, lease);
  const auto released = lease.try_release();
  if (end.forced) return lost(lease, "it could not be renewed in time", end);
  if (end.cannot_run != 0) return cannot_run(work, end.cannot_run);
  if (!released)
    complain("the lease could not be released, it runs out by itself: " + released.error().detail);
  else if (*released != Released::released)
    return lost(lease, lease.lost().detail, end);
  if (end.status) return code_of(*end.status);
  complain("the guard process was killed, and the command with it");
  return exit_signalled(SIGKILL);
}

int supervise(Granted granted, const Run& command, GuardProcess guard, const Work& work, Signals& signals,
              const Terminal& terminal) {
  CommandEnd end;
  {
    const Fd proof(granted.client.proof_of_life());
    Supervision supervision(granted.lease, core::settle(command.options, {}).ttl, std::move(guard), signals,
                            terminal);
    end = supervision.see_through(proof.get());
  }
  return conclude(granted, command.turn, work, end);
}

}  // namespace

int execute(const Run& command, const Common& common) {
  const Work work{command.key, command.command};
  Signals signals;
  const Terminal terminal;
  become_subreaper();
  // First of all: it must share nothing with us that a store or a thread has touched.
  GuardProcess guard = fork_guard(work, signals, terminal);

  Waited waited =
      wait_for_lease({common.store, command.key, command.options, admission(command.turn)}, signals);
  if (const auto* interrupted = std::get_if<Interrupted>(&waited)) return exit_signalled(interrupted->signal);
  if (const auto* error = std::get_if<Error>(&waited)) {
    // Who takes busy for success does not want to hear of it: cron would send a mail.
    if (error->busy() && command.busy_code == exit_ok) return exit_ok;
    const int code = fail(*error);
    return error->busy() ? command.busy_code : code;
  }
  return supervise(std::get<Granted>(std::move(waited)), command, std::move(guard), work, signals, terminal);
}

}  // namespace holdfast::cli
