// SPDX-License-Identifier: Apache-2.0
#include "sim/labour.h"

#include <algorithm>

namespace holdfast::sim {
namespace {

std::string named(JobId id) { return "job " + std::to_string(to_number(id)); }

bool is_over(JobState state) {
  return state == JobState::done || state == JobState::dead || state == JobState::dropped ||
         state == JobState::cancelled;
}

}  // namespace

Labour::Run::Run(Labour& all, JobContext& job, Home home) : all_(all), job_(job), home_(home) {
  all_.begins(*this);
}

Labour::Run::~Run() { std::erase(all_.runs_, this); }

bool Labour::Run::held() {
  return Threads::here().as(home_, [&] { return job_.held(); });
}

void Labour::begins(Run& run) {
  if (run.held()) {
    for (Run* const other : runs_) {
      const bool same_job = other->job_.id() == run.job_.id();
      const bool same_lock = !run.job_.lock_key().empty() && other->job_.lock_key() == run.job_.lock_key();
      if ((!same_job && !same_lock) || !other->held()) continue;
      context_.violated(same_job ? "a job runs once at a time" : "jobs of a key exclude each other",
                        named(run.job_.id()) + " began while " + named(other->job_.id()) + " ran");
    }
  }
  runs_.push_back(&run);
}

void Labour::process_died(Timeline::Owner process) {
  std::erase_if(runs_, [&](const Run* run) { return run->home_.process == process; });
}

bool Labour::all_over() {
  return std::all_of(acknowledged_.begin(), acknowledged_.end(), [&](JobId id) {
    const auto row = server_.job(id);
    return row && is_over(row->state);
  });
}

void Labour::inspect_at_the_end() {
  for (const JobId id : acknowledged_) {
    const auto row = server_.job(id);
    if (!row)
      context_.violated("no job is lost", named(id) + " was enqueued, and is not there any more");
    else if (!is_over(row->state))
      context_.violated("every job ends", named(id) + " is still " + to_string(row->state));
    else if (row->state == JobState::dead && row->crashes < 3 &&
             row->attempt - row->crashes < row->max_attempts)
      context_.violated("a job dies only of its failures", named(id) + " is dead: " + row->error);
    else
      context_.sometimes(row->state == JobState::dead ? Sometimes::job_died : Sometimes::job_was_done);
  }
}

}  // namespace holdfast::sim
