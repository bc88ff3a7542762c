// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/job_row.h"

#include <array>
#include <string>

#include "base/time.h"
#include "stores/redis/command.h"

namespace holdfast::redis {
namespace {

// By the words that to_string() has for them.
template <class Enum, std::size_t N>
Enum word_of(std::string_view word) {
  for (std::size_t i = 0; i < N; ++i) {
    if (word == to_string(static_cast<Enum>(i))) return static_cast<Enum>(i);
  }
  throw_failure({Errc::in_doubt, "a job has a value that this version of Holdfast does not know: \"" +
                                     std::string(word) + "\""});
}

using Read = void (*)(core::JobRecord&, const Value&);
struct Field {
  std::string_view name;
  Read read;
};

// The names of jobs.lua.
constexpr std::array job_fields{
    Field{"name", [](core::JobRecord& j, const Value& v) { j.row.name = v.text(); }},
    Field{"queue", [](core::JobRecord& j, const Value& v) { j.row.queue = v.text(); }},
    Field{"args", [](core::JobRecord& j, const Value& v) { j.row.args = v.text(); }},
    Field{"key", [](core::JobRecord& j, const Value& v) { j.row.key = v.text(); }},
    Field{"priority",
          [](core::JobRecord& j, const Value& v) { j.row.priority = static_cast<int>(v.number()); }},
    Field{"state", [](core::JobRecord& j, const Value& v) { j.row.state = state_of(v.text()); }},
    Field{"enqueued_at", [](core::JobRecord& j, const Value& v) { j.row.enqueued_at = moment_of(v); }},
    Field{"run_at", [](core::JobRecord& j, const Value& v) { j.row.run_at = moment_of(v); }},
    Field{"due_at", [](core::JobRecord& j, const Value& v) { j.row.due_at = moment_of(v); }},
    Field{"started_at",
          [](core::JobRecord& j, const Value& v) { j.row.started_at = moment_or_none(micros_of(v)); }},
    Field{"finished_at",
          [](core::JobRecord& j, const Value& v) { j.row.finished_at = moment_or_none(micros_of(v)); }},
    Field{"attempt",
          [](core::JobRecord& j, const Value& v) { j.row.attempt = static_cast<int>(v.number()); }},
    Field{"crashes",
          [](core::JobRecord& j, const Value& v) { j.row.crashes = static_cast<int>(v.number()); }},
    Field{"max_attempts",
          [](core::JobRecord& j, const Value& v) { j.row.max_attempts = static_cast<int>(v.number()); }},
    Field{"lock_ttl", [](core::JobRecord& j, const Value& v) { j.row.lock_ttl = ttl_of(v.number()); }},
    Field{"lock_fixed", [](core::JobRecord& j, const Value& v) { j.row.lock_fixed = v.text() == "1"; }},
    Field{"limit", [](core::JobRecord& j, const Value& v) { j.row.limit = static_cast<int>(v.number()); }},
    Field{"on_conflict",
          [](core::JobRecord& j, const Value& v) { j.row.on_conflict = word_of<OnConflict, 4>(v.text()); }},
    Field{"unique", [](core::JobRecord& j, const Value& v) { j.row.unique = word_of<Unique, 4>(v.text()); }},
    Field{"slotted", [](core::JobRecord& j, const Value& v) { j.row.slotted = v.text() == "1"; }},
    Field{"parked", [](core::JobRecord& j, const Value& v) { j.row.parked = v.text() == "1"; }},
    Field{"holder", [](core::JobRecord& j, const Value& v) { j.row.owner = v.text(); }},
    Field{"lock", [](core::JobRecord& j, const Value& v) { j.row.lock = v.text(); }},
    Field{"token", [](core::JobRecord& j,
                      const Value& v) { j.row.token = Token{static_cast<std::uint64_t>(v.number())}; }},
    Field{"claim_until", [](core::JobRecord& j, const Value& v) { j.claim_until = micros_of(v); }},
    Field{"error", [](core::JobRecord& j, const Value& v) { j.row.error = v.text(); }},
    Field{"duplicates", [](core::JobRecord& j,
                           const Value& v) { j.row.duplicates = static_cast<std::uint64_t>(v.number()); }},
    Field{"trail", [](core::JobRecord& j, const Value& v) { j.trail = v.text(); }},
};

}  // namespace

JobState state_of(std::string_view word) { return word_of<JobState, job_states>(word); }

core::JobRecord job_of(const Value& row) {
  core::JobRecord job;
  job.row.id = JobId{static_cast<std::uint64_t>(row[0].number())};
  for (std::size_t i = 1; i + 1 < row.size(); i += 2) {
    const std::string_view name = row[i].text();
    for (const Field& field : job_fields) {
      if (field.name != name) continue;
      field.read(job, row[i + 1]);
      break;
    }
  }
  return job;
}

}  // namespace holdfast::redis
