// SPDX-License-Identifier: Apache-2.0
// lookup.cpp - `holdfast jobs locked` and `holdfast jobs enqueued`: the exit code says yes or no.
#include "base/text.h"
#include "cli/commands.h"
#include "cli/jobs/job_format.h"
#include "cli/jobs/job_words.h"
#include "cli/json.h"
#include "cli/open_store.h"
#include "cli/output.h"
#include "holdfast/check.h"

namespace holdfast::cli {
namespace {

constexpr OptionSpec key_of_lock_option{"--key", "KEY",
                                        "the key of the lock, instead of NAME and its arguments"};
constexpr OptionSpec locked_options[] = {
    key_of_lock_option,
    args_option,
    {"--limit", "N", "the --limit that the job was enqueued with (default: 1)"},
};
constexpr OptionSpec enqueued_options[] = {key_of_lock_option, args_option};

// The lock of a job: its key, or the name and arguments that make it.
struct LockOfJob {
  std::string key = {};
  std::string name = {};
  Args args = {};
};

LockOfJob lock_of_job(const Given& given) {
  const Text key = given.text("--key");
  if (!key) {
    LockOfJob lock{.name = name_of_job(given), .args = args_of_job(given)};
    check_lock_key(lock.name, {.lock = JobLock{}}, lock.args);
    return lock;
  }
  if (!given.words.empty())
    refuse("--key " + shown(*key) + " and " + shown(given.words.front()) +
           " exclude each other; give one of them");
  check_key(*key).value();
  return {.key = *key};
}

struct JobsLocked {
  LockOfJob lock;
  int limit = 1;  // the limit of the jobs with that key
};

JobsLocked locked_of(const Given& given) {
  return {lock_of_job(given), number_of(given, "--limit", {1, 1000}, 1)};
}

Result<std::string> key_of(const LockOfJob& lock, const Store& store) {
  return lock.key.empty() ? job_key(lock.name, {}, lock.args, store.job_key_form()) : lock.key;
}

int execute(const JobsLocked& command, const Common& common) {
  auto found_store = find_store(common);
  if (!found_store) return fail(found_store.error());
  const auto key = key_of(command.lock, *found_store->store);
  if (!key) return fail(key.error());
  if (found_store->unused) return exit_no;
  for (const std::string& lock : lock_keys(*key, command.limit)) {
    const auto found = found_store->by_hand.try_inspect(lock);
    if (!found) return fail(found.error());
    if (found->lease.remaining == Millis::zero()) continue;
    print(common.json ? json_of(found->lease) : printable(found->lease.owner));
    return exit_ok;
  }
  return exit_no;
}

// `jobs enqueued`.
int execute(const LockOfJob& command, const Common& common) {
  auto found_store = find_store(common);
  if (!found_store) return fail(found_store.error());
  const auto key = key_of(command, *found_store->store);
  if (!key) return fail(key.error());
  const auto engine = jobs_of(*found_store);
  if (!engine) return fail(engine.error());
  if (!*engine) return exit_no;
  const auto jobs = (*engine)->list({.key = *key, .state = JobState::queued, .limit = 1}, soon());
  if (!jobs) return fail(jobs.error());
  if (jobs->empty()) return exit_no;
  print(common.json ? json_of(jobs->front()) : std::to_string(to_number(jobs->front().id)));
  return exit_ok;
}

}  // namespace

constinit const CommandSpec commands::jobs_locked{
    .name = "jobs locked",
    .usage = "NAME [ARG]... | --key KEY",
    .purpose = "Show who holds the lock of a job",
    .options = locked_options,
    .more = R"(Exit code 0 if somebody holds it (the holder is printed), 1 if nobody does.

  holdfast jobs locked Thumbnail 42 || echo "nobody holds it"
  holdfast jobs locked --key report)",
    .read = reads<locked_of>,
};

constinit const CommandSpec commands::jobs_enqueued{
    .name = "jobs enqueued",
    .usage = "NAME [ARG]... | --key KEY",
    .purpose = "Show whether a job is queued",
    .options = enqueued_options,
    .more = R"(Exit code 0 if one is queued (its number is printed), 1 if none is.

  holdfast jobs enqueued Thumbnail 42
  holdfast jobs enqueued --key report)",
    .read = reads<lock_of_job>,
};

}  // namespace holdfast::cli
