// SPDX-License-Identifier: Apache-2.0
// The rows of jobs and ticks: a record as SQL and back, and how rows are read by id, written and deleted.
#include <algorithm>
#include <cassert>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "core/job_fields.h"
#include "stores/mariadb/jobs.h"
#include "stores/mariadb/sql.h"

namespace holdfast::mariadb {
namespace {

using core::JobRecord;
using rows::TickRecord;
using Assignments = std::vector<std::pair<std::string_view, std::string>>;

constexpr std::size_t most_purged = 100'000;
constexpr std::size_t longest_name = 512;
constexpr Micros latest{std::int64_t{1} << 57};

// The column of a field; empty: it is found elsewhere (index_columns_of).
std::string_view column_of(std::string_view field) {
  constexpr std::pair<std::string_view, std::string_view> others[] = {{"id", ""},
                                                                      {"slotted", ""},
                                                                      {"claim_until", ""},
                                                                      {"key", "`key`"},
                                                                      {"lock_ttl", "lock_ttl_ms"},
                                                                      {"limit", "lock_limit"},
                                                                      {"unique", "uniqueness"},
                                                                      {"lock", "lock_key"},
                                                                      {"token", "lock_token"}};
  for (const auto& [other, column] : others)
    if (field == other) return column;
  return field;
}

// The columns of fields with their values as SQL.
class Facts {
 public:
  void text(std::string_view column, std::string_view value) { all.emplace_back(column, hex(value)); }
  void number(std::string_view column, std::int64_t value) {
    all.emplace_back(column, std::to_string(value));
  }
  void flag(std::string_view column, bool value) { all.emplace_back(column, digits(value)); }
  template <class Time>
  void moment(std::string_view column, std::optional<Time> value) {
    all.emplace_back(column, value ? datetime_of(*value) : "NULL");
  }

  Assignments all = {};
};

bool is_purged(JobState state) {
  return state == JobState::done || state == JobState::dropped || state == JobState::cancelled;
}

// What a job is.
Assignments facts_of(const JobRecord& job) {
  Facts facts;
  core::each_field(job, [&](const char* name, const auto& field) {
    if (const std::string_view column = column_of(name); !column.empty())
      core::write_field(facts, column, field);
  });
  return std::move(facts.all);
}

// What it is found by.
Assignments index_columns_of(const JobRecord& job, Moment wall) {
  const JobRow& row = job.row;
  const bool queued = row.state == JobState::queued, ready = queued && row.due_at <= wall;
  const bool aside = queued && !ready;
  return {{"slot", row.slotted ? hex(core::slot_of(row.key)) : "NULL"},
          {"ready_priority", ready ? std::to_string(row.priority) : "NULL"},
          {"aside_until", aside ? datetime_of(row.due_at) : "NULL"},
          {"waits_for", aside && row.parked ? hex(row.key) : "NULL"},
          {"claim_until", row.state == JobState::running ? datetime_of(job.claim_until) : "NULL"},
          {"over_at", is_purged(row.state) ? datetime_of(micros_or_zero(row.finished_at)) : "NULL"}};
}

void add(std::string& text, const std::pair<std::string_view, std::string>& assignment) {
  text += (text.empty() ? "" : ", ") + std::string(assignment.first) + " = " + assignment.second;
}

// What stands behind SET: all columns.  `wall` decides whether it is ready.
std::string all_columns(const JobRecord& job, Moment wall) {
  std::string text;
  for (const auto& assignments : {facts_of(job), index_columns_of(job, wall)})
    for (const auto& assignment : assignments) add(text, assignment);
  return text;
}

// What is not as it was.  What it is found by is always written: whether it was ready is not known any more.
std::string changed_columns(const JobRecord& before, const JobRecord& job, Moment wall) {
  std::string text;
  for (const auto& assignment : index_columns_of(job, wall)) add(text, assignment);
  const Assignments old = facts_of(before), now = facts_of(job);
  const bool unknown_state = before.damaged == "state";  // `before` has another one than the row
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool mended = unknown_state && now[i].first == "state";
    if (mended || old[i].second != now[i].second) add(text, now[i]);
  }
  return text;
}

// Of a row that has job_columns, column by column.
class JobColumns : public core::FieldReader {
 public:
  JobColumns(const Answer& answer, std::size_t row) : answer_(answer), row_(row) {}

