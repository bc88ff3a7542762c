// SPDX-License-Identifier: Apache-2.0
// timeline.h - what happened to a key and to its jobs, in order.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/admin.h"
#include "holdfast/spi/job_engine.h"

namespace holdfast::cli {

// The time of entries that describe the present; they stand at the end.
inline constexpr Moment now_and_here = Moment::max();

// One event.  Which texts are set depends on the event.
struct TimelineEntry {
  Moment at{};
  std::string key = {};
  JobId job{};             // no_job: of the lease
  std::string name = {};   // the job's
  std::string event = {};  // enqueued, started, failed, crashed, handed-back, parked, retried, cancelled,
                           // replaced, done, dead, dropped, expired; taken-over, broken; holds, waits, free
  std::string owner = {};  // who started, held, lost or waits for it
  std::string by = {};     // who did it, or is the reason for it
  Token token{};
  std::string detail = {};
};

std::vector<TimelineEntry> entries_of(const JobRow& job);
// Its log, and who holds it and waits for it now.
std::vector<TimelineEntry> entries_of(const Inspection& found);

// For people, without the time.
std::string sentence_of(const TimelineEntry& entry);

}  // namespace holdfast::cli
