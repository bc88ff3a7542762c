// SPDX-License-Identifier: Apache-2.0
// The rows of jobs and ticks: how they are found without reading others, and written.
#include <algorithm>
#include <cassert>
#include <type_traits>

#include "base/text.h"
#include "stores/mariadb/engine.h"
#include "stores/mariadb/job_words.h"
#include "stores/mariadb/words.h"

namespace holdfast::mariadb {
namespace {

using namespace std::chrono_literals;
using core::JobRecord;
using rows::TickRecord;

// So many whose time has come are made ready by one claim.
constexpr std::size_t many = 1000;
constexpr std::size_t most_purged = 100'000;
constexpr std::size_t longest_name = 512;
// Somebody is about to claim what is due, or has it locked.
constexpr Millis a_moment = 10ms;

std::string digits_of(JobId id) { return std::to_string(to_number(id)); }

template <class Time>
void take_earlier(std::optional<Time>& best, std::type_identity_t<std::optional<Time>> at) {
  if (at && (!best || *at < *best)) best = at;
}

void take_better(std::optional<JobRecord>& best, std::optional<JobRecord> found) {
  if (found && (!best || core::before(found->row, best->row))) best = std::move(found);
}

std::string ids_in(const Answer& answer) {
  std::string ids;
  for (std::size_t i = 0; i < answer.rows.size(); ++i)
    ids += (i == 0 ? "" : ", ") + std::string(answer.text(i, 0));
  return ids;
}

}  // namespace

std::vector<JobRecord> MariaEngine::records_in(const Answer& answer) {
  std::vector<JobRecord> records;
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    records.push_back(record_in(answer, i));
    if (access_ == Access::write) read_records_.insert_or_assign(records.back().row.id, records.back());
  }
  return records;
}

std::optional<JobRecord> MariaEngine::one_in(const Answer& answer) {
  auto records = records_in(answer);
  return records.empty() ? std::nullopt : std::optional(std::move(records.front()));
}

std::optional<JobRecord> MariaEngine::find_one(const std::string& where) {
  return one_in(ask(jobs_ + where + (access_ == Access::write ? " FOR UPDATE;" : ";"), 1).front());
}

std::optional<JobRecord> MariaEngine::job(JobId id) { return find_one("id = " + digits_of(id)); }

std::optional<JobRecord> MariaEngine::in_slot(std::string_view slot) {
  return find_one("slot = " + hex(slot));
}

// -- claiming: all that a claim may want to know, in one text

MariaEngine::Look& MariaEngine::look(Queues queues) {
  const core::JobMoment at = moment();
  enum : std::size_t { expired, aside, ready, times, count };
  std::string text;
  for (const std::string& queue : queues)
    text += with(expired_ + aside_ + ready_ + times_, {{"queue", hex(queue)},
                                                       {"moment", moment_of(at.now)},
                                                       {"wall", moment_of(at.wall)},
                                                       {"many", std::to_string(many)}});
  const auto answers = ask(text, count * queues.size());
  Look found;
  for (std::size_t i = 0; i < answers.size(); i += count) {
    take_better(found.expired, one_in(answers[i + expired]));
    take_better(found.ready, one_in(answers[i + ready]));
    if (const std::string ids = ids_in(answers[i + aside]); !ids.empty())
      found.aside += (found.aside.empty() ? "" : ", ") + ids;
    const Answer& then = answers[i + times];
    if (then.number(0, 0) != 0) take_earlier(found.due, at.wall);
    if (const auto due = then.moment(0, 1)) take_earlier(found.due, Moment(*due));
    take_earlier(found.claim_end, then.moment(0, 2));
  }
  return look_.emplace(std::move(found));
}

std::optional<JobRecord> MariaEngine::ready_in(Queues queues) {
  std::string text;
  for (const std::string& queue : queues) text += with(ready_, {{"queue", hex(queue)}});
  std::optional<JobRecord> best;
  for (const Answer& answer : ask(text, queues.size())) take_better(best, one_in(answer));
  return best;
}

// Asked again by a claim that has set one aside, which may do so with a hundred: then only the next is new.
std::optional<JobRecord> MariaEngine::next_expired(Queues queues, Micros) {
  if (!look_ || look_->expired) return look(queues).expired;
  look_->ready = ready_in(queues);
  look_->as_of_now = false;
  return std::nullopt;
}

std::optional<JobRecord> MariaEngine::next_due(Queues queues, Moment) {
  Look& seen = look_ ? *look_ : look(queues);
  if (seen.aside.empty()) return seen.ready;
  put(config_->tables.expand(
      "UPDATE {jobs} FORCE INDEX (PRIMARY) SET ready_priority = priority, aside_until = NULL, waits_for = "
      "NULL WHERE id IN (" +
      seen.aside + ");\n"));
  seen.aside.clear();
  return ready_in(queues);
}

std::optional<Moment> MariaEngine::earliest_due(Queues queues) {
  const std::optional<Moment> due = (look_ && look_->as_of_now ? *look_ : look(queues)).due;
  const Moment wall = moment().wall;
  return due && *due <= wall ? wall + a_moment : due;
}

std::optional<Micros> MariaEngine::earliest_claim_end(Queues queues) {
  const std::optional<Micros> end = (look_ && look_->as_of_now ? *look_ : look(queues)).claim_end;
  const Micros now = moment().now;
  return end && *end <= now ? now + a_moment : end;
}

std::optional<JobRecord> MariaEngine::first_parked(std::string_view key, Moment wall) {
  if (const auto known = first_.find(key); known != first_.end()) return known->second;
  auto first = one_in(ask(with(parked_, {{"key", hex(key)}, {"wall", moment_of(wall)}}), 1).front());
  return first_.emplace(key, std::move(first)).first->second;
}