  std::string_view text(const char*) { return answer_.text(row_, column_++); }
  std::int64_t number(const char*) { return answer_.number(row_, column_++); }
  bool flag(const char* name) { return number(name) != 0; }
  Micros micros(const char*) { return answer_.moment(row_, column_++).value_or(Micros::zero()); }
  Millis length(const char* name) { return Millis(number(name)); }
  void damage(std::string_view name) { FieldReader::damage(column_of(name)); }

 private:
  const Answer& answer_;
  const std::size_t row_;
  std::size_t column_ = 0;
};

}  // namespace

std::string datetime_of(Micros moment) { return datetime(std::clamp(moment, Micros::zero(), latest)); }

std::string digits_of(JobId id) { return std::to_string(to_number(id)); }

std::string ids_in(const Answer& answer) {
  std::string ids;
  for (std::size_t i = 0; i < answer.rows.size(); ++i)
    ids += (i == 0 ? "" : ", ") + std::string(answer.text(i, 0));
  return ids;
}

void take_better(std::optional<JobRecord>& best, std::optional<JobRecord> found) {
  if (found && (!best || core::before(found->row, best->row))) best = std::move(found);
}

JobRecord record_in(const Answer& answer, std::size_t row) {
  JobColumns columns(answer, row);
  return core::read_job(columns);
}

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

std::optional<JobRecord> MariaEngine::job(JobId id) {
  return one_in(
      ask(tables_.sql(Sql::job_by_id, {{"id", digits_of(id)}, {"for_update", for_update()}}), 1).front());
}

std::optional<JobRecord> MariaEngine::in_slot(std::string_view slot) {
  return one_in(
      ask(tables_.sql(Sql::job_in_slot, {{"slot", hex(slot)}, {"for_update", for_update()}}), 1).front());
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
    const std::string columns = all_columns(job, moment().wall);
    const auto answers = ask(tables_.sql(Sql::insert_job, {{"columns_and_values", columns}}), 1);
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
  write(tables_.sql(Sql::update_job,
                    {{"columns_and_values", changed_columns(before->second, job, moment().wall)},
                     {"id", digits_of(job.row.id)}}));
  before->second = job;
  set_aside_ |= candidates_ && job.row.parked;
  const auto first = first_parked_.find(job.row.key);
  if (first == first_parked_.end()) return;
  if (job.row.parked && job.row.due_at > moment().wall)
    take_better(first->second, job);
  else if (first->second && first->second->row.id == job.row.id)
    first_parked_.erase(first);
}

void MariaEngine::renew_claims(std::span<const ClaimRef> claims, std::span<ClaimReply> replies, Micros now) {
  if (claims.empty()) return;
  std::string ids;
  for (const ClaimRef& claim : claims) ids += (ids.empty() ? "" : ", ") + digits_of(claim.id);
  const Values values = {{"ids", ids}};
  enum : std::size_t { locked, committed, count };
  const auto answers =
      ask(tables_.sql(Sql::lock_claims, values) + tables_.sql(Sql::read_claims, values), count);
  const auto owners_in = [](const Answer& answer) {
    std::map<std::int64_t, std::string_view> owners;
    for (std::size_t i = 0; i < answer.rows.size(); ++i)
      owners.emplace(answer.number(i, 0), answer.text(i, 1));
    return owners;
  };
  const auto ours = owners_in(answers[locked]), all = owners_in(answers[committed]);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const auto id = static_cast<std::int64_t>(to_number(claims[i].id));
    const auto row = ours.find(id), seen = all.find(id);
    replies[i].held = row != ours.end() && row->second == claims[i].owner.text;
    if (replies[i].held)
      write(tables_.sql(Sql::prolong_claim,
                        {{"moment", datetime_of(now + claims[i].ttl)}, {"id", digits_of(claims[i].id)}}));
    else if (row == ours.end() && seen != all.end() && seen->second == claims[i].owner.text)
      replies[i].error = core::job_is_locked(config_->name);
  }
}

