// SPDX-License-Identifier: Apache-2.0
#include "core/job_rule.h"

#include <algorithm>
#include <charconv>
#include <tuple>

namespace holdfast {
namespace core {
namespace {

using namespace std::chrono_literals;

bool is_over(JobState state) noexcept { return state != JobState::queued && state != JobState::running; }

void leave_slot(JobRow& row) noexcept {
  const bool keeps = row.state == JobState::dead && row.unique == Unique::until_success;
  if (is_over(row.state) && !keeps) row.slotted = false;
}

void let_go_of_lock(JobRow& row) {
  row.lock.clear();
  row.token = no_token;
}

void enter(JobRecord& job, JobState state, Moment wall) {
  if (job.damaged == "state") job.damaged.clear();
  job.row.state = state;
  job.row.finished_at = is_over(state) ? std::optional(wall) : std::nullopt;
  job.row.parked = false;
  job.claim_until = Micros::zero();
  leave_slot(job.row);
}

std::string error_of_damaged(const JobRecord& job) {
  return "cannot run the job: its field " + job.damaged +
         " has a wrong type or an unknown value; repair it, then retry the job";
}

Moment when(const NewJob& job, Moment wall) {
  return job.at ? *job.at : wall + std::max(job.in, Millis::zero());
}

Error wrong_state(const JobRow& row, JobChange what, const char* remedy = "") {
  return {Errc::invalid, std::string("cannot ") + verb_of(what) + " job " +
                             std::to_string(to_number(row.id)) + ": it is " + to_string(row.state) + remedy};
}

}  // namespace

std::string slot_of(std::string_view key) { return "loner:" + std::string(key); }

bool has_slot(Unique unique) noexcept { return unique != Unique::no; }

bool minds_owner(const NewJob& job) noexcept {
  return (job.unique == Unique::loner || job.unique == Unique::until_success) && job.limit == 1;
}

std::int64_t tick_of(std::int64_t tick, Millis period, Moment wall) noexcept {
  const Micros now = wall.time_since_epoch();
  return period > Millis::zero() ? (now - now % Micros(period)).count() : tick;
}

Micros tick_until(std::int64_t tick, Millis window) noexcept {
  return window > Millis::zero() ? Micros(tick) + window : Micros::zero();
}

JobRecord made_of(const NewJob& job, Moment wall) {
  const Moment due = when(job, wall);
  return {.row = {.name = std::string(job.name),
                  .queue = std::string(job.queue),
                  .args = std::string(job.args),
                  .key = std::string(job.key),
                  .priority = job.priority,
                  .state = JobState::queued,
                  .enqueued_at = wall,
                  .run_at = due,
                  .due_at = due,
                  .max_attempts = job.max_attempts,
                  .lock_ttl = job.lock_ttl,
                  .lock_fixed = job.lock_fixed,
                  .limit = job.limit,
                  .on_conflict = job.on_conflict,
                  .unique = job.unique,
                  .slotted = has_slot(job.unique)}};
}

EnqueueReply duplicate_of(JobRecord& there, Moment wall) {
  ++there.row.duplicates;
  return {.what = EnqueueReply::What::duplicate,
          .id = there.row.id,
          .state = there.row.state,
          .since = there.row.enqueued_at,
          .now = wall};
}

EnqueueReply meet(JobRecord& there, const NewJob& job, Moment wall) {
  EnqueueReply reply = duplicate_of(there, wall);
  if (job.on_conflict != OnConflict::replace || there.row.state != JobState::queued) return reply;
  there.row.args = job.args;
  there.row.priority = job.priority;
  there.row.run_at = when(job, wall);
  // One that waits for its lock goes on doing so, unless its time has not come: then others are before it.
  if (there.row.run_at > wall) there.row.parked = false;
  if (!there.row.parked) there.row.due_at = there.row.run_at;
  there.row.attempt = there.row.crashes = 0;
  there.row.max_attempts = job.max_attempts;
  there.row.error.clear();
  note(there, wall, "replaced", "");
  reply.what = EnqueueReply::What::replaced;
  return reply;
}

std::string lock_name(std::string_view key, int limit, int n) {
  return std::string(key) + (limit == 1 ? "" : "#" + std::to_string(n));
}

}  // namespace core

std::vector<std::string> lock_keys(std::string_view key, int limit) {
  std::vector<std::string> keys;
  const int last = std::min(limit, core::largest_limit);
  for (int n = 1; n <= last; ++n) keys.push_back(core::lock_name(key, limit, n));
  return keys;
}

namespace core {

Request lock_request(const JobRow& job, Key lock, const ClaimRequest& claim) {
  return {.verb = Verb::acquire,
          .key = lock,
          .owner = claim.owner,
          .ttl = job.lock_ttl,
          .longest_place = claim.longest_place};
}

Request give_back(const JobRow& job) {
  return {.verb = Verb::release, .key = {job.lock}, .owner = {job.owner}, .token = job.token};
}

OnConflict conflict_of(const JobRow& job) noexcept {
  const bool waits = job.started_at || job.on_conflict == OnConflict::replace;
  return waits ? OnConflict::wait : job.on_conflict;
}

bool crashed(JobRecord& job, int max_crashes, const JobMoment& moment) {
  JobRow& row = job.row;
  ++row.crashes;
  note(job, moment.wall, "crashed", row.owner);
  if (row.crashes < max_crashes) return false;
  row.error = "its worker died " + std::to_string(row.crashes) + " times";
  let_go_of_lock(row);
  enter(job, JobState::dead, moment.wall);
  return true;
}

void end_damaged(JobRecord& job, const JobMoment& moment) {
  job.row.error = error_of_damaged(job);
  let_go_of_lock(job.row);
  enter(job, JobState::dead, moment.wall);
  if (job.row.key.empty()) job.row.slotted = false;  // its key may be what is damaged
  note(job, moment.wall, "failed", job.row.error);
}

void start(JobRecord& job, const ClaimRequest& claim, Key lock, Token token, const JobMoment& moment) {
  JobRow& row = job.row;
  enter(job, JobState::running, moment.wall);
  row.owner = claim.owner.text;
  row.lock = lock.text;
  row.token = token;
  row.started_at = moment.wall;
  ++row.attempt;
  if (row.unique == Unique::until_start) row.slotted = false;
  job.claim_until = moment.now + claim.ttl;
}

void drop(JobRecord& job, std::string_view blocker, const JobMoment& moment) {
  job.row.error = blocker;
  enter(job, JobState::dropped, moment.wall);
}

void park(JobRecord& job, Millis lock_remaining, bool first, const JobMoment& moment) {
  const bool again = job.row.parked;
  enter(job, JobState::queued, moment.wall);
  let_go_of_lock(job.row);
  if (!again) note(job, moment.wall, "parked", "");
  job.row.parked = true;
  job.row.due_at = moment.wall + (first ? std::clamp(lock_remaining, 10ms, scout_pause) : parked_pause);
}

void unpark(JobRecord& job) { job.row.due_at = job.row.run_at; }

bool make_scout(JobRecord& job, Moment wall) {
  if (job.row.due_at <= wall + scout_pause) return false;
  job.row.due_at = wall + scout_pause;
  return true;
}

bool before(const JobRow& a, const JobRow& b) noexcept {
  return std::tuple(a.priority, a.run_at, to_number(a.id)) <
         std::tuple(b.priority, b.run_at, to_number(b.id));
}

bool is_claim_of(const JobRecord& job, const ClaimRef& claim) noexcept {
  return job.row.state == JobState::running && job.row.owner == claim.owner.text;
}

bool finish(JobRecord& job, const Finish& how, const JobMoment& moment) {
  JobRow& row = job.row;
  if (!is_claim_of(job, {how.id, how.owner})) return false;
  enter(job, how.to, moment.wall);
  let_go_of_lock(row);
  row.error = how.error;
  if (how.to == JobState::queued && !how.counts) {
    --row.attempt;
    note(job, moment.wall, "handed-back", how.error);
  } else if (how.to == JobState::dropped) {
    --row.attempt;
  } else if (how.to != JobState::done) {
    note(job, moment.wall, how.to == JobState::cancelled ? "cancelled" : "failed", how.error);
  }
  if (how.to == JobState::queued) {
    row.due_at = moment.wall + std::max(how.in, Millis::zero());
    if (how.counts) row.run_at = row.due_at;
  }
  return true;
}

const char* verb_of(JobChange what) noexcept {
  switch (what) {
    case JobChange::cancel: return "cancel";
    case JobChange::retry: return "retry";
    case JobChange::remove: return "remove";
  }
  return "?";
}

Status change(JobRecord& job, JobChange what, std::string_view by, const JobMoment& moment) {
  JobRow& row = job.row;
  const bool live = !is_over(row.state);
  switch (what) {
    case JobChange::cancel:
      if (!live && row.state != JobState::dead) return wrong_state(row, what);
      enter(job, JobState::cancelled, moment.wall);
      note(job, moment.wall, "cancelled", by);
      return Status{};
    case JobChange::retry:
      if (live) return wrong_state(row, what);
      enter(job, JobState::queued, moment.wall);
      row.attempt = row.crashes = 0;
      row.run_at = row.due_at = moment.wall;
      row.slotted = has_slot(row.unique);
      row.error.clear();
      note(job, moment.wall, "retried", by);
      return Status{};
    case JobChange::remove:
      if (row.state == JobState::running) return wrong_state(row, what, "; cancel it first");
      return Status{};
  }
  return Status{};
}

JobRow seen(JobRecord job, Micros now) {
  const bool live = job.row.state == JobState::running && now < job.claim_until;
  job.row.claim_remaining = live ? std::chrono::ceil<Millis>(job.claim_until - now) : Millis::zero();
  job.row.trail = trail_of(job.trail);
  if (!job.damaged.empty() && job.row.error.empty()) job.row.error = error_of_damaged(job);
  return std::move(job.row);
}

std::vector<TrailEntry> trail_of(std::string_view text) {
  std::vector<TrailEntry> entries;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::int64_t at = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), at);
    if (error != std::errc{}) continue;
    std::string_view rest = line.substr(static_cast<std::size_t>(end - line.data()));
    rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
    const std::string_view event = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(event.size() + 1, rest.size()));
    entries.push_back({.at = Moment(Micros(at)), .event = std::string(event), .detail = std::string(rest)});
  }
  return entries;
}

Error no_such_job(JobId id) {
  return {Errc::invalid, "there is no job " + std::to_string(to_number(id)) + " here"};
}

Error slot_is_taken(JobId id, JobId by) {
  return {Errc::invalid, "cannot retry job " + std::to_string(to_number(id)) + ": job " +
                             std::to_string(to_number(by)) +
                             " with the same key is queued or running, or dead and unique until_success; "
                             "wait until that job is done, or cancel it"};
}

Error job_is_locked(std::string_view store) {
  return {Errc::unavailable,
          std::string(store) + ": the claim was not renewed: another transaction has locked its job"};
}

void note(JobRecord& job, Moment wall, std::string_view event, std::string_view detail) {
  std::string line =
      std::to_string(wall.time_since_epoch().count()) + " " + std::string(event) + " " + std::string(detail);
  std::replace(line.begin(), line.end(), '\n', ' ');
  job.trail += line + "\n";
  if (job.trail.size() <= longest_trail) return;
  const std::size_t cut = job.trail.find('\n', job.trail.size() - longest_trail);
  job.trail.erase(0, cut + 1);
}

}  // namespace core

}  // namespace holdfast