// -- writing

// Never cut: two keys would become one.  And what cannot be locked must not be enqueued: each claim would
// find it first.
void MariaEngine::require_fit(const JobRow& job) const {
  const auto refuse = [&](const std::string& text, std::size_t longest, const char* what) {
    if (text.size() <= longest) return;
    throw_failure({Errc::refused, std::string("the ") + what + " \"" + printable(text) + "\" of a job has " +
                                      std::to_string(text.size()) + " bytes, but " + config_->name +
                                      " allows at most " + std::to_string(longest) + "; give a shorter one"});
  };
  refuse(job.name, longest_name, "name");
  refuse(job.queue, longest_name, "queue");
  refuse(job.limit > 1 ? core::lock_name(job.key, job.limit, job.limit) : job.key,
         std::min(longest_name, probe_.longest_key), "key");
}

JobId MariaEngine::insert(const JobRecord& job) {
  require_fit(job.row);
  try {
    const auto answers =
        ask(config_->tables.expand("INSERT INTO {jobs} SET ") + all_of(job, moment().wall) + ";", 1);
    wrote_ = true;
    return JobId{answers.front().insert_id};
  } catch (const Overtaken& overtaken) {
    if (overtaken.trouble.code == 1062) return no_job;
    throw;
  }
}

void MariaEngine::update(const JobRecord& job) {
  const auto before = read_records_.find(job.row.id);
  assert(before != read_records_.end());
  put(config_->tables.expand("UPDATE {jobs} SET ") + changes(before->second, job, moment().wall) +
      " WHERE id = " + digits_of(job.row.id) + ";\n");
  before->second = job;
  set_aside_ |= look_ && job.row.parked;
  const auto first = first_.find(job.row.key);
  if (first == first_.end()) return;
  if (job.row.parked && job.row.due_at > moment().wall)
    take_better(first->second, job);
  else if (first->second && first->second->row.id == job.row.id)
    first_.erase(first);
}

void MariaEngine::erase(JobId id) {
  put(config_->tables.expand("DELETE FROM {jobs} WHERE id = ") + digits_of(id) + ";\n");
}

std::vector<JobRecord> MariaEngine::find(const JobQuery& query) {
  std::string where = "TRUE";
  const auto add = [&](const char* column, std::string_view text) {
    if (!text.empty()) where += std::string(" AND ") + column + " = " + hex(text);
  };
  if (query.id != no_job) where += " AND id = " + digits_of(query.id);
  if (query.before != no_job) where += " AND id < " + digits_of(query.before);
  add("`key`", query.key);
  add("name", query.name);
  add("queue", query.queue);
  if (query.state) add("state", to_string(*query.state));
  where += " ORDER BY id DESC LIMIT " + std::to_string(std::min<std::size_t>(query.limit, 1'000'000'000));
  return records_in(ask(jobs_ + where + ";", 1).front());
}

std::uint64_t MariaEngine::erase_over(Moment finished_before, std::size_t limit) {
  const auto answers =
      ask(config_->tables.expand("SELECT id FROM {jobs} FORCE INDEX (over_at) WHERE over_at <= ") +
              moment_of(finished_before) + " ORDER BY over_at LIMIT " +
              std::to_string(std::min(limit, most_purged)) + " FOR UPDATE SKIP LOCKED;",
          1);
  const Answer& over = answers.front();
  if (!over.rows.empty())
    put(config_->tables.expand("DELETE FROM {jobs} WHERE id IN (") + ids_in(over) + ");\n");
  return over.rows.size();
}

// -- ticks

// Where there is no row to lock one is made, so that of two who take the first tick of a name the second
// waits for the first.
std::optional<TickRecord> MariaEngine::tick_of(std::string_view name) {
  const bool writes = access_ == Access::write;
  const std::string select = with(tick_, {{"name", hex(name)}, {"locked", writes ? " FOR UPDATE" : ""}});
  Answer row = ask(select, 1).front();
  if (row.rows.empty() && writes)
    row = ask(config_->tables.expand("INSERT INTO {ticks} (name, until) VALUES (" + hex(name) +
                                     ", '1970-01-01') ON DUPLICATE KEY UPDATE job = job;\n") +
                  select,
              1)
              .front();
  if (row.rows.empty() || row.is_null(0, 0)) return std::nullopt;
  return TickRecord{.tick = row.number(0, 0),
                    .job = JobId{static_cast<std::uint64_t>(row.number(0, 1))},
                    .by = std::string(row.text(0, 2)),
                    .at = row.moment(0, 3).value_or(Micros::zero()),
                    .success = row.moment(0, 4).value_or(Micros::zero()),
                    .until = row.moment(0, 5).value_or(Micros::zero())};
}

void MariaEngine::put_tick(std::string_view name, const TickRecord& tick) {
  const auto perhaps = [](Micros moment) { return moment == Micros::zero() ? "NULL" : moment_of(moment); };
  const std::string values = "tick = " + std::to_string(tick.tick) + ", job = " + digits_of(tick.job) +
                             ", taken_by = " + hex(tick.by) + ", taken_at = " + perhaps(tick.at) +
                             ", success_at = " + perhaps(tick.success) + ", until = " + perhaps(tick.until);
  put(config_->tables.expand("INSERT INTO {ticks} SET name = ") + hex(name) + ", " + values +
      " ON DUPLICATE KEY UPDATE " + values + ";\n");
}

void MariaEngine::erase_ticks(Micros until_before) {
  put(config_->tables.expand("DELETE FROM {ticks} WHERE until <= ") + moment_of(until_before) +
      " ORDER BY until LIMIT " + std::to_string(most_purged) + ";\n");
}

}  // namespace holdfast::mariadb
