// SPDX-License-Identifier: Apache-2.0
// explain.cpp - `holdfast explain KEY|JOB`: what happened, the oldest first, and the state now.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/time.h"
#include "cli/columns.h"
#include "cli/commands.h"
#include "cli/jobs/job_format.h"
#include "cli/open_store.h"
#include "cli/output.h"
#include "cli/see/describe.h"
#include "cli/see/timeline.h"
#include "cli/words/values.h"

namespace holdfast::cli {
namespace {

struct Explain {
  std::string what;  // a key, the number of a job, or job:NUMBER
};

Explain explain_of(const Given& given) {
  if (given.words.empty()) refuse("KEY or JOB is missing; usage: " + usage_of(*given.command));
  return {key_of(given)};
}

// Only the newest jobs of a key are shown.
constexpr std::size_t most_jobs = 1000;

struct Subject {
  std::string key;
  std::vector<JobRow> jobs;
  std::optional<std::uint64_t> not_a_job = {};  // the word is a number, but no job has it
};

std::string no_job_here(std::uint64_t id) {
  return "there is no job " + std::to_string(id) + " in this store";
}

// The number of a job, if the word can be one.
struct JobWord {
  explicit JobWord(const std::string& what)
      : marked(what.starts_with("job:")), id(whole_number<std::uint64_t>(marked ? what.substr(4) : what)) {}

  bool marked;
  std::optional<std::uint64_t> id;
};

// "job:7" is job 7.  "7" is job 7 if there is one, otherwise a key.  Anything else is a key.
Result<Subject> subject_of(const std::string& what, JobEngine* engine) {
  if (engine == nullptr) return Subject{what, {}};
  const JobWord word(what);
  if (word.id) {
    Result<std::vector<JobRow>> rows = std::vector<JobRow>();
    if (*word.id != 0) rows = engine->list({.id = JobId{*word.id}}, soon());
    if (!rows) return std::move(rows).error();
    if (!rows->empty()) {
      std::string key = rows->front().key;
      return Subject{std::move(key), *std::move(rows)};
    }
    if (word.marked)
      return Error{Errc::invalid, no_job_here(*word.id) + "; `holdfast jobs ls` lists the jobs"};
  }
  auto rows = engine->list({.key = what, .limit = most_jobs}, soon());
  if (!rows) return std::move(rows).error();
  const auto not_a_job = rows->empty() ? word.id : std::nullopt;
  return Subject{what, *std::move(rows), not_a_job};
}

// A job that may run several times at once has a lease for each.
std::set<std::string> leases_of(const Subject& subject) {
  std::set<std::string> keys;
  for (const JobRow& job : subject.jobs)
    for (std::string& key : lock_keys(job.key, job.limit)) keys.insert(std::move(key));
  if (keys.empty()) keys.insert(subject.key);
  return keys;
}

bool is_used(const Inspection& found) {
  return found.lease.remaining > Millis::zero() || !found.log.empty() || !found.places.empty();
}

// There is neither a record of the key nor a job.
bool is_unknown(const Subject& subject, const Inspection& found) {
  return subject.jobs.empty() && !is_known(found);
}

Result<std::vector<TimelineEntry>> all_entries(const Subject& subject, Admin& admin) {
  std::vector<TimelineEntry> all;
  for (const JobRow& job : subject.jobs) {
    for (TimelineEntry& entry : entries_of(job)) all.push_back(std::move(entry));
  }
  const std::set<std::string> keys = leases_of(subject);
  for (const std::string& key : keys) {
    const auto found = admin.try_inspect(key);
    if (!found) return found.error();
    if (subject.not_a_job && !is_known(*found))
      return Error{Errc::invalid, no_job_here(*subject.not_a_job) + ", and no record of a key " + key +
                                      "; `holdfast jobs ls` and `holdfast ls` list what there is"};
    if (keys.size() > 1 && !is_used(*found)) continue;
    std::vector<TimelineEntry> of_lease = entries_of(*found);
    if (is_unknown(subject, *found)) of_lease.front().detail = nothing_known;
    std::reverse(of_lease.begin(), std::find_if(of_lease.begin(), of_lease.end(),
                                                [](const auto& entry) { return entry.at == now_and_here; }));
    for (TimelineEntry& entry : of_lease) all.push_back(std::move(entry));
  }
  // Entries with the same time stay in order.
  std::multimap<Moment, TimelineEntry> by_time;
  for (TimelineEntry& entry : all) by_time.emplace(entry.at, std::move(entry));
  all.clear();
  for (auto& [at, entry] : by_time) all.push_back(std::move(entry));
  return all;
}

int execute(const Explain& command, const Common& common) {
  auto found_store = find_store(common);
  if (!found_store) return fail(found_store.error());
  if (found_store->unused) return exit_ok;
  auto engine = jobs_of(*found_store);
  // A store without jobs still has leases to explain.
  const bool has_jobs = engine.has_value();
  if (!has_jobs && exit_code(engine.error().code) != exit_refused) return fail(engine.error());
  if (const JobWord word(command.what); !has_jobs && word.marked && word.id) return fail(engine.error());
  if (!has_jobs) complain(engine.error().detail);
  const auto subject = subject_of(command.what, has_jobs ? engine->get() : nullptr);
  if (!subject) return fail(subject.error());
  const auto entries = all_entries(*subject, found_store->by_hand);
  if (!entries) return fail(entries.error());
  Rows rows;
  for (const TimelineEntry& entry : *entries) {
    if (common.json)
      print(json_of(entry));
    else
      rows.push_back({entry.at == now_and_here ? "now" : format_wall(entry.at), sentence_of(entry)});
  }
  if (!common.json) print(aligned(rows, false, false));
  if (entries->size() == 1 && entries->front().detail == nothing_known)
    suggest_held_key(found_store->by_hand, subject->key);
  if (subject->jobs.size() == most_jobs)
    complain("only the last " + std::to_string(most_jobs) + " jobs of this key are shown");
  return exit_ok;
}

}  // namespace

constinit const CommandSpec commands::explain{
    .name = "explain",
    .usage = "KEY|JOB",
    .purpose = "Show what happened to a key or a job, in order",
    .more =
        R"(JOB is the number of a job, or job:NUMBER. The answer says who enqueued, started, failed or dropped a job, and why; who
lost the lease, to whom and why; who holds it now and who waits.

  holdfast explain nightly
  holdfast explain 7)",
    .read = reads<explain_of>,
};

}  // namespace holdfast::cli
