// SPDX-License-Identifier: Apache-2.0
// enqueue.cpp - `holdfast jobs enqueue NAME [ARG]...`: add a job.
#include <limits>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/jobs/job_format.h"
#include "cli/jobs/job_words.h"
#include "cli/notices.h"
#include "cli/output.h"
#include "holdfast/check.h"
#include "holdfast/jobs.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

Words unique_choices() { return {"loner", "until_start", "until_success"}; }
Words conflict_choices() { return {"drop", "wait", "raise", "replace"}; }

constexpr OptionSpec enqueue_options[] = {
    {"--lock", "", "run jobs with the same key one at a time"},
    {"--loner", "", "do not enqueue if a job with the same key is queued or running; same as --unique loner"},
    {"--unique", "HOW", "allow one job per key: loner (until it is over), until_start or until_success",
     unique_choices},
    {"--lock-timeout", "DURATION",
     "end the lock after this time, even if the job still runs (default: when the job ends)"},
    {"--window", "DURATION", "enqueue at most one job per interval of this length"},
    {"--limit", "N", "how many jobs with the same key may run at once (default: 1); 0: any number"},
    {"--on-conflict", "WHAT",
     "if the lock is held when the job is due: wait (the default), drop, raise or replace", conflict_choices},
    {"--at", "TIME", "do not run before this time, as 2026-11-15T02:00:00Z"},
    {"--in", "DURATION", "do not run before this much time has passed"},
    {"--queue", "QUEUE", "put the job into this queue (default: \"default\")"},
    {"--priority", "N", "smaller numbers run first (default: 0)"},
    {"--attempts", "N", "try at most this many times if it fails (default: 25, in three weeks)"},
    {"--key", "KEY", "the key of the lock, instead of lock:NAME:ARGUMENTS"},
    args_option,
};
constexpr Instead instead_of_at_most[] = {
    {"--timeout", "--lock-timeout, which ends the lock, or --at-most of jobs work, which ends the job"},
    {"--at-most", "--at-most of jobs work, which ends the job"},
};

struct JobsEnqueue {
  std::string name;
  Args args;
  JobOptions options;
  std::optional<Moment> at{};  // none: see `in`
  Millis in{};
};

Unique unique_of(const Given& given) {
  constexpr Unique all[] = {Unique::loner, Unique::until_start, Unique::until_success};
  const Text text = given.text("--unique");
  const bool loner = given.flag("--loner");
  if (!text) return loner ? Unique::loner : Unique::no;
  const Unique unique = one_of(given, "--unique", all);
  if (loner && unique != Unique::loner)
    refuse("--loner and --unique " + *text + " exclude each other; give one of them");
  return unique;
}

// None if no option of a lock was given.
std::optional<JobLock> lock_of(const Given& given) {
  constexpr OnConflict conflicts[] = {OnConflict::drop, OnConflict::wait, OnConflict::raise,
                                      OnConflict::replace};
  const Text timeout = given.text("--lock-timeout"), window = given.text("--window");
  const bool declared = given.flag("--lock") || given.flag("--loner") || given.text("--unique") || timeout ||
                        window || given.text("--limit") || given.text("--on-conflict");
  if (!declared) return std::nullopt;
  JobLock lock{.unique = unique_of(given), .limit = number_of(given, "--limit", {0, 1000}, 1)};
  if (timeout) {
    lock.timeout = duration("--lock-timeout", *timeout);
    if (Status s = check_ttl(lock.timeout); !s)
      refuse("--lock-timeout " + printable(*timeout) + ": " + s.error().detail);
  }
  if (window) lock.window = some_duration("--window", *window);
  if (given.text("--on-conflict")) lock.on_conflict = one_of(given, "--on-conflict", conflicts);
  return lock;
}