void MariaEngine::renew_claim_that_waits(const ClaimRef& claim, ClaimReply& reply, Micros now,
                                         Instant until) {
  const Values values = {
      {"id", digits_of(claim.id)}, {"patience", wait_until(until)}, {"moment", datetime_of(now + claim.ttl)}};
  try {
    const Answer row = ask(tables_.sql(Sql::lock_claim, values), 1).front();
    reply.held = !row.rows.empty() && row.text(0, 0) == claim.owner.text;
  } catch (const Overtaken& overtaken) {
    if (!was_locked(overtaken.trouble.code)) throw;
    reply.error = core::job_is_locked(config_->name);
  }
  if (reply.held) write(tables_.sql(Sql::prolong_claim, values));
}

std::string MariaEngine::wait_until(Instant until) const {
  const auto left = std::chrono::floor<Millis>(until - BootClock::now());
  return probe_.wait_at_most(left - std::min(left / 4, Millis(200)));
}

void MariaEngine::erase(JobId id) { write(tables_.sql(Sql::delete_jobs, {{"ids", digits_of(id)}})); }

std::vector<JobRecord> MariaEngine::find(const JobQuery& query) {
  const std::size_t limit = std::min<std::size_t>(query.limit, 1'000'000'000);
  const auto answers =
      ask(tables_.sql(Sql::find_jobs, {{"id", digits_of(query.id)},
                                       {"before", digits_of(query.before)},
                                       {"key", hex(query.key)},
                                       {"name", hex(query.name)},
                                       {"queue", hex(query.queue)},
                                       {"job_state", hex(query.state ? to_string(*query.state) : "")},
                                       {"limit", std::to_string(limit)}}),
          1);
  return records_in(answers.front());
}

std::uint64_t MariaEngine::erase_over(Moment finished_before, std::size_t limit) {
  const auto answers =
      ask(tables_.sql(Sql::finished_jobs, {{"moment", datetime_of(finished_before)},
                                           {"limit", std::to_string(std::min(limit, most_purged))}}),
          1);
  const Answer& over = answers.front();
  if (!over.rows.empty()) write(tables_.sql(Sql::delete_jobs, {{"ids", ids_in(over)}}));
  return over.rows.size();
}

// -- ticks

// Where there is no row to lock one is made, so that of two who take the first tick of a name the second
// waits for the first.
std::optional<TickRecord> MariaEngine::tick_of(std::string_view name) {
  const std::string read = tables_.sql(Sql::read_tick, {{"name", hex(name)}, {"for_update", for_update()}});
  Answer row = ask(read, 1).front();
  if (row.rows.empty() && access_ == Access::write)
    row = ask(tables_.sql(Sql::insert_tick, {{"name", hex(name)}}) + read, 1).front();
  if (row.rows.empty() || row.is_null(0, 0)) return std::nullopt;
  return TickRecord{.tick = row.number(0, 0),
                    .job = JobId{static_cast<std::uint64_t>(row.number(0, 1))},
                    .by = std::string(row.text(0, 2)),
                    .at = row.moment(0, 3).value_or(Micros::zero()),
                    .success = row.moment(0, 4).value_or(Micros::zero()),
                    .until = row.moment(0, 5).value_or(Micros::zero())};
}

void MariaEngine::put_tick(std::string_view name, const TickRecord& tick) {
  const auto time_or_null = [](Micros at) { return at == Micros::zero() ? "NULL" : datetime_of(at); };
  write(tables_.sql(Sql::write_tick, {{"name", hex(name)},
                                      {"tick", std::to_string(tick.tick)},
                                      {"job", digits_of(tick.job)},
                                      {"taken_by", hex(tick.by)},
                                      {"taken_at", time_or_null(tick.at)},
                                      {"success_at", time_or_null(tick.success)},
                                      {"until", time_or_null(tick.until)}}));
}

void MariaEngine::erase_ticks(Micros until_before) {
  write(tables_.sql(Sql::delete_ticks,
                    {{"moment", datetime_of(until_before)}, {"limit", std::to_string(most_purged)}}));
}

}  // namespace holdfast::mariadb
