// SPDX-License-Identifier: Apache-2.0
// job_format.h - jobs and their events as JSON (one object per line, see json.h) and in a few words.
#pragma once
#include <string>

#include "cli/see/timeline.h"
#include "holdfast/job_worker.h"

namespace holdfast::cli {

std::string json_of(const JobRow& job);
// `runs_for`: its worker may still run it for this long before it notices; zero: no worker runs it.
std::string json_of_cancelled(const JobRow& job, Millis runs_for);
// `what`: enqueued, replaced, duplicate or locked.
std::string json_of(const EnqueueResult& result, const std::string& key);
std::string json_of(const JobEvent& event, Millis took);
std::string json_of(const TimelineEntry& entry);

// More than its state: what it waits for, which worker runs it, how it failed.
std::string note_of(const JobRow& job, Moment now);

// The attempts that count: an attempt whose worker died does not.
inline int attempts_of(const JobRow& job) noexcept { return job.attempt - job.crashes; }

}  // namespace holdfast::cli
