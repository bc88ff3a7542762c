// SPDX-License-Identifier: Apache-2.0
// trail.h - the history of a job as one text, to search in.
#pragma once
#include <string>

#include "holdfast/job_rows.h"

namespace holdfast::test {

// A line "EVENT DETAIL" for each event.
inline std::string trail_text(const JobRow& row) {
  std::string text;
  for (const TrailEntry& entry : row.trail) text += entry.event + " " + entry.detail + "\n";
  return text;
}

}  // namespace holdfast::test
