// SPDX-License-Identifier: Apache-2.0
// change.cpp - `holdfast jobs retry|cancel|rm ID...`: what an operator does to jobs.
#include "base/process.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/jobs/job_json.h"
#include "cli/open_store.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

JobRow as_it_is(JobEngine& engine, JobId id) {
  auto rows = engine.list({.id = id}, soon());
  return rows && !rows->empty() ? std::move(rows->front()) : JobRow{};
}

// Its worker learns of it when it renews the claim next, which it does before that ends.
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

// `was`: before that.
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

}  // namespace

int execute(const JobsChange& command, const Common& common) {
  auto looked = look_at_store(common);
  if (!looked) return fail(looked.error());
  const auto engine = jobs_of(*looked);
  if (!engine) return fail(engine.error());
  int code = exit_ok;
  for (const JobId id : command.ids) {
    Result<JobRow> changed =
        Error{Errc::invalid, "there is no job " + std::to_string(to_number(id)) + " in this store"};
    JobRow was;
    if (*engine && command.what == JobChange::cancel) was = as_it_is(**engine, id);
    if (*engine) changed = (*engine)->change(id, command.what, user_at_host(), soon());
    if (!changed) {
      // The others may do; the first failure tells.
      const int failed = fail(changed.error());
      if (code == exit_ok) code = failed;
    } else {
      say(common.json ? json_line_of(*changed, command.what, was) : sentence_of(*changed, command.what, was));
    }
  }
  return code;
}

}  // namespace holdfast::cli
