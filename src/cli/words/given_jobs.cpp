// SPDX-License-Identifier: Apache-2.0
// given_jobs.cpp - the options of the commands of jobs.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/url.h"
#include "cli/words/choices.h"
#include "cli/words/given.h"
#include "cli/words/help.h"
#include "cli/words/moment.h"
#include "cli/words/nearest.h"
#include "core/check.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

// ---- words as JSON

bool is_inexact(const nlohmann::json& value, const std::string& word) {
  return value.is_number_float() && word.find_first_of(".eE") == std::string::npos;
}

std::string argument(const std::string& word) {
  const nlohmann::json list = nlohmann::json::parse("[" + word + "]", nullptr, false);
  const bool padded = !word.empty() && (word.front() <= ' ' || word.back() <= ' ');
  if (!list.is_array() || list.size() != 1 || padded) {
    if (!is_utf8(word)) refuse("the argument " + shown(word) + " is not valid UTF-8");
    return detail::json::of(std::string_view(word));
  }
  // It would lose digits as a JSON number.
  if (is_inexact(list[0], word))
    refuse("the argument " + shown(word) + " is too large for a number; give it as a string, '\"" +
           printable(word) + "\"'");
  return word;
}

Args arguments_of(const Given& given, const Words& words) {
  if (!given.args) {
    std::vector<std::string> values;
    for (std::size_t i = 1; i < words.size(); ++i) values.push_back(argument(words[i]));
    return Args::of_json(std::move(values));
  }
  if (words.size() > 1)
    refuse("--args and the argument " + shown(words[1]) + " exclude each other; give one of them");
  if (Status s = check_json_depth(*given.args, "--args"); !s) refuse(s.error().detail);
  auto args = Args::parse(*given.args);
  if (!args) refuse("--args " + shown(*given.args) + " is not a JSON array; write it as '[1, \"a\"]'");
  return *std::move(args);
}

// ---- one option each

int number_of(const char* option, const Text& given, int least, int most, int otherwise) {
  if (!given) return otherwise;
  const auto number = whole_number<int>(*given);
  if (!number || *number < least || *number > most)
    refuse(std::string(option) + " " + shown(*given) + " is invalid; give a whole number from " +
           std::to_string(least) + " to " + std::to_string(most));
  return *number;
}

template <class Enum, std::size_t N>
Enum one_of(const char* option, const std::string& given, const Enum (&all)[N]) {
  std::vector<std::string> names;
  for (const Enum value : all) {
    if (given == to_string(value)) return value;
    names.emplace_back(to_string(value));
  }
  refuse(std::string(option) + " " + shown(given) + " is invalid" + suggestion(given, names) + "give " +
         one_of_these(names));
}

Unique unique_of(const Given& given) {
  constexpr Unique all[] = {Unique::loner, Unique::until_start, Unique::until_success};
  if (!given.unique) return given.loner ? Unique::loner : Unique::no;
  const Unique unique = one_of("--unique", *given.unique, all);
  if (given.loner && unique != Unique::loner)
    refuse("--loner and --unique " + *given.unique + " exclude each other; give one of them");
  return unique;
}

std::string queue_of(const Given& given) {
  if (given.queues.size() > 1) refuse("--queue was given twice; give one queue");
  return given.queues.empty() ? JobOptions{}.queue : given.queues.front();
}

// None if no option of a lock was given.
std::optional<JobLock> lock_of(const Given& given) {
  constexpr OnConflict conflicts[] = {OnConflict::drop, OnConflict::wait, OnConflict::raise,
                                      OnConflict::replace};
  const bool declared = given.lock || given.loner || given.unique || given.lock_timeout || given.window ||
                        given.limit || given.on_conflict;
  if (!declared) return std::nullopt;
  JobLock lock{.unique = unique_of(given), .limit = number_of("--limit", given.limit, 0, 1000, 1)};
  if (given.lock_timeout) {
    lock.timeout = duration("--lock-timeout", *given.lock_timeout);
    if (Status s = core::check_ttl(lock.timeout); !s)
      refuse("--lock-timeout " + printable(*given.lock_timeout) + ": " + s.error().detail);
  }
  if (given.window) lock.window = some_duration("--window", *given.window);
  if (given.on_conflict) lock.on_conflict = one_of("--on-conflict", *given.on_conflict, conflicts);
  return lock;
}

JobOptions job_options(const Given& given) {
  JobOptions options{.queue = queue_of(given), .lock = lock_of(given)};
  options.priority = number_of("--priority", given.priority, std::numeric_limits<int>::min(),
                               std::numeric_limits<int>::max(), 0);
  if (given.attempts) options.max_attempts = number_of("--attempts", given.attempts, 1, 1'000'000, 1);
  if (given.key) options.lock_key = [key = *given.key](const Args&) { return key; };
  return options;
}

std::string name_of(const Words& words, const char* command) {
  if (words.empty()) refuse("NAME is missing; usage: " + usage_of(command));
  if (words.front().empty()) refuse("the name of the job is empty; usage: " + usage_of(command));
  return words.front();
}

// The store chooses the form of the key; this is the shorter one.
void check_lock_key(const std::string& name, const JobOptions& options, const Args& args) {
  if (!options.lock && !options.lock_key) return;
  const auto key = job_key(name, options, args, JobKeyForm::joined);
  if (key) return;
  bool structured = false;
  for (std::size_t i = 0; i < args.size(); ++i)
    structured = structured || args[i].starts_with('[') || args[i].starts_with('{');
  refuse(structured && !options.lock_key
             ? "an argument of " + shown(name) +
                   " is a list or an object, from which no key can be made; give one with --key"
             : key.error().detail);
}

