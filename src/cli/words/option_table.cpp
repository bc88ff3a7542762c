// SPDX-License-Identifier: Apache-2.0
#include "cli/words/option_table.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>

#include "cli/words/choices.h"
#include "cli/words/help.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {
namespace {

void text(CLI::App& app, const char* names, const char* value, Text& into, const std::string& does) {
  app.add_option_function<std::string>(
         names, [&into](const std::string& given) { into = given; }, does)
      ->option_text(value)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void texts(CLI::App& app, const char* names, const char* value, Words& into, const std::string& does) {
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
       "wait at most this long for the store and the key (default: 10s for the store, forever for a busy "
       "key)");
  text(command, "--ttl", "DURATION", given.ttl, "how long the lease lasts unless renewed (default: 30s)");
  text(command, "--owner", "OWNER", given.owner,
       "hold the lease under this name; all who use it count as one holder");
  text(command, "--note", "TEXT", given.note, "a text that is shown beside the key");
}

void polling_options(CLI::App& command, Given& given) {
  text(command, "--interval", "DURATION", given.interval, "ask the store this often (default: 1s)");
  text(command, "PREFIX", "", given.prefix, "");
}

void enqueue_options(CLI::App& command, Given& given) {
  command.add_flag("--lock", given.lock, "run jobs with the same key one at a time");
  command.add_flag("--loner", given.loner,
                   "do not enqueue if a job with the same key is queued or running; same as --unique loner");
  text(command, "--unique", "HOW", given.unique,
       "allow one job per key: loner (until it is over), until_start or until_success");
  text(command, "--lock-timeout", "DURATION", given.lock_timeout,
       "end the lock after this time, even if the job still runs (default: when the job ends)");
  text(command, "--window", "DURATION", given.window, "enqueue at most one job per interval of this length");
  text(command, "--limit", "N", given.limit,
       "how many jobs with the same key may run at once (default: 1); 0: any number");
  text(command, "--on-conflict", "WHAT", given.on_conflict,
       "if the lock is held when the job is due: wait (the default), drop, raise or replace");
  text(command, "--at", "TIME", given.at, "do not run before this time, as 2026-11-15T02:00:00Z");
  text(command, "--in", "DURATION", given.in, "do not run before this much time has passed");
  texts(command, "--queue", "QUEUE", given.queues, "put the job into this queue (default: \"default\")");
  text(command, "--priority", "N", given.priority, "smaller numbers run first (default: 0)");
  text(command, "--attempts", "N", given.attempts,
       "try at most this many times if it fails (default: 25, in three weeks)");
  text(command, "--key", "KEY", given.key, "the key of the lock, instead of lock:NAME:ARGUMENTS");
  text(command, "--args", "JSON", given.args, "all arguments as one JSON array, instead of words");
}

void work_options(CLI::App& command, Given& given) {
  texts(command, "--queue", "QUEUE", given.queues,
        "take jobs from this queue (default: \"default\"); may be repeated");
  text(command, "--exec", "PROGRAM", given.exec,
       "the program to run; {name} and {queue} are replaced by those of the job");
  text(command, "--threads", "N", given.threads, "run this many jobs at once (default: 4)");
  command.add_flag("--once,--until-empty", given.once, "end when no job is due");
  text(command, "--claim", "DURATION", given.claim,
       "a worker that does not respond for this long loses its jobs (default: 30s)");
  text(command, "--grace", "DURATION", given.grace,
       "when told to end, let running jobs continue for this long (default: 10s); then stop them and hand "
       "them back to the queue");
  text(command, "--kill-after", "DURATION", given.kill_after,
       "time between TERM and KILL when a job is stopped (default: 10s)");
  text(command, "--at-most", "DURATION", given.at_most,
       "stop a job that runs longer than this, and count it as failed (default: no limit)");
}

void job_lock_options(CLI::App& command, Given& given) {
  text(command, "--key", "KEY", given.key, "the key of the lock, instead of NAME and its arguments");
  text(command, "--args", "JSON", given.args, "all arguments as one JSON array, instead of words");
}

void jobs_commands(CLI::App& jobs, Given& given) {
  jobs.require_subcommand(0, 1);
  enqueue_options(add_command(jobs, "enqueue"), given);
  work_options(add_command(jobs, "work"), given);
  CLI::App& ls = add_command(jobs, "ls");
  text(ls, "--state", "STATE", given.state,
       "only jobs in this state: queued, running, done, dead, dropped or cancelled");
  texts(ls, "--queue", "QUEUE", given.queues, "only jobs in this queue");
  text(ls, "--name", "NAME", given.name, "only jobs with this name");
  text(ls, "--key", "KEY", given.key, "only jobs with this key");
  text(ls, "--limit", "N", given.limit, "at most this many, the newest first (default: 100)");
  for (const char* const name : {"show", "retry", "cancel", "rm"}) add_command(jobs, name);
  CLI::App& locked = add_command(jobs, "locked");
  job_lock_options(locked, given);
  text(locked, "--limit", "N", given.limit, "the --limit that the job was enqueued with (default: 1)");
  job_lock_options(add_command(jobs, "enqueued"), given);
}

void run_options(CLI::App& run, Given& given) {
  waiting_options(run, given);
  text(run, "-E,--conflict-exit-code", "CODE", given.busy_code,
       "exit with CODE, not 75, if the key stays busy or --tick or --every skips CMD; with 0, print nothing");
  text(run, "--tick", "DURATION", given.tick,
       "run CMD at most once per interval of this length, on all hosts together");
  text(run, "--every", "DURATION", given.every, "run CMD only if it has not succeeded within this time");
  text(run, "--on-lost", "WHAT", given.on_lost,
       "what to do if the lease is lost: term (the default), kill, ignore or exec:PROGRAM");
  text(run, "--kill-after", "DURATION", given.kill_after,
       "time between TERM and KILL when CMD has to be ended (auto: a sixth of the ttl, at most 10s)");
  text(run, "--at-least", "DURATION", given.at_least, "keep KEY at least this long, even if CMD ends sooner");
  text(run, "--at-most", "DURATION", given.at_most, "end CMD after this time, exit 124 (default: forever)");
  text(run, "KEY", "", given.key, "");
}

void acquire_options(CLI::App& acquire, Given& given) {
  waiting_options(acquire, given);
  text(acquire, "KEY", "", given.key, "");
}

void renew_options(CLI::App& renew, Given& given) {
  text(renew, "--owner", "OWNER", given.owner, "the owner that holds the lease");
  text(renew, "--ttl", "DURATION", given.ttl,
       "make it last at least this long from now on (default: 30s), or never end; it never gets shorter");
  text(renew, "--by", "DURATION", given.by, "add this to the time that it has left, instead");
  text(renew, "KEY", "", given.key, "");
}

void release_options(CLI::App& release, Given& given) {
  text(release, "--owner", "OWNER", given.owner, "the owner that holds the lease");
  text(release, "KEY", "", given.key, "");
}

void key_only(CLI::App& command, Given& given) { text(command, "KEY", "", given.key, ""); }

void ls_options(CLI::App& ls, Given& given) {
  text(ls, "--prefix", "PREFIX", given.prefix_option,
       "only keys that start with this; same as the word PREFIX");
  ls.add_flag("--held", given.held, "only keys that are held, not free keys with waiters");
  ls.add_flag("--all", given.all, "also free keys without waiters");
  text(ls, "--sort", "ORDER", given.sort,
       "by key, since (held longest first), remaining (ends soonest first) or waiting (most waiters first)");
  ls.add_flag("--watch", given.watch, "repeat until Ctrl-C");
  polling_options(ls, given);
}

void wait_options(CLI::App& wait, Given& given) {
  wait.add_flag("-n,--nonblock", given.no_wait, "do not wait: the exit code says whether the key is free");
  text(wait, "-w,--wait", "DURATION", given.wait,
       "wait at most this long for the store and the key (default: 10s for the store, forever for a busy "
       "key)");
  text(wait, "KEY", "", given.key, "");
}

void break_options(CLI::App& breaking, Given& given) {
  text(breaking, "--token", "TOKEN", given.token,
       "the token of the lease to break, as shown by holdfast show");
  text(breaking, "--reason", "TEXT", given.reason, "why; it is recorded, and shown to the holder");
  text(breaking, "KEY", "", given.key, "");
}

void purge_options(CLI::App& purge, Given& given) {
  text(purge, "--older-than", "DURATION", given.older_than,
       "remove keys that were free for longer than this, and older log entries (default: 1d for keys, no log "
       "entries)");
}

void init_options(CLI::App& init, Given& given) {
  init.add_flag("--dry-run", given.dry_run, "print what would be done, but do nothing");
}

void doctor_options(CLI::App& doctor, Given& given) {
  doctor.add_flag("--quick", given.quick, "skip the self-test, which acquires and releases scratch keys");
  doctor.add_flag("--strict", given.strict, "treat a warning like a danger: exit 77");
  text(doctor, "--ttl", "DURATION", given.ttl,
       "judge the round trips for leases with this ttl (default: 30s)");
}

void fence_options(CLI::App& fence, Given& given) {
  fence.add_flag("-n,--nonblock", given.no_wait, "do not wait if another CMD is using FILE");
  text(fence, "-w,--wait", "DURATION", given.wait,
       "wait at most this long for the other CMD, then exit 75 (default: forever)");
  text(fence, "--code", "WHERE", given.code,
       "print the code of the same check for " + one_of_these(choices_of("--code")));
  text(fence, "FILE", "", given.file, "");
  text(fence, "TOKEN", "", given.token, "");
}

void completions_words(CLI::App& completions, Given& given) {
  text(completions, "SHELL", "", given.shell, "");
}

void version_options(CLI::App& version, Given& given) {
  version.add_flag("--verbose", given.verbose, "also show the stores and libraries");
}

void help_options(CLI::App& help, Given& given) {
  help.add_flag("--man", given.man, "print it as a page for man(1)");
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
    {"watch", polling_options},
    {"top", polling_options},
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

// Building all options takes longer than acquiring a lease, so only those of the command are built, unless it
// prints the options of others.
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
  app.set_help_flag("-h,--help", "show this page");
  app.require_subcommand(0, 1);
  app.fallthrough();
  app.add_flag("--version", given.version, "show the version");
  app.add_flag("--verbose", given.verbose, "also show the stores and libraries");
  texts(app, "--store", "URL", given.stores,
        "the store: a URL such as " + std::string(default_store().url) + ", a configured name, or @FILE");
  app.add_flag("--json", given.json, "answer with one JSON object per line");
  app.add_flag("--quiet", given.quiet, "do not warn about how the store is set up");
  const auto* const alone = std::find_if(std::begin(command_rows), std::end(command_rows),
                                         [&](const OptionRow& row) { return is_alone(row, first); });
  for (const OptionRow& row : command_rows) {
    if (alone == std::end(command_rows) || alone == &row) row.add_options(add_command(app, row.name), given);
  }
}

}  // namespace holdfast::cli
