// SPDX-License-Identifier: Apache-2.0
// ls.cpp - `holdfast jobs ls`: lists jobs.
#include <unistd.h>

#include <algorithm>

#include "base/time.h"
#include "cli/columns.h"
#include "cli/commands.h"
#include "cli/jobs/job_format.h"
#include "cli/jobs/job_words.h"
#include "cli/open_store.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

constexpr OptionSpec jobs_ls_options[] = {
    {"--state", "STATE", "only jobs in this state: queued, running, done, dead, dropped or cancelled",
     [] { return Words{"queued", "running", "done", "dead", "dropped", "cancelled"}; }},
    {"--queue", "QUEUE", "only jobs in this queue"},
    {"--name", "NAME", "only jobs with this name"},
    {"--key", "KEY", "only jobs with this key"},
    {"--limit", "N", "at most this many, the newest first (default: 100)"},
};

struct JobsLs {
  std::optional<JobState> state;
  std::string queue, name, key;
  std::size_t limit = 100;
};

JobsLs jobs_ls_of(const Given& given) {
  constexpr JobState states[] = {JobState::queued, JobState::running, JobState::done,
                                 JobState::dead,   JobState::dropped, JobState::cancelled};
  JobsLs ls{.state = {},
            .queue = queue_of_job(given),
            .name = given.text("--name").value_or(""),
            .key = given.text("--key").value_or(""),
            .limit = static_cast<std::size_t>(number_of(given, "--limit", {1, 1'000'000}, 100))};
  if (given.text("--state")) ls.state = one_of(given, "--state", states);
  return ls;
}

constexpr std::size_t page_size = 500;

Result<std::vector<JobRow>> wanted_jobs(JobEngine& engine, const JobsLs& command) {
  std::vector<JobRow> wanted;
  JobId before = no_job;
  while (wanted.size() < command.limit) {
    const std::size_t limit = std::min(page_size, command.limit - wanted.size());
    auto page = engine.list({.key = command.key,
                             .name = command.name,
                             .queue = command.queue,
                             .state = command.state,
                             .before = before,
                             .limit = limit},
                            soon());
    if (!page) return page;
    const bool last = page->size() < limit;
    if (!page->empty()) before = page->back().id;
    for (JobRow& row : *page) wanted.push_back(std::move(row));
    if (last) break;
  }
  return wanted;
}

std::string attempts(const JobRow& job) {
  const std::string text = std::to_string(attempts_of(job)) + "/" + std::to_string(job.max_attempts);
  if (job.crashes == 0) return text;
  return text + ", " + std::to_string(job.crashes) + (job.crashes == 1 ? " crash" : " crashes");
}

Row cells_of(const JobRow& job, Moment now) {
  const Micros age = std::max(now - job.enqueued_at, Micros::zero());
  return {std::to_string(to_number(job.id)),
          to_string(job.state),
          job.name,
          job.key,
          job.queue,
          format_duration(std::chrono::floor<Millis>(age)),
          attempts(job),
          note_of(job, now)};
}

int execute(const JobsLs& command, const Common& common) {
  auto found_store = find_store(common);
  if (!found_store) return fail(found_store.error());
  const auto engine = jobs_of(*found_store);
  if (!engine) return fail(engine.error());
  if (!*engine) return exit_ok;
  const auto jobs = wanted_jobs(**engine, command);
  if (!jobs) return fail(jobs.error());
  if (common.json) {
    for (const JobRow& job : *jobs) print(json_of(job));
    return exit_ok;
  }
  if (jobs->empty()) {
    if (::isatty(STDOUT_FILENO) == 1) complain("no such jobs in " + found_store->store->name());
    return exit_ok;
  }
  Rows rows{{"ID", "STATE", "NAME", "KEY", "QUEUE", "AGE", "ATTEMPT", "NOTE"}};
  for (const JobRow& job : *jobs) rows.push_back(cells_of(job, wall_now()));
  print(aligned(rows, true, wants_colour(stdout)));
  return exit_ok;
}

}  // namespace

constinit const CommandSpec commands::jobs_ls{
    .name = "jobs ls",
    .usage = "[OPTION]...",
    .purpose = "List jobs, the newest first",
    .options = jobs_ls_options,
    .more = R"(  holdfast jobs ls --state dead
  holdfast jobs ls --name Thumbnail --limit 20)",
    .read = reads<jobs_ls_of>,
    .other_names = "list",
};

}  // namespace holdfast::cli
