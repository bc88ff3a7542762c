// SPDX-License-Identifier: Apache-2.0
// show.cpp - `holdfast jobs show ID`: all about a job, and who blocks it.
#include "base/text.h"
#include "base/time.h"
#include "cli/columns.h"
#include "cli/commands.h"
#include "cli/jobs/job_format.h"
#include "cli/jobs/job_words.h"
#include "cli/open_store.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

struct JobsShow {
  JobId id{};
};

JobsShow jobs_show_of(const Given& given) { return {job_ids_of(given).front()}; }

std::string lock_of(const JobRow& job) {
  if (job.limit == 0) return "none";
  return job.key + (job.limit > 1 ? ", at most " + std::to_string(job.limit) + " at once" : "") +
         (job.lock_fixed ? ", for " + format_duration(job.lock_ttl) : "") +
         ", if busy: " + to_string(job.on_conflict);
}

void add(Rows& rows, const char* what, std::optional<Moment> at) {
  if (at > Moment{}) rows.push_back({what, format_wall(*at)});
}

Rows rows_of(const JobRow& job) {
  const std::string note = note_of(job, wall_now());
  Rows rows{{"job", std::to_string(to_number(job.id))},
            {"name", job.name},
            {"arguments", job.args},
            {"state", std::string(to_string(job.state)) + (note.empty() ? "" : ", " + note)},
            {"queue", job.queue},
            {"priority", std::to_string(job.priority)},
            {"attempt", std::to_string(attempts_of(job)) + " of " + std::to_string(job.max_attempts)}};
  if (job.crashes > 0) rows.push_back({"crashes", std::to_string(job.crashes)});
  rows.push_back({"lock", lock_of(job)});
  if (job.unique != Unique::no)
    rows.push_back({"unique", std::string(to_string(job.unique)) + (job.slotted ? ", has the slot" : "")});
  if (job.duplicates > 0) rows.push_back({"duplicates", std::to_string(job.duplicates)});
  add(rows, "enqueued", job.enqueued_at);
  add(rows, "not before", job.run_at);
  add(rows, "started", job.started_at);
  add(rows, "ended", job.finished_at);
  if (!job.owner.empty())
    rows.push_back({job.state == JobState::running ? "worker" : "last worker", job.owner});
  if (job.token != no_token) rows.push_back({"token", std::to_string(to_number(job.token))});
  for (const TrailEntry& entry : job.trail)
    rows.push_back({format_wall(entry.at), entry.event + (entry.detail.empty() ? "" : ": " + entry.detail)});
  return rows;
}

// The holders of the leases that a queued job needs.
Status add_blockers(Rows& rows, const JobRow& job, Admin& admin) {
  if (job.state != JobState::queued) return Status{};
  for (const std::string& lock : lock_keys(job.key, job.limit)) {
    const auto found = admin.try_inspect(lock);
    if (!found) return found.error();
    if (found->lease.remaining > Millis::zero())
      rows.push_back({"blocked by", found->lease.owner + ", which holds " + lock});
  }
  return Status{};
}

int execute(const JobsShow& command, const Common& common) {
  auto found_store = find_store(common);
  if (!found_store) return fail(found_store.error());
  const auto engine = jobs_of(*found_store);
  if (!engine) return fail(engine.error());
  Result<std::vector<JobRow>> found = std::vector<JobRow>();
  if (*engine) found = (*engine)->list({.id = command.id}, soon());
  if (!found) return fail(found.error());
  if (found->empty())
    return fail({Errc::invalid, "there is no job " + std::to_string(to_number(command.id)) +
                                    " in this store; `holdfast jobs ls` lists the jobs"});
  const JobRow& job = found->front();
  if (common.json) {
    print(json_of(job));
    return exit_ok;
  }
  Rows rows = rows_of(job);
  if (Status s = add_blockers(rows, job, found_store->by_hand); !s) return fail(s.error());
  print(aligned(rows, false, false));
  return exit_ok;
}

}  // namespace

constinit const CommandSpec commands::jobs_show{
    .name = "jobs show",
    .usage = "ID [OPTION]...",
    .purpose = "Show all about a job, and what blocks it",
    .more = R"(  holdfast jobs show 7
  holdfast jobs show 7 --json)",
    .read = reads<jobs_show_of>,
    .other_names = "status inspect",
};

}  // namespace holdfast::cli
