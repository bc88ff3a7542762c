// SPDX-License-Identifier: Apache-2.0
// run.cpp - `holdfast run KEY -- CMD`: acquire, run CMD under a guard, release, end as CMD did.
#include "cli/run/run.h"

#include <sys/wait.h>

#include <csignal>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "base/url.h"
#include "base/wakeup.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run/exec.h"
#include "cli/run/guard.h"
#include "cli/run/process_group.h"
#include "cli/run/run_condition.h"
#include "cli/run/schedule.h"
#include "cli/run/supervision.h"
#include "cli/run/wait_for_lease.h"
#include "cli/setup/store_url.h"
#include "cli/words/values.h"
#include "holdfast/spi/store.h"

namespace holdfast::cli {
namespace {

// ---- what was given

Words on_lost_choices() { return {"term", "kill", "ignore", "exec:"}; }

constexpr OptionSpec run_options[] = {
    nonblock_option,
    wait_option,
    ttl_option,
    owner_option,
    note_option,
    {"-E,--conflict-exit-code", "CODE",
     "exit with CODE, not 75, if the key stays busy or --tick or --every skips CMD; with 0, print "
     "nothing"},
    {"--tick", "DURATION", "run CMD at most once per interval of this length, on all hosts together"},
    {"--every", "DURATION", "run CMD only if it has not succeeded within this time"},
    {"--on-lost", "WHAT", "what to do if the lease is lost: term (the default), kill, ignore or exec:PROGRAM",
     on_lost_choices},
    {"--kill-after", "DURATION",
     "time between TERM and KILL when CMD has to be ended (auto: a sixth of the ttl, at most 10s)"},
    {"--at-least", "DURATION", "keep KEY at least this long, even if CMD ends sooner"},
    {"--at-most", "DURATION", "end CMD after this time, exit 124 (default: forever)"},
};
constexpr Instead instead_of_run[] = {
    {"-k", "--kill-after"},  // of timeout
    {"-c", "-- sh -c"},      // of flock
};

int busy_code_of(const Given& given) {
  const Text text = given.text("--conflict-exit-code");
  if (!text) return exit_busy;
  const int code = whole_number<int>(*text).value_or(-1);
  if (code < 0 || code > 255)
    refuse("-E " + shown(*text) + " is not an exit code; give a number from 0 to 255");
  return code;
}

RunCondition run_condition_of(const Given& given) {
  const Text tick = given.text("--tick"), every = given.text("--every");
  if (tick && every)
    refuse("--tick " + printable(redacted(*tick)) + " and --every " + printable(redacted(*every)) +
           " exclude each other; give one of them");
  return {.tick = tick ? some_duration("--tick", *tick) : Millis::zero(),
          .every = every ? some_duration("--every", *every) : Millis::zero()};
}

OnLost on_lost_of(const Given& given, std::string& program) {
  const std::string what = given.text("--on-lost").value_or("term");
  constexpr std::string_view exec = "exec:";
  if (what == "term") return OnLost::term;
  if (what == "kill") return OnLost::kill;
  if (what == "ignore") return OnLost::ignore;
  if (!what.starts_with(exec))
    refuse("--on-lost " + shown(what) + " is invalid" + suggestion(what, on_lost_choices()) +
           "give term, kill, ignore or exec:PROGRAM");
  program = what.substr(exec.size());
  if (program.empty()) refuse("--on-lost exec: names no program; give exec:PROGRAM");
  return OnLost::exec;
}

Ending ending_of(const Given& given) {
  Ending ending;
  const Text kill_after = given.text("--kill-after"), at_least = given.text("--at-least"),
             at_most = given.text("--at-most");
  ending.on_lost = on_lost_of(given, ending.program);
  // "auto" and "forever" undo what a configuration sets.
  if (kill_after && *kill_after != "auto") ending.kill_after = duration("--kill-after", *kill_after);
  if (at_least) ending.at_least = duration("--at-least", *at_least);
  if (at_most && *at_most != "forever") ending.at_most = some_duration("--at-most", *at_most);
  ending.at_most_from = given.from("--at-most");
  return ending;
}

// ---- how it went

int code_of(int status) {
  return WIFSIGNALED(status) ? exit_signalled(WTERMSIG(status)) : WEXITSTATUS(status);
}

// What is known before the guard is forked.
struct RunContext {
  const Run& command;
  const GuardedCommand& spec;
  Signals& signals;
  const Terminal& terminal;
  bool childless;  // we had no child before the guard
};

// Complains that the lease was lost: `how`, and what became of CMD.
int lost(const Lease& lease, const std::string& how, const RunContext& context, const CommandEnd& end) {
  const std::string program = "; \"" + printable(context.spec.ending.program) + "\" of --on-lost was run";
  complain("the lease on " + printable(lease.key()) + " " + how +
           (!end.began || end.cannot_run != 0 ? "; the command was not started"
            : !end.forced ? "; the command may have run at the same time as another holder"
            : !end.signalled && context.spec.ending.on_lost == OnLost::exec ? program
                                                                            : "; the command was stopped"));
  return exit_lost;
}

int over_time(const GuardedCommand& spec) {
  const std::string& from = spec.ending.at_most_from;
  complain("\"" + printable(spec.command.front()) + "\" took longer than " + (from.empty() ? "--" : "") +
           "at-most " + format_duration(spec.ending.at_most) +
           (from.empty() ? "" : " (set in " + printable(from) + ")") + "; it was stopped");
  return exit_timed_out;
}

bool succeeded(const CommandEnd& end) {
  return end.status && WIFEXITED(*end.status) && WEXITSTATUS(*end.status) == 0 && !end.forced &&
         !end.over_time && end.cannot_run == 0;
}

// A signal arrived that ends the wait.
bool end_requested(Signals& signals) {
  bool ends = false;
  while (const auto signal = signals.next()) {
    switch (meaning_of(*signal)) {
      case Meaning::ends: ends = true; break;
      case Meaning::stops: Signals::stop_own_group(); break;
      case Meaning::child:  // the guard, or a daemon that CMD left running
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        break;
      case Meaning::passes:
      case Meaning::continues: break;
    }
  }
  return ends;
}

// For --at-least: CMD has ended, and the key is kept for the rest of the time.  Returns at `until`, or
// before:
//
//   event               | what we do
//   --------------------+------------------------------------------------------
//   INT TERM HUP QUIT   | return: nobody has to wait for a key that is not used
//   the lease is lost   | return: there is nothing to keep
//   TSTP                | stop; the lease may be gone when we are continued
//   USR1 USR2 WINCH     | ignored: CMD has ended
//
// Throws std::system_error.
void keep_key(Lease& lease, Instant until, Signals& signals) {
  // Shared, because the library may still call the function after we have returned.
  const auto wakeup = std::make_shared<Wakeup>();
  lease.on_lost([wakeup](const Lost&) { wakeup->ring(); });
  while (BootClock::now() < until && lease.held() && !end_requested(signals))
    wakeup->wait(until, signals.fd());
}

// The key is kept until then, although CMD has ended.
Instant kept_until(Instant granted_at, const RunContext& context, const CommandEnd& end) {
  if (!end.status || end.forced || end.asked) return Instant::min();
  return clamped_add(granted_at, context.command.ending.at_least);
}

// Releases a lease that was held until CMD had ended.  Returns the exit code if the lease was lost.
std::optional<int> release(Lease& lease, const RunContext& context, const CommandEnd& end, bool kept) {
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

// Releases the lease after everything that CMD started has ended.  A run that ended after the loss is never a
// success.
int conclude(Granted& granted, Instant granted_at, const RunContext& context, const CommandEnd& end) {
  Lease& lease = granted.lease;
  const bool recorded = succeeded(end) && context.command.condition.every > Millis::zero();
  const Instant until = kept_until(granted_at, context, end);
  const bool kept = BootClock::now() < until;
  // Somebody may have broken the lease since the last renewal, before CMD ended.
  Status confirmed = recorded || kept ? lease.try_renew() : Status{};
  const Lost loss = lease.lost();
  if (loss.reason != Loss::none) return lost(lease, "was lost: " + loss.detail, context, end);
  // Before the release, so that the next holder of the key sees it.
  if (recorded) record_success(granted.client, lease, std::move(confirmed));
  if (kept) keep_key(lease, until, context.signals);
  if (const auto code = release(lease, context, end, kept)) return *code;
  if (end.cannot_run != 0) return cannot_run(context.spec.command.front(), end.cannot_run);
  if (end.over_time) return over_time(context.spec);
  if (end.guard_died || !end.status) return guard_was_killed(end);
  return code_of(*end.status);
}

int supervise(Granted granted, GuardProcess guard, const RunContext& context, CommandEnd& end) {
  const Instant granted_at = BootClock::now();
  {
    const Fd proof(granted.store->proof_of_life());
    const RunConfig config{context.command.ttl, context.command.ending, context.childless};
    Supervision supervision(granted.lease, config, std::move(guard), context.signals, context.terminal);
    end = supervision.run(proof.get());
  }
  return conclude(granted, granted_at, context, end);
}

// Somebody typed Ctrl-C or Ctrl-\ to end the script around us too.  If CMD's group had not had the keyboard,
// the kernel would have sent the signal to all of our group.
void end_as_typed(int signal, Signals::Whom whom) {
  if (signal == SIGINT || signal == SIGQUIT) Signals::die_of(signal, whom);
}

}  // namespace

Run run_of(const Given& given) {
  Run run{.key = key_of(given),
          .options = acquire_options_of(given),
          .ttl = ttl_of("--ttl", given.text("--ttl")),
          .busy_code = busy_code_of(given),
          .condition = run_condition_of(given),
          .ending = ending_of(given),
          .command = given.cmd};
  if (run.ttl == never)
    refuse("--ttl never is not for run: if this host died, its lease would never end; give a duration");
  if (run.ending.kill_after.value_or(Millis::zero()) > Schedule::longest_grace(run.ttl))
    refuse("--kill-after " + shown(*given.text("--kill-after")) + " is too long for a lease of " +
           format_duration(run.ttl) + "; give at most " + format_duration(Schedule::longest_grace(run.ttl)) +
           ", a third of --ttl");
  if (run.command.empty())
    refuse("CMD is missing after the key " + shown(run.key) + "; usage: " + usage_of(*given.command));
  if (run.command.front().empty()) refuse("CMD is empty; give the name of a program");
  return run;
}

static int execute(const Run& command, const Common& common) {
  discard_closed_stdout();  // CMD writes to it
  // Now, because nobody could correct the program when the lease is lost.
  if (command.ending.on_lost == OnLost::exec) {
    if (const int error = why_not_run(command.ending.program))
      return cannot_run_on_lost(command.ending.program, error);
  }
  const GuardedCommand spec{.key = command.key, .command = command.command, .ending = command.ending};
  Signals signals;
  const Terminal terminal;
  const bool childless = !has_children();
  become_subreaper();
  // Before the first store and thread: the guard must share nothing with them.
  GuardProcess guard = fork_guard(spec, signals, terminal);

  const bool warns = common.setup->store.implicit && !common.quiet;
  WaitResult result = wait_for_lease(
      {common.store, command.key, command.options, admission(command.condition, warns), common.quiet},
      signals);
  if (const auto* interrupted = std::get_if<Interrupted>(&result)) {
    if (interrupted->typed) end_as_typed(interrupted->signal, Signals::Whom::us);
    return exit_signalled(interrupted->signal);
  }
  if (const auto* error = std::get_if<Error>(&result)) {
    // -E 0 means that busy is a success; then nothing is printed, because cron would mail it.
    if (error->busy() && command.busy_code == exit_ok) return exit_ok;
    const int code = fail(*error);
    return error->busy() ? command.busy_code : code;
  }
  CommandEnd end;
  const int code = supervise(std::get<Granted>(std::move(result)), std::move(guard),
                             {command, spec, signals, terminal, childless}, end);
  if (code == exit_signalled(end.typed))
    end_as_typed(end.typed, end.typed_to_it ? Signals::Whom::our_group : Signals::Whom::us);
  return code;
}

constinit const CommandSpec commands::run{
    .name = "run",
    .usage = "[OPTION]... KEY [--] CMD [ARG]...",
    .purpose = "Run CMD while holding KEY",
    .options = run_options,
    .more =
        R"(Without -n and -w it waits forever for a busy key, but only 10 s for a store that cannot be reached.
The first word after KEY that is not an option is CMD, and everything after it belongs to CMD. CMD finds
HOLDFAST_KEY, _TOKEN, _OWNER, _DEADLINE and _STORE in its environment. If the lease is lost, CMD's process group is
ended in time.

Exit code: CMD's own, or 128+N if signal N killed it; 75 busy, 76 lease lost, 69 store unreachable,
64 usage error, 77 refused, 124 longer than --at-most, 126 CMD cannot be run, 127 CMD not found.

  holdfast run nightly -- ./backup.sh
  holdfast run -n -E 0 --tick 15m mirror -- ./mirror.sh)",
    .read = reads<run_of>,
    .other_names = "exec",
    .instead = instead_of_run,
    .takes_json = false,  // CMD prints the answer
    .takes_quiet = true,
    .configured = true,
};

}  // namespace holdfast::cli
