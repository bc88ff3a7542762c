// SPDX-License-Identifier: Apache-2.0
// job_document.h - a job as it is kept: one document, made and read.
//
// Beside what holdfast/spi/job_engine.h tells of a job it has fields that are there only for the indexes
// (indexes.cpp), each only while it means something:
//
//   slot       it has its slot: unique
//   ready      queued, and due when run_at is: found by (queue, priority, run_at, _id)
//   wake_at    queued and due later than that, claimed, or taken: somebody has to look then
//   waits_for  parked, and not due: the key of its lock
//   over_at    done, dropped or cancelled since
//   tick_name, tick  the tick that it was enqueued for: unique
//
// and `version`, which every change of state raises; `taker`, who is about to decide what becomes of it
// (engine.h); `last_taker`, who was before and did not come to an end.
#pragma once
#include <optional>
#include <string>

#include "core/job_rule.h"
#include "stores/mongodb/bson.h"

namespace holdfast::mongodb {

struct KeptJob {
  core::JobRecord record = {};
  std::optional<std::int64_t> version = 0;  // none: it is no number
  std::string damaged = {};                 // a field of a wrong type or with an unknown word; empty: none
  std::string taker = {}, last_taker = {};  // empty: nobody
  std::string tick_name = {};               // empty: it was enqueued for none
  std::int64_t tick = 0;
  Micros tick_until{};
  Micros now{};  // the server's clock when it was read

  core::JobMoment moment() const noexcept { return {.now = now, .wall = Moment(now)}; }
};

// What kept_job() reads.
Document job_fields();
KeptJob kept_job(View document);

// To insert.
Document new_job(const KeptJob& job);
// To update: what a rule may have changed.  Nobody is its taker afterwards.
Document changed_job(const core::JobRecord& after);
// A duplicate has replaced it.  Its taker stays.
Document replaced_job(const KeptJob& read, const core::JobRecord& after);

std::int64_t kept(JobId id) noexcept;
Document by_id(JobId id);
// The document, if it is still as it was read.
Document unchanged(const KeptJob& read);

}  // namespace holdfast::mongodb
