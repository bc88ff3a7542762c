// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/job_words.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/time.h"
#include "stores/mariadb/words.h"

namespace holdfast::mariadb {
namespace {

using core::JobRecord;
using Words = std::vector<std::pair<const char*, std::string>>;

constexpr Micros latest{std::int64_t{1} << 57};

// Of all values of `Enum`, of which there are `count`, the one that is called so; of a word that no version
// has written: the first.
template <class Enum>
Enum called(std::string_view word, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (word == to_string(static_cast<Enum>(i))) return static_cast<Enum>(i);
  return {};
}

std::string perhaps(std::optional<Moment> moment) { return moment ? moment_of(*moment) : "NULL"; }

std::string digits_of(bool yes) { return yes ? "1" : "0"; }

bool is_purged(JobState state) {
  return state == JobState::done || state == JobState::dropped || state == JobState::cancelled;
}

// What a job is.
Words facts_of(const JobRecord& job) {
  const JobRow& row = job.row;
  return {{"name", hex(row.name)},
          {"queue", hex(row.queue)},
          {"args", hex(row.args)},
          {"`key`", hex(row.key)},
          {"priority", std::to_string(row.priority)},
          {"state", hex(to_string(row.state))},
          {"enqueued_at", moment_of(row.enqueued_at)},
          {"run_at", moment_of(row.run_at)},
          {"due_at", moment_of(row.due_at)},
          {"started_at", perhaps(row.started_at)},
          {"finished_at", perhaps(row.finished_at)},
          {"attempt", std::to_string(row.attempt)},
          {"crashes", std::to_string(row.crashes)},
          {"max_attempts", std::to_string(row.max_attempts)},
          {"lock_ttl_ms", std::to_string(row.lock_ttl.count())},
          {"lock_fixed", digits_of(row.lock_fixed)},
          {"lock_limit", std::to_string(row.limit)},
          {"on_conflict", hex(to_string(row.on_conflict))},
          {"uniqueness", hex(to_string(row.unique))},
          {"parked", digits_of(row.parked)},
          {"holder", hex(row.owner)},
          {"lock_key", hex(row.lock)},
          {"lock_token", std::to_string(to_number(row.token))},
          {"error", hex(row.error)},
          {"duplicates", std::to_string(row.duplicates)},
          {"trail", hex(job.trail)}};
}

// What it is found by.
Words places_of(const JobRecord& job, Moment wall) {
  const JobRow& row = job.row;
  const bool queued = row.state == JobState::queued, ready = queued && row.due_at <= wall;
  const bool aside = queued && !ready;
  return {{"slot", row.slotted ? hex(core::slot_of(row.key)) : "NULL"},
          {"ready_priority", ready ? std::to_string(row.priority) : "NULL"},
          {"aside_until", aside ? moment_of(row.due_at) : "NULL"},
          {"waits_for", aside && row.parked ? hex(row.key) : "NULL"},
          {"claim_until", row.state == JobState::running ? moment_of(job.claim_until) : "NULL"},
          {"over_at", is_purged(row.state) ? moment_of(micros_or_zero(row.finished_at)) : "NULL"}};
}

void add(std::string& text, const std::pair<const char*, std::string>& word) {
  text += (text.empty() ? "" : ", ") + std::string(word.first) + " = " + word.second;
}

}  // namespace

const std::string_view job_columns =
    "id, name, queue, args, `key`, priority, state, {us(enqueued_at)}, {us(run_at)}, {us(due_at)}, "
    "{us(started_at)}, {us(finished_at)}, attempt, crashes, max_attempts, lock_ttl_ms, lock_fixed, "
    "lock_limit, on_conflict, uniqueness, slot IS NOT NULL, parked, holder, lock_key, lock_token, "
    "{us(claim_until)}, error, duplicates, trail";

JobRecord record_in(const Answer& a, std::size_t i) {
  enum Column : std::size_t {
    id,
    name,
    queue,
    args,
    key,
    priority,
    state,
    enqueued_at,
    run_at,
    due_at,
    started_at,
    finished_at,
    attempt,
    crashes,
    max_attempts,
    lock_ttl_ms,
    lock_fixed,
    lock_limit,
    on_conflict,
    uniqueness,
    slotted,
    parked,
    owner,
    lock_key,
    lock_token,
    claim_until,
    error,
    duplicates,
    trail
  };
  const auto number_of = [&](Column column) { return static_cast<int>(a.number(i, column)); };
  const auto text = [&](Column column) { return std::string(a.text(i, column)); };
  const auto micros = [&](Column column) { return a.moment(i, column).value_or(Micros::zero()); };
  const auto moment = [&](Column column) { return Moment(micros(column)); };
  return {.row = {.id = JobId{static_cast<std::uint64_t>(a.number(i, id))},
                  .name = text(name),
                  .queue = text(queue),
                  .args = text(args),
                  .key = text(key),
                  .priority = number_of(priority),
                  .state = called<JobState>(a.text(i, state), job_states),
                  .enqueued_at = moment(enqueued_at),
                  .run_at = moment(run_at),
                  .due_at = moment(due_at),
                  .started_at = moment_or_none(micros(started_at)),
                  .finished_at = moment_or_none(micros(finished_at)),
                  .attempt = number_of(attempt),
                  .crashes = number_of(crashes),
                  .max_attempts = number_of(max_attempts),
                  .lock_ttl = Millis(a.number(i, lock_ttl_ms)),
                  .lock_fixed = a.number(i, lock_fixed) != 0,
                  .limit = number_of(lock_limit),
                  .on_conflict = called<OnConflict>(a.text(i, on_conflict), 4),
                  .unique = called<Unique>(a.text(i, uniqueness), 4),
                  .slotted = a.number(i, slotted) != 0,
                  .parked = a.number(i, parked) != 0,
                  .owner = text(owner),
                  .lock = text(lock_key),
                  .token = Token{static_cast<std::uint64_t>(a.number(i, lock_token))},
                  .error = text(error),
                  .duplicates = static_cast<std::uint64_t>(a.number(i, duplicates))},
          .claim_until = micros(claim_until),
          .trail = text(trail)};
}

std::string all_of(const JobRecord& job, Moment wall) {
  std::string text;
  for (const auto& words : {facts_of(job), places_of(job, wall)})
    for (const auto& word : words) add(text, word);
  return text;
}

// What it is found by is always written: whether it was ready is not known any more.
std::string changes(const JobRecord& before, const JobRecord& job, Moment wall) {
  std::string text;
  for (const auto& word : places_of(job, wall)) add(text, word);
  const Words old = facts_of(before), now = facts_of(job);
  for (std::size_t i = 0; i < now.size(); ++i)
    if (old[i].second != now[i].second) add(text, now[i]);
  return text;
}

std::string moment_of(Micros moment) { return datetime(std::clamp(moment, Micros::zero(), latest)); }
std::string moment_of(Moment moment) { return moment_of(moment.time_since_epoch()); }

}  // namespace holdfast::mariadb
