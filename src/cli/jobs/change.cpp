// SPDX-License-Identifier: Apache-2.0
// change.cpp - `holdfast jobs retry|cancel|rm ID...`: what an operator does to jobs.
#include "base/process.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/jobs/job_format.h"
#include "cli/jobs/job_words.h"
#include "cli/open_store.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

struct JobsChange {
  JobChange what{};
  std::vector<JobId> ids;
};

template <JobChange what>
JobsChange change_of(const Given& given) {
  return {what, job_ids_of(given)};
}

JobRow read_job(JobEngine& engine, JobId id) {
  auto rows = engine.list({.id = id}, soon());
  return rows && !rows->empty() ? std::move(rows->front()) : JobRow{};
}

// Its worker learns of the change at its next renewal, before the claim ends.
Millis runs_for(const JobRow& was) {
  return was.state == JobState::running ? was.claim_remaining : Millis::zero();
}

std::string who_still_runs(const JobRow& was) {
  if (was.state != JobState::running) return "";
  const std::string worker = printable(short_owner(was.owner));
  if (runs_for(was) == Millis::zero()) return "; its worker, " + worker + ", no longer responds";
  return "; it still runs on " + worker + ", which will learn of this within " +
         format_duration(runs_for(was));
}

// `was` is the job before the change.
std::string sentence_of(const JobRow& job, JobChange what, const JobRow& was) {
  const std::string name = "job " + std::to_string(to_number(job.id)) + " " + printable(job.name);
  switch (what) {
    case JobChange::cancel: return name + " is cancelled" + who_still_runs(was);
    case JobChange::retry: return name + " is queued again";
    case JobChange::remove: return name + " is removed";
  }
  return name;
}

std::string json_line_of(const JobRow& job, JobChange what, const JobRow& was) {
  return what == JobChange::cancel ? json_of_cancelled(job, runs_for(was)) : json_of(job);
}

int execute(const JobsChange& command, const Common& common) {
  auto found_store = find_store(common);
  if (!found_store) return fail(found_store.error());
  const auto engine = jobs_of(*found_store);
  if (!engine) return fail(engine.error());
  int code = exit_ok;
  for (const JobId id : command.ids) {
    Result<JobRow> changed =
        Error{Errc::invalid, "there is no job " + std::to_string(to_number(id)) + " in this store"};
    JobRow was;
    if (*engine && command.what == JobChange::cancel) was = read_job(**engine, id);
    if (*engine) changed = (*engine)->change(id, command.what, user_at_host(), soon());
    if (!changed) {
      // The other changes are still tried; the first failure sets the exit code.
      const int failed = fail(changed.error());
      if (code == exit_ok) code = failed;
    } else {
      print(common.json ? json_line_of(*changed, command.what, was)
                        : sentence_of(*changed, command.what, was));
    }
  }
  return code;
}

}  // namespace

constinit const CommandSpec commands::jobs_retry{
    .name = "jobs retry",
    .usage = "ID...",
    .purpose = "Queue jobs again that are over",
    .more =
        R"(For jobs that are dead, dropped, cancelled or done: they are due now, and have all their attempts again. Exit code 64 if
a job is in another state.

  holdfast jobs retry 7
  holdfast jobs retry 7 8 9)",
    .read = reads<change_of<JobChange::retry>>,
};

constinit const CommandSpec commands::jobs_cancel{
    .name = "jobs cancel",
    .usage = "ID...",
    .purpose = "Cancel jobs that are queued, running or dead",
    .more =
        R"(The program of a running job is stopped at its worker's next renewal, after at most a third of the claim.

  holdfast jobs cancel 7
  holdfast jobs cancel 7 8 9)",
    .read = reads<change_of<JobChange::cancel>>,
};

constinit const CommandSpec commands::jobs_rm{
    .name = "jobs rm",
    .usage = "ID...",
    .purpose = "Remove jobs that are not running",
    .more = R"(  holdfast jobs rm 7
  holdfast jobs rm 7 8 9)",
    .read = reads<change_of<JobChange::remove>>,
    .other_names = "remove delete",
};

}  // namespace holdfast::cli
