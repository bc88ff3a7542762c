// SPDX-License-Identifier: Apache-2.0
// change.cpp - `holdfast jobs retry|cancel|rm ID...`: what an operator does to jobs.
#include "base/host.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/jobs/job_json.h"
#include "cli/look.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

std::string sentence_of(const JobRow& job, JobChange what) {
  const std::string name = "job " + std::to_string(number(job.id)) + " " + printable(job.name);
  switch (what) {
    case JobChange::cancel: return name + " is cancelled";
    case JobChange::retry: return name + " is queued again";
    case JobChange::remove: return name + " is removed";
  }
  return name;
}

}  // namespace

int execute(const JobsChange& command, const Common& common) {
  auto looked = look_at_store(common);
  if (!looked) return fail(looked.error());
  const auto engine = jobs_of(*looked);
  if (!engine) return fail(engine.error());
  int code = exit_ok;
  for (const JobId id : command.ids) {
    Result<JobRow> changed = Error{Errc::invalid, "there is no job " + std::to_string(number(id)) + " here"};
    if (*engine) changed = (*engine)->change(id, command.what, user_at_host(), soon());
    if (!changed) {
      // The others may do; the first failure tells.
      const int failed = fail(changed.error());
      if (code == exit_ok) code = failed;
    } else {
      say(common.json ? json_of(*changed) : sentence_of(*changed, command.what));
    }
  }
  return code;
}

}  // namespace holdfast::cli
