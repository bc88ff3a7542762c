// SPDX-License-Identifier: Apache-2.0
// job_copies.h - many jobs in a table of SQL: those that are there, copied until they are enough.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

namespace holdfast::bench {

inline std::string jobs_beside(const std::string& locks) { return locks + "_holdfast_jobs"; }

// `columns`: all but the id, which the database gives.  `run` runs a statement, `queued` says how many there
// are.
template <class Run, class Queued>
void copy_rows(const std::string& table, const std::string& columns, std::uint64_t count, Run run,
               Queued queued) {
  for (std::uint64_t there = queued(); there < count; there = queued()) {
    run("INSERT INTO " + table + " (" + columns + ") SELECT " + columns + " FROM " + table +
        " WHERE state = 'queued' LIMIT " + std::to_string(std::min(there, count - there)));
  }
}

}  // namespace holdfast::bench
