// SPDX-License-Identifier: Apache-2.0
// job_json.h - jobs and what becomes of them as JSON, one object per line; see json.h.
#pragma once
#include <string>

#include "cli/see/timeline.h"
#include "cli/words/command_line.h"
#include "holdfast/job_worker.h"

namespace holdfast::cli {

std::string json_of(const JobRow& job);
// `runs_for`: its worker may still run it for so long, until it notices; zero: nobody runs it.
std::string json_of_cancelled(const JobRow& job, Millis runs_for);
// `what`: enqueued, replaced, duplicate or locked.
std::string json_of(const EnqueueResult& result, const std::string& key);
std::string json_of(const JobEvent& event, Millis took);
std::string json_of(const TimelineEntry& entry);

}  // namespace holdfast::cli
