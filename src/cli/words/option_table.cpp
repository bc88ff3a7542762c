// SPDX-License-Identifier: Apache-2.0
#include "cli/words/option_table.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>

#include "cli/words/help.h"

namespace holdfast::cli {
namespace {

void text(CLI::App& app, const char* names, const char* value, Text& into, const char* does) {
  app.add_option_function<std::string>(
         names, [&into](const std::string& given) { into = given; }, does)
      ->option_text(value)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void texts(CLI::App& app, const char* names, const char* value, Words& into, const char* does) {
  app.add_option_function<std::string>(
         names, [&into](const std::string& given) { into.push_back(given); }, does)
      ->option_text(value)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse()
      ->expected(1);
}

CLI::App& add_command(CLI::App& app, const char* name) {
  return *app.add_subcommand(
      name, std::string(purpose_of(full_name(app).empty() ? name : full_name(app) + " " + name)));
}

void waiting_options(CLI::App& command, Given& given) {
  command.add_flag("-n,--nonblock", given.no_wait, "do not wait for a busy key");
  text(command, "-w,--wait", "DURATION", given.wait,
       "wait at most this long for the store and the key (forever)");
  text(command, "--ttl", "DURATION", given.ttl, "the lease lasts so long without a renewal (30s)");
  text(command, "--owner", "OWNER", given.owner, "hold it by this name; all who use it are one holder");
  text(command, "--note", "TEXT", given.note, "shown to people beside the key");
}

void looking_options(CLI::App& command, Given& given) {
  text(command, "--interval", "DURATION", given.interval, "look so often (1s)");
  text(command, "PREFIX", "", given.prefix, "");
}

void enqueue_options(CLI::App& command, Given& given) {
  command.add_flag("--lock", given.lock,
                   "one of the same key runs at a time, the others wait; the options of the lock imply it");
  command.add_flag("--loner", given.loner,
                   "not if one of the same key is queued or running; as --unique loner");
  text(command, "--unique", "HOW", given.unique,
       "one of a key: loner (until it is over), until_start or until_success");
  text(command, "--lock-timeout", "DURATION", given.lock_timeout,
       "its lock ends after that, even if it still runs (none: it holds it while it runs)");
  text(command, "--window", "DURATION", given.window, "at most one is enqueued per interval");
  text(command, "--limit", "N", given.limit,
       "with a lock: so many of the same key may run at once (1); 0: any number");
  text(command, "--on-conflict", "WHAT", given.on_conflict,
       "if its lock is held when its turn comes: wait (the default), drop, raise or replace");
  text(command, "--at", "TIME", given.at, "not before, as 2026-11-15T02:00:00Z");
  text(command, "--in", "DURATION", given.in, "not before so long from now");
  texts(command, "--queue", "QUEUE", given.queues, "which workers look into (default)");
  text(command, "--priority", "N", given.priority, "the smallest first (0)");
  text(command, "--attempts", "N", given.attempts, "tried so often if it fails (25, in three weeks)");
  text(command, "--key", "KEY", given.key, "of its lock, instead of lock:NAME:ARGUMENTS");
  text(command, "--args", "JSON", given.args, "all arguments as one JSON array, instead of words");
}

void work_options(CLI::App& command, Given& given) {
  texts(command, "--queue", "QUEUE", given.queues, "whose jobs (default); may be given several times");
  text(command, "--exec", "PROGRAM", given.exec, "what to run; {name} and {queue} stand for the job's");
  text(command, "--threads", "N", given.threads, "so many jobs at once (4)");
  command.add_flag("--once,--until-empty", given.once, "end when nothing is due");
  text(command, "--claim", "DURATION", given.claim,
       "a worker that is not heard of for so long has lost its jobs (30s)");
  text(command, "--grace", "DURATION", given.grace,
       "told to end, let what runs go on for so long (10s); then it is stopped and handed back");
  text(command, "--kill-after", "DURATION", given.kill_after,
       "between TERM and KILL to what is stopped (10s)");
  text(command, "--at-most", "DURATION", given.at_most,
       "stop a job that runs longer (forever); it has failed then");
}

void asking_options(CLI::App& command, Given& given) {
  text(command, "--key", "KEY", given.key, "of the lock, instead of NAME and its arguments");
  text(command, "--args", "JSON", given.args, "all arguments as one JSON array, instead of words");
}

void jobs_commands(CLI::App& jobs, Given& given) {
  jobs.require_subcommand(0, 1);
  enqueue_options(add_command(jobs, "enqueue"), given);
  work_options(add_command(jobs, "work"), given);
  CLI::App& ls = add_command(jobs, "ls");
  text(ls, "--state", "STATE", given.state, "only those queued, running, done, dead, dropped or cancelled");
  texts(ls, "--queue", "QUEUE", given.queues, "only those of this queue");
  text(ls, "--name", "NAME", given.name, "only those of this name");
  text(ls, "--key", "KEY", given.key, "only those of this key");
  text(ls, "--limit", "N", given.limit, "at most so many, the newest first (100)");
  for (const char* const name : {"show", "retry", "cancel", "rm"}) add_command(jobs, name);
  CLI::App& locked = add_command(jobs, "locked");
  asking_options(locked, given);
  text(locked, "--limit", "N", given.limit, "as the job was enqueued with (1)");
  asking_options(add_command(jobs, "enqueued"), given);
}

void run_options(CLI::App& run, Given& given) {
  waiting_options(run, given);
  text(run, "-E,--conflict-exit-code", "CODE", given.busy_code,
       "exit so if the key stays busy, or it is not its turn (75); 0: and say nothing");
  text(run, "--tick", "DURATION", given.tick, "at most once per interval, on all hosts together");
  text(run, "--every", "DURATION", given.every, "only if it has not succeeded within so long");
  text(run, "--on-lost", "WHAT", given.on_lost,
       "if the lease is lost: term (the default), kill, ignore or exec:PROGRAM");
  text(run, "--kill-after", "DURATION", given.kill_after,
       "between TERM and KILL, if CMD has to be ended (auto)");
  text(run, "--at-least", "DURATION", given.at_least, "keep KEY so long, even if CMD is done sooner");
  text(run, "--at-most", "DURATION", given.at_most, "end CMD after so long (forever); exit 124");
  text(run, "KEY", "", given.key, "");
}

void acquire_options(CLI::App& acquire, Given& given) {
  waiting_options(acquire, given);
  text(acquire, "KEY", "", given.key, "");
}

void renew_options(CLI::App& renew, Given& given) {
  text(renew, "--owner", "OWNER", given.owner, "who holds it");
  text(renew, "--ttl", "DURATION", given.ttl,
       "from now on it lasts at least so long (30s), or `never` ends; not shorter than before");
  text(renew, "--by", "DURATION", given.by, "add this to what it has left, instead");
  text(renew, "KEY", "", given.key, "");
}

void release_options(CLI::App& release, Given& given) {
  text(release, "--owner", "OWNER", given.owner, "who holds it");
  text(release, "KEY", "", given.key, "");
}

void key_only(CLI::App& command, Given& given) { text(command, "KEY", "", given.key, ""); }

void ls_options(CLI::App& ls, Given& given) {
  text(ls, "--prefix", "PREFIX", given.prefix_option,
       "only keys that start so; the same as a word behind ls");
  ls.add_flag("--held", given.held, "only what somebody holds, not what is free and waited for");
  ls.add_flag("--all", given.all, "also keys that are free and that nobody waits for");
  text(ls, "--sort", "ORDER", given.sort,
       "key, since (held longest first), remaining (ends soonest first) or waiting (most first)");
  ls.add_flag("--watch", given.watch, "again and again, until Ctrl-C");
  looking_options(ls, given);
}

void wait_options(CLI::App& wait, Given& given) {
  wait.add_flag("-n,--nonblock", given.no_wait, "do not wait: only say by the exit code whether it is free");
  text(wait, "-w,--wait", "DURATION", given.wait,
       "wait at most this long for the store and the key (forever)");
  text(wait, "KEY", "", given.key, "");
}

void break_options(CLI::App& breaking, Given& given) {
  text(breaking, "--token", "TOKEN", given.token, "of the lease to break, as holdfast show tells it");
  text(breaking, "--reason", "TEXT", given.reason, "why; written down, and told to whoever holds it");
  text(breaking, "KEY", "", given.key, "");
}

void purge_options(CLI::App& purge, Given& given) {
  text(purge, "--older-than", "DURATION", given.older_than,
       "keys free for longer, and what was written down longer ago (keys: 1d, log: stays)");
}

void init_options(CLI::App& init, Given& given) {
  init.add_flag("--dry-run", given.dry_run, "print what would be done, and do nothing");
}

void doctor_options(CLI::App& doctor, Given& given) {
  doctor.add_flag("--quick", given.quick, "without the self-test, which takes and releases scratch keys");
  doctor.add_flag("--strict", given.strict, "a warning is as bad as a danger: exit 77");
  text(doctor, "--ttl", "DURATION", given.ttl,
       "of the leases that are meant, to judge the way to the store by (30s)");
}

void fence_options(CLI::App& fence, Given& given) {
  fence.add_flag("-n,--nonblock", given.no_wait, "do not wait for a CMD that is at FILE");
  text(fence, "-w,--wait", "DURATION", given.wait, "wait no longer than this; exit 75");
  text(fence, "--code", "WHERE", given.code, "print the same check for sqlite, postgres, mariadb or redis");
  text(fence, "FILE", "", given.file, "");
  text(fence, "TOKEN", "", given.token, "");
}

void completions_words(CLI::App& completions, Given& given) {
  text(completions, "SHELL", "", given.shell, "");
}

void version_options(CLI::App& version, Given& given) {
  version.add_flag("--verbose", given.verbose, "with its stores and libraries");
}

void help_options(CLI::App& help, Given& given) {
  help.add_flag("--man", given.man, "as a page for man(1)");
  text(help, "COMMAND", "", given.topic, "");
  text(help, "SUBCOMMAND", "", given.subtopic, "");
}

struct OptionRow {
  const char* name;
  void (*add_options)(CLI::App& command, Given& given);
};
constexpr OptionRow command_rows[] = {
    {"run", run_options},
    {"acquire", acquire_options},
    {"renew", renew_options},
    {"release", release_options},
    {"show", key_only},
    {"ls", ls_options},
    {"watch", looking_options},
    {"top", looking_options},
    {"wait", wait_options},
    {"break", break_options},
    {"purge", purge_options},
    {"init", init_options},
    {"doctor", doctor_options},
    {"config", key_only},
    {"fence", fence_options},
    {"jobs", jobs_commands},
    {"explain", [](CLI::App&, Given&) {}},
    {"completions", completions_words},
    {"version", version_options},
    {"help", help_options},
};

// Making all options takes longer than a lease does.  Whose first word names the command gets that one alone,
// unless it tells about others.
bool is_alone(const OptionRow& row, std::string_view first) {
  return first == row.name && first != "help" && first != "completions";
}

}  // namespace

std::string full_name(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  if (parent == nullptr) return "";
  const std::string before = full_name(*parent);
  return (before.empty() ? "" : before + " ") + command.get_name();
}

void build_options(CLI::App& app, Given& given, std::string_view first) {
  app.set_help_flag("-h,--help", "this page");
  app.require_subcommand(0, 1);
  app.fallthrough();
  app.add_flag("--version", given.version, "which Holdfast this is");
  app.add_flag("--verbose", given.verbose, "with its stores and libraries");
  texts(app, "--store", "URL", given.stores, "the database, as sqlite:PATH, a configured name, or @FILE");
  app.add_flag("--json", given.json, "answer with one JSON object per line");
  app.add_flag("--quiet", given.quiet, "do not tell how the store is set up; doctor does");
  const auto* const alone = std::find_if(std::begin(command_rows), std::end(command_rows),
                                         [&](const OptionRow& row) { return is_alone(row, first); });
  for (const OptionRow& row : command_rows) {
    if (alone == std::end(command_rows) || alone == &row) row.add_options(add_command(app, row.name), given);
  }
}

}  // namespace holdfast::cli