JobOptions job_options_of(const Given& given) {
  constexpr Range any{std::numeric_limits<int>::min(), std::numeric_limits<int>::max()};
  JobOptions options{.queue = queue_of_job(given), .lock = lock_of(given)};
  if (given.texts("--queue").empty()) options.queue = JobOptions{}.queue;
  options.priority = number_of(given, "--priority", any, 0);
  if (given.text("--attempts")) options.max_attempts = number_of(given, "--attempts", {1, 1'000'000}, 1);
  if (const Text key = given.text("--key")) options.lock_key = [key = *key](const Args&) { return key; };
  return options;
}

JobsEnqueue enqueue_of(const Given& given) {
  const std::string name = name_of_job(given);
  const Text at = given.text("--at"), in = given.text("--in");
  if (at && in)
    refuse("--at " + shown(*at) + " and --in " + shown(*in) + " exclude each other; give one of them");
  JobsEnqueue job{.name = name, .args = args_of_job(given), .options = job_options_of(given)};
  check_lock_key(name, job.options, job.args);
  if (in) job.in = duration("--in", *in);
  if (at) job.at = moment_of("--at", *at);
  return job;
}

// The job that was requested.
struct EnqueueRequest {
  const std::optional<JobLock>& lock;
  std::string key;
};

int answer(const Enqueued& enqueued, const EnqueueRequest&, bool quiet) {
  if (!quiet) print(std::to_string(to_number(enqueued.id)));
  return exit_ok;
}

int answer(const Duplicate& duplicate, const EnqueueRequest& request, bool quiet) {
  const std::string id = std::to_string(to_number(duplicate.id)), key = printable(request.key);
  if (!quiet) print(id);
  (void)flush_stdout();  // for a reader of both streams: the answer comes first
  const auto& lock = request.lock;
  const bool by_window = lock && lock->window > Millis::zero() && lock->unique == Unique::no && !lock->loner;
  complain("not enqueued: job " + id + " with the key " + key +
           (by_window ? " was already enqueued in this window"
                      : std::string(" is already ") + to_string(duplicate.state)) +
           (duplicate.since ? " (enqueued at " + format_wall(*duplicate.since) + ")" : ""));
  return exit_duplicate;
}

int answer(const Locked& locked, const EnqueueRequest& request, bool) {
  complain("not enqueued: " + printable(request.key) + " is held by " + printable(short_owner(locked.owner)));
  return exit_busy;
}

int execute(const JobsEnqueue& command, const Common& common) {
  auto client = try_open(common.store, with_notices(common.quiet));
  if (!client) return fail(client.error());
  const Jobs all(*client);
  const Jobs jobs = command.at ? all.at(*command.at) : all.in(command.in);
  auto key = jobs.try_key(command.name, command.args, command.options);
  if (!key) return fail(key.error());
  const auto result = jobs.try_enqueue(command.name, command.args, command.options);
  if (!result) return fail(result.error());
  if (common.json) print(json_of(*result, *key));
  const EnqueueRequest request{command.options.lock, *std::move(key)};
  return std::visit([&](const auto& what) { return answer(what, request, common.json); }, *result);
}

}  // namespace

constinit const CommandSpec commands::jobs_enqueue{
    .name = "jobs enqueue",
    .usage = "NAME [ARG]... [OPTION]...",
    .purpose = "Add a job",
    .options = enqueue_options,
    .more =
        R"(An ARG that is a JSON number, true, false, null, a list, an object or a quoted string is taken as JSON; any other ARG is
a string. Options may stand anywhere before --. Prints the number of the job. Without a lock every copy of it runs.

Exit code: 0 enqueued; 10 not enqueued, because another job with its key exists (its number is printed); 75 not
enqueued, because somebody other than a job holds the lock of a loner.

  holdfast jobs enqueue Thumbnail 42 large --loner --lock-timeout 10m
  holdfast jobs enqueue Report '{"of": "sales"}' --key report --in 1h)",
    .read = reads<enqueue_of>,
    .instead = instead_of_at_most,
    .takes_quiet = true,
};

}  // namespace holdfast::cli
