// SPDX-License-Identifier: Apache-2.0
#include "cli/see/timeline.h"

#include <algorithm>

#include "base/text.h"
#include "base/time.h"
#include "cli/output.h"
#include "cli/see/describe.h"

namespace holdfast::cli {
namespace {

TimelineEntry of_job(const JobRow& job, Moment at, std::string event) {
  return {.at = at, .key = job.key, .job = job.id, .name = job.name, .event = std::move(event)};
}

// Its due time was changed, and the first one is not known any more.
bool was_put_off(const JobRow& job) {
  return job.attempt > 0 || std::any_of(job.trail.begin(), job.trail.end(), [](const TrailEntry& entry) {
           return entry.event == "retried" || entry.event == "handed-back" || entry.event == "failed";
         });
}

std::string how_often(const JobRow& job) {
  std::string text;
  if (job.unique != Unique::no) text = to_string(job.unique);
  if (job.run_at > job.enqueued_at && !was_put_off(job))
    text += (text.empty() ? "" : ", ") + ("scheduled for " + format_wall(job.run_at));
  if (job.duplicates > 0)
    text += (text.empty() ? "" : "; ") + std::to_string(job.duplicates) +
            (job.duplicates == 1 ? " duplicate was not enqueued" : " duplicates were not enqueued");
  return text;
}

std::string in_brackets(const std::string& detail) {
  return detail.empty() ? "" : " (" + printable(detail) + ")";
}

std::string of_the_lease(const TimelineEntry& m) {
  const std::string key = printable(m.key);
  if (m.event == "holds")
    return key + " is held by " + who(m.owner) + with_token(m.token) + in_brackets(m.detail);
  if (m.event == "waits") return who(m.owner) + " waits for " + key;
  if (m.event == "free") return key + " is free" + in_brackets(m.detail);
  return key + " " + printable(m.event) + (m.by.empty() ? "" : " by " + who(m.by)) + because(m.detail) +
         " (was held by " + who(m.owner) + with_token(m.token) + ")";
}

}  // namespace

std::vector<TimelineEntry> entries_of(const JobRow& job) {
  std::vector<TimelineEntry> all;
  TimelineEntry enqueued = of_job(job, job.enqueued_at, "enqueued");
  enqueued.detail = how_often(job);
  all.push_back(std::move(enqueued));
  bool cancelled_in_trail = false;
  for (const TrailEntry& line : job.trail) {
    TimelineEntry entry = of_job(job, line.at, line.event);
    const bool names_owner = line.event == "crashed";
    const bool names_person = line.event == "retried" || line.event == "cancelled";
    (names_owner ? entry.owner : names_person ? entry.by : entry.detail) = line.detail;
    cancelled_in_trail = cancelled_in_trail || line.event == "cancelled";
    all.push_back(std::move(entry));
  }
  if (job.started_at) {
    TimelineEntry started = of_job(job, *job.started_at, "started");
    started.owner = job.owner;
    started.token = job.token;
    if (job.attempt > 1) started.detail = "attempt " + std::to_string(job.attempt);
    all.push_back(std::move(started));
  }
  const bool over = job.state != JobState::queued && job.state != JobState::running;
  if (over && !(job.state == JobState::cancelled && cancelled_in_trail)) {
    TimelineEntry ended = of_job(job, job.finished_at.value_or(Moment{}), to_string(job.state));
    (job.state == JobState::dropped ? ended.by : ended.detail) = job.error;
    all.push_back(std::move(ended));
  }
  if (job.state == JobState::running && job.claim_remaining == Millis::zero()) {
    TimelineEntry expired = of_job(job, now_and_here, "expired");
    expired.owner = job.owner;
    all.push_back(std::move(expired));
  }
  return all;
}

std::vector<TimelineEntry> entries_of(const Inspection& found) {
  const LeaseRow& lease = found.lease;
  std::vector<TimelineEntry> all;
  for (const LogRow& row : found.log)
    all.push_back({.at = row.at,
                   .key = row.key,
                   .event = row.event,
                   .owner = row.owner,
                   .by = row.by,
                   .token = row.token,
                   .detail = row.reason});
  const bool held = lease.remaining > Millis::zero();
  TimelineEntry now{
      .at = now_and_here, .key = lease.key, .event = held ? "holds" : "free", .token = lease.token};
  if (held) {
    now.owner = lease.owner;
    now.detail = (lease.since ? "since " + format_wall(*lease.since) + ", " : "") +
                 (lease.remaining == never ? "without end" : format_duration(lease.remaining) + " left") +
                 (lease.note.empty() ? "" : ", " + lease.note);
  } else if (!lease.owner.empty()) {
    now.detail = "the lease expired; the last holder was " + short_owner(lease.owner);
  }
  all.push_back(std::move(now));
  for (const PlaceRow& place : found.places)
    all.push_back({.at = now_and_here, .key = place.key, .event = "waits", .owner = place.owner});
  return all;
}

std::string sentence_of(const TimelineEntry& m) {
  if (m.job == no_job) return of_the_lease(m);
  const std::string job = "job " + std::to_string(to_number(m.job)) + " " + printable(m.name) + " ";
  if (m.event == "enqueued") return job + "enqueued" + in_brackets(m.detail);
  if (m.event == "started")
    return job + "started by " + who(m.owner) + with_token(m.token) + in_brackets(m.detail);
  if (m.event == "dropped") return job + "dropped because " + who(m.by) + " held " + printable(m.key);
  if (m.event == "crashed")
    return job + "was not finished: its worker, " + who(m.owner) + ", stopped responding";
  if (m.event == "parked") return job + "waits for " + printable(m.key);
  if (m.event == "handed-back") return job + "was handed back to the queue" + because(m.detail);
  if (m.event == "expired") return job + "is claimed by " + who(m.owner) + ", which no longer responds";
  if (m.event == "dead") return job + "is dead" + because(m.detail);
  return job + printable(m.event) + (m.by.empty() ? "" : " by " + who(m.by)) + because(m.detail);
}

}  // namespace holdfast::cli
