// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/job_format.h"

#include "base/text.h"
#include "base/time.h"
#include "cli/json.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

Json moment(std::optional<Moment> at) { return at.value_or(Moment{}) == Moment{} ? Json() : micros_of(*at); }

// A string if the text is not JSON, or nested too deep for other parsers.
Json arguments(const std::string& text) {
  if (json_depth(text) > deepest_json) return text;
  Json args = Json::parse(text, nullptr, false);
  return args.is_discarded() ? Json(text) : args;
}

Json trail_of(const JobRow& job) {
  Json lines = Json::array();
  for (const TrailEntry& entry : job.trail)
    lines.push_back({{"at_us", micros_of(entry.at)}, {"event", entry.event}, {"detail", entry.detail}});
  return lines;
}

Json object_of(const JobRow& job) {
  return {{"id", to_number(job.id)},
          {"name", job.name},
          {"queue", job.queue},
          {"args", arguments(job.args)},
          {"key", job.key},
          {"priority", job.priority},
          {"state", to_string(job.state)},
          {"enqueued_at_us", moment(job.enqueued_at)},
          {"run_at_us", moment(job.run_at)},
          {"due_at_us", moment(job.due_at)},
          {"started_at_us", moment(job.started_at)},
          {"finished_at_us", moment(job.finished_at)},
          {"attempt", job.attempt},
          {"crashes", job.crashes},
          {"max_attempts", job.max_attempts},
          {"lock_ttl_ms", job.lock_ttl.count()},
          {"lock_fixed", job.lock_fixed},
          {"limit", job.limit},
          {"on_conflict", to_string(job.on_conflict)},
          {"unique", to_string(job.unique)},
          {"slotted", job.slotted},
          {"parked", job.parked},
          {"owner", job.owner},
          {"lock", job.lock},
          {"token", token_of(job.token)},
          {"claim_remaining_ms", job.claim_remaining.count()},
          {"error", job.error},
          {"duplicates", job.duplicates},
          {"trail", trail_of(job)}};
}

}  // namespace

std::string json_of(const JobRow& job) { return line_of(object_of(job)); }

std::string json_of_cancelled(const JobRow& job, Millis runs_for) {
  Json object = object_of(job);
  object["still_runs"] = runs_for > Millis::zero();
  object["notices_within_ms"] = runs_for.count();
  return line_of(object);
}

std::string json_of(const EnqueueResult& result, const std::string& key) {
  if (const auto* enqueued = std::get_if<Enqueued>(&result))
    return line_of({{"what", enqueued->replaced ? "replaced" : "enqueued"},
                    {"id", to_number(enqueued->id)},
                    {"key", key}});
  if (const auto* duplicate = std::get_if<Duplicate>(&result))
    return line_of({{"what", "duplicate"},
                    {"id", to_number(duplicate->id)},
                    {"key", key},
                    {"state", to_string(duplicate->state)},
                    {"since_us", moment(duplicate->since)}});
  return line_of({{"what", "locked"}, {"key", key}, {"owner", std::get<Locked>(result).owner}});
}

std::string json_of(const JobEvent& event, Millis took) {
  return line_of({{"event", to_string(event.what)},
                  {"id", to_number(event.job.id)},
                  {"name", event.job.name},
                  {"queue", event.job.queue},
                  {"key", event.job.key},
                  {"attempt", event.job.attempt},
                  {"detail", event.detail},
                  {"took_ms", took.count()}});
}

std::string json_of(const TimelineEntry& entry) {
  return line_of({{"at_us", entry.at == now_and_here ? Json() : micros_of(entry.at)},
                  {"key", entry.key},
                  {"job", entry.job == no_job ? Json() : Json(to_number(entry.job))},
                  {"event", entry.event},
                  {"owner", entry.owner},
                  {"by", entry.by},
                  {"token", token_of(entry.token)},
                  {"detail", entry.detail}});
}

std::string note_of(const JobRow& job, Moment now) {
  switch (job.state) {
    case JobState::queued:
      if (job.parked) return "waiting for its lock";
      if (job.due_at > now)
        return (job.attempt > 0 ? "next attempt at " : "scheduled for ") + format_wall(job.due_at) +
               (job.error.empty() ? "" : ": " + job.error);
      return job.error;
    case JobState::running:
      return job.claim_remaining > Millis::zero() ? "by " + short_owner(job.owner)
                                                  : "its worker no longer responds";
    case JobState::dropped: return "its lock was held by " + short_owner(job.error);
    case JobState::dead:
    case JobState::done:
    case JobState::cancelled: break;
  }
  return job.error;
}

}  // namespace holdfast::cli
