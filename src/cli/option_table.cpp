// SPDX-License-Identifier: Apache-2.0
#include "cli/option_table.h"

#include <CLI/CLI.hpp>

#include "cli/help.h"

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
  text(command, "-w,--wait", "DURATION", given.wait, "wait no longer than this");
  text(command, "--ttl", "DURATION", given.ttl, "the lease lasts so long without a renewal (30s)");
  text(command, "--owner", "OWNER", given.owner,
       "hold it under this name; all who use the name are one holder");
  text(command, "--note", "TEXT", given.note, "shown to people beside the key");
}

void enqueue_options(CLI::App& command, Given& given) {
  command.add_flag("--loner", given.loner,
                   "not if one of the same key is queued or running; as --unique loner");
  text(command, "--unique", "HOW", given.unique,
       "one of a key: loner (until it is over), until_start or until_success");
  text(command, "--timeout", "DURATION", given.timeout,
       "its lock ends after that, even if it still runs (none: it holds it while it runs)");
  text(command, "--window", "DURATION", given.window, "at most one is enqueued in each such stretch of time");
  text(command, "--limit", "N", given.limit, "so many of the same key may run at once (1); 0: any number");
  text(command, "--on-conflict", "WHAT", given.on_conflict,
       "if its lock is held when its turn comes: drop (the default), wait, raise or replace");
  text(command, "--at", "TIME", given.at, "not before, as 2026-11-15T02:00:00Z");
  text(command, "--in", "DURATION", given.in, "not before so long from now");
  texts(command, "--queue", "QUEUE", given.queues, "which workers look into (default)");
  text(command, "--priority", "N", given.priority, "the smallest first (0)");
  text(command, "--attempts", "N", given.attempts, "tried so often if it fails (1)");
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
}

void asking_options(CLI::App& command, Given& given) {
  text(command, "--key", "KEY", given.key, "of the lock, instead of NAME and its arguments");
  text(command, "--args", "JSON", given.args, "all arguments as one JSON array, instead of words");
}

void jobs_commands(CLI::App& app, Given& given) {
  CLI::App& jobs = add_command(app, "jobs");
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

}  // namespace

std::string full_name(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  if (parent == nullptr) return "";
  const std::string before = full_name(*parent);
  return (before.empty() ? "" : before + " ") + command.get_name();
}

void build_options(CLI::App& app, Given& given) {
  app.set_help_flag("-h,--help", "this page");
  app.require_subcommand(0, 1);
  app.fallthrough();
  app.add_flag("--version", given.version, "which Holdfast this is");
  text(app, "--store", "URL", given.store, "the database, as sqlite:PATH; @FILE: its URL stands in FILE");
  app.add_flag("--json", given.json, "answer with one JSON object per line");

  CLI::App& run = add_command(app, "run");
  waiting_options(run, given);
  text(run, "-E,--conflict-exit-code", "CODE", given.busy_code,
       "exit so if the key stays busy (75); 0: and say nothing");
  text(run, "--tick", "DURATION", given.tick,
       "once in each such stretch of the store's clock, on all hosts together; else exit so");
  text(run, "--every", "DURATION", given.every, "only if it has not succeeded within so long; else exit so");
  text(run, "KEY", "", given.key, "");

  CLI::App& acquire = add_command(app, "acquire");
  waiting_options(acquire, given);
  text(acquire, "KEY", "", given.key, "");

  CLI::App& renew = add_command(app, "renew");
  text(renew, "--owner", "OWNER", given.owner, "who holds it");
  text(renew, "--ttl", "DURATION", given.ttl,
       "from now on it lasts at least so long (30s), or `never` ends; not shorter than before");
  text(renew, "--by", "DURATION", given.by, "add this to what it has left, instead");
  text(renew, "KEY", "", given.key, "");

  CLI::App& release = add_command(app, "release");
  text(release, "--owner", "OWNER", given.owner, "who holds it");
  text(release, "KEY", "", given.key, "");

  text(add_command(app, "show"), "KEY", "", given.key, "");
  CLI::App& ls = add_command(app, "ls");
  text(ls, "--prefix", "PREFIX", given.prefix_option,
       "only keys that start so; the same as a word behind ls");
  ls.add_flag("--held", given.held, "only what somebody holds, not what is free and waited for");
  text(ls, "--sort", "ORDER", given.sort,
       "key, since (held longest first), remaining (ends soonest first) or waiting (most first)");
  text(ls, "PREFIX", "", given.prefix, "");

  CLI::App& wait = add_command(app, "wait");
  wait.add_flag("-n,--nonblock", given.no_wait, "do not wait: only say by the exit code whether it is free");
  text(wait, "-w,--wait", "DURATION", given.wait, "wait no longer than this");
  text(wait, "KEY", "", given.key, "");

  CLI::App& breaking = add_command(app, "break");
  text(breaking, "--token", "TOKEN", given.token, "of the lease to break, as holdfast show tells it");
  text(breaking, "--reason", "TEXT", given.reason, "why; written down, and told to whoever holds it");
  text(breaking, "KEY", "", given.key, "");

  text(add_command(app, "purge"), "--older-than", "DURATION", given.older_than,
       "keys free for longer, and what was written down longer ago (keys: 1d, log: stays)");
  add_command(app, "init").add_flag("--dry-run", given.dry_run, "print what would be done, and do nothing");
  jobs_commands(app, given);
  add_command(app, "explain");
  add_command(app, "version");
  CLI::App& help = add_command(app, "help");
  text(help, "COMMAND", "", given.topic, "");
  text(help, "SUBCOMMAND", "", given.subtopic, "");
}

}  // namespace holdfast::cli