JobId id_of(const std::string& word) {
  const auto number = whole_number<std::uint64_t>(word.starts_with("job:") ? word.substr(4) : word);
  if (!number || *number == 0)
    refuse(shown(word) + " is not the number of a job; `holdfast jobs ls` shows the numbers");
  return JobId{*number};
}

std::vector<JobId> ids_of(const Words& words, const char* command) {
  if (words.empty()) refuse("ID is missing; usage: " + usage_of(command));
  std::vector<JobId> ids;
  for (const std::string& word : words) ids.push_back(id_of(word));
  return ids;
}

void refuse_more(const Words& words, std::size_t most, const char* command) {
  if (words.size() > most)
    refuse("unexpected argument " + shown(words[most]) + "; see `holdfast help " + command + "`");
}

// ---- the commands

Command enqueue_command(const Given& given, const Words& words) {
  const std::string name = name_of(words, "jobs enqueue");
  if (given.at && given.in)
    refuse("--at " + shown(*given.at) + " and --in " + shown(*given.in) +
           " exclude each other; give one of them");
  JobsEnqueue job{.name = name, .args = arguments_of(given, words), .options = job_options(given)};
  check_lock_key(name, job.options, job.args);
  if (given.in) job.in = duration("--in", *given.in);
  if (given.at) {
    auto at = parse_moment(*given.at);
    if (!at) refuse("--at: " + at.error().detail);
    job.at = *at;
  }
  return job;
}

// The process that enqueues a job chooses {name} and {queue}.  They may select a file in one folder, but not
// any program of the machine.
std::string exec_of(const Given& given) {
  if (!given.exec || given.exec->empty())
    refuse("--exec is missing; say what to run for a job, as in --exec 'handlers/{name}'");
  const std::size_t placeholder = std::min(given.exec->find("{name}"), given.exec->find("{queue}"));
  if (placeholder != std::string::npos && given.exec->rfind('/', placeholder) == std::string::npos)
    refuse("--exec " + shown(*given.exec) +
           " would let a job run any program in PATH; put a folder before it, as in handlers/{name}");
  return *given.exec;
}

Command work_command(const Given& given, const Words& words) {
  refuse_more(words, 0, "jobs work");
  JobsWork work{.queues = given.queues,
                .exec = exec_of(given),
                .threads = number_of("--threads", given.threads, 1, 1000, 4),
                .once = given.once,
                .claim = given.claim ? duration("--claim", *given.claim) : 30s,
                .grace = given.grace ? duration("--grace", *given.grace) : 10s,
                .kill_after = given.kill_after ? duration("--kill-after", *given.kill_after) : 10s,
                .at_most = given.at_most ? some_duration("--at-most", *given.at_most) : Millis(forever)};
  if (work.queues.empty()) work.queues = {"default"};
  if (work.claim < 100ms || work.claim > 24h)
    refuse("--claim " + printable(*given.claim) + " is out of range; give 100ms to 1d");
  return work;
}

Command ls_command(const Given& given, const Words& words) {
  constexpr JobState states[] = {JobState::queued, JobState::running, JobState::done,
                                 JobState::dead,   JobState::dropped, JobState::cancelled};
  refuse_more(words, 0, "jobs ls");
  JobsLs ls{.state = {},
            .queue = queue_of(given),
            .name = given.name.value_or(""),
            .key = given.key.value_or(""),
            .limit = static_cast<std::size_t>(number_of("--limit", given.limit, 1, 1'000'000, 100))};
  if (given.queues.empty()) ls.queue.clear();
  if (given.state) ls.state = one_of("--state", *given.state, states);
  return ls;
}

// The lock of the job with NAME and these arguments, or of --key.
LockOfJob lock_of_job(const Given& given, const Words& words, const char* command) {
  if (!given.key) {
    LockOfJob lock{.name = name_of(words, command), .args = arguments_of(given, words)};
    check_lock_key(lock.name, {.lock = JobLock{}}, lock.args);
    return lock;
  }
  if (!words.empty())
    refuse("--key " + shown(*given.key) + " and " + shown(words.front()) +
           " exclude each other; give one of them");
  core::check_key(*given.key).value();
  return {.key = *given.key};
}

Command explain_command(const Words& words) {
  if (words.empty()) refuse("KEY or JOB is missing; usage: " + usage_of("explain"));
  refuse_more(words, 1, "explain");
  core::check_key(words.front()).value();
  return Explain{words.front()};
}

}  // namespace

Command jobs_command_from(const std::string& name, const Given& given, const Words& words) {
  if (name == "explain") return explain_command(words);
  if (name == "jobs enqueue") return enqueue_command(given, words);
  if (name == "jobs work") return work_command(given, words);
  if (name == "jobs ls") return ls_command(given, words);
  if (name == "jobs show") {
    const std::vector<JobId> ids = ids_of(words, "jobs show");
    refuse_more(words, 1, "jobs show");
    return JobsShow{ids.front()};
  }
  if (name == "jobs retry") return JobsChange{JobChange::retry, ids_of(words, "jobs retry")};
  if (name == "jobs cancel") return JobsChange{JobChange::cancel, ids_of(words, "jobs cancel")};
  if (name == "jobs rm") return JobsChange{JobChange::remove, ids_of(words, "jobs rm")};
  if (name == "jobs locked")
    return JobsLocked{lock_of_job(given, words, "jobs locked"),
                      number_of("--limit", given.limit, 1, 1000, 1)};
  if (name == "jobs enqueued") return JobsEnqueued{lock_of_job(given, words, "jobs enqueued")};
  refuse("no command of jobs was given; see `holdfast help jobs`");
}

}  // namespace holdfast::cli
