// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/jobs.h"

#include <algorithm>
#include <limits>

#include "base/time.h"
#include "core/job_fields.h"
#include "stores/sqlite/database.h"

namespace holdfast::sqlite {
namespace {

constexpr int looked_at = 100;
constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

std::int64_t row_id(JobId id) {
  return static_cast<std::int64_t>(std::min(to_number(id), static_cast<std::uint64_t>(highest)));
}

std::optional<std::string> slot_in(const core::JobRecord& job) {
  return job.row.slotted ? std::optional(core::slot_of(job.row.key)) : std::nullopt;
}

// Rows longer than the connection takes would be told as damage of the file.
void require_short(const JobRow& row) {
  constexpr std::size_t longest = std::size_t{1} << 20;
  const std::size_t size = row.name.size() + row.queue.size() + row.args.size() + 3 * row.key.size();
  if (size <= longest) return;
  throw_failure({Errc::invalid, "job '" + row.name.substr(0, 100) + "' has " + std::to_string(size) +
                                    " bytes with its arguments, but at most " + std::to_string(longest) +
                                    " are allowed; keep large data elsewhere and pass its name"});
}

// A job that cannot be told of its end would stand in the way of all others.
std::string_view cut(std::string_view error) {
  constexpr std::size_t longest = std::size_t{64} << 10;
  if (error.size() <= longest) return error;
  std::size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(error[end]) & 0xC0) == 0x80) --end;  // not inside a letter
  return error.substr(0, end);
}

// Of the row of job_by_id, column by column.  What stands in the file may be anything, of any type.
class JobColumns : public core::FieldReader {
 public:
  explicit JobColumns(const Cursor& cursor) : cursor_(cursor) {}

  std::string_view text(const char*) { return cursor_.text(next(SQLITE_TEXT)); }
  std::int64_t number(const char*) { return cursor_.number(next(SQLITE_INTEGER)); }
  bool flag(const char* name) { return number(name) != 0; }
  Micros micros(const char* name) { return Micros(number(name)); }
  Millis length(const char* name) { return Millis(number(name)); }
  void damage(std::string_view) { FieldReader::damage(cursor_.name(column_)); }

 private:
  int next(int type) {
    if (cursor_.type(++column_) != type) damage({});
    return column_;
  }

  const Cursor& cursor_;
  int column_ = -1;
};

core::JobRecord read_row(const Cursor& cursor) {
  JobColumns columns(cursor);
  return core::read_job(columns);
}

}  // namespace

std::optional<core::JobRecord> JobRows::job(JobId id) { return job_numbered(row_id(id)); }

std::optional<core::JobRecord> JobRows::job_numbered(std::int64_t id) {
  Cursor cursor = connection_.run(Sql::job_by_id, id);
  return cursor.next() ? std::optional(read_row(cursor)) : std::nullopt;
}

std::optional<core::JobRecord> JobRows::in_slot(std::string_view slot) {
  Cursor cursor = connection_.run(Sql::job_in_slot, slot);
  return cursor.next() ? job_numbered(cursor.number(0)) : std::nullopt;
}

// -- whose turn it is

// Calls visit(turn) for the first of each priority, until it says that this is enough.  Each is one step in
// an index, so jobs of a better priority that wait for their time cost nothing but their first: it is the
// number of priorities in use that counts, and that is small.
//
// What is no number there was changed by hand: such a job is due now, so that it is found to be damaged, and
// nothing behind it can be asked for.
template <class Visit>
void JobRows::each_priority(Sql which, std::string_view queue, const Visit& visit) {
  for (std::int64_t behind = lowest;;) {
    Cursor cursor = connection_.run(which, queue, behind);
    if (!cursor.next()) return;
    const bool damaged = cursor.type(0) != SQLITE_INTEGER || cursor.type(1) != SQLITE_INTEGER;
    behind = cursor.number(0);
    const Turn turn{behind, damaged ? Moment() : Moment(Micros(cursor.number(1))), cursor.number(2)};
    if (visit(turn) || damaged) return;
  }
}

std::optional<JobRows::Turn> JobRows::first_due(std::string_view queue, Moment wall) {
  std::optional<Turn> first;
  each_priority(Sql::first_due, queue, [&](const Turn& turn) {
    if (turn.at <= wall) first = turn;
    return first.has_value();
  });
  return first;
}

std::optional<JobRows::Turn> JobRows::first_put_off(std::string_view queue, Moment wall) {
  std::optional<Turn> first;
  each_priority(Sql::first_put_off, queue, [&](const Turn& due) {
    if (due.at > wall) return false;
    if (due.at == Moment()) first = due;  // damaged
    Cursor cursor = connection_.run(Sql::put_off_and_due, queue, due.priority, wall);
    for (int i = 0; i < looked_at && cursor.next(); ++i) {
      const Turn turn{cursor.number(0), Moment(Micros(cursor.number(1))), cursor.number(2)};
      if (!first || turn < *first) first = turn;
    }
    return true;
  });
  return first;
}

std::optional<core::JobRecord> JobRows::next_due(Queues queues, Moment wall) {
  std::optional<Turn> first;
  for (const std::string& queue : queues) {
    for (const auto& turn : {first_due(queue, wall), first_put_off(queue, wall)}) {
      if (turn && (!first || *turn < *first)) first = turn;
    }
  }
  return first ? job_numbered(first->id) : std::nullopt;
}

std::optional<Moment> JobRows::earliest_due(Queues queues) {
  std::optional<Moment> earliest;
  for (const std::string& queue : queues) {
    for (const Sql which : {Sql::first_due, Sql::first_put_off}) {
      each_priority(which, queue, [&](const Turn& turn) {
        earliest = std::min(turn.at, earliest.value_or(turn.at));
        return false;
      });
    }
  }
  return earliest;
}

// Calls visit(claim_until, id) for the first claim to run out of each queue.
template <class Visit>
void JobRows::each_claim_end(Queues queues, const Visit& visit) {
  for (const std::string& queue : queues) {
    Cursor cursor = connection_.run(Sql::first_claim_end, std::string_view(queue));
    if (cursor.next()) visit(Micros(cursor.number(0)), cursor.number(1));
  }
}

std::optional<core::JobRecord> JobRows::next_expired(Queues queues, Micros now) {
  std::optional<std::int64_t> expired;
  each_claim_end(queues, [&](Micros end, std::int64_t id) {
    if (!expired && end <= now) expired = id;
  });
  return expired ? job_numbered(*expired) : std::nullopt;
}

std::optional<Micros> JobRows::earliest_claim_end(Queues queues) {
  std::optional<Micros> earliest;
  each_claim_end(queues, [&](Micros end, std::int64_t) { earliest = std::min(end, earliest.value_or(end)); });
  return earliest;
}

std::optional<core::JobRecord> JobRows::first_parked(std::string_view key, Moment wall) {
  Cursor in_turn = connection_.run(Sql::parked_in_turn, key);
  for (int i = 0; i < looked_at && in_turn.next(); ++i) {
    if (Moment(Micros(in_turn.number(1))) > wall) return job_numbered(in_turn.number(0));
  }
  Cursor later = connection_.run(Sql::first_parked_until, key, wall);
  return later.next() ? job_numbered(later.number(0)) : std::nullopt;
}

// -- writing

// REQUIRES: as core::made_of() makes it.
JobId JobRows::insert(const Record& job) {
  const JobRow& row = job.row;
  require_short(row);
  const std::optional<std::string> slot = slot_in(job);
  const std::string_view name = row.name, queue = row.queue, args = row.args, key = row.key;
  connection_
      .run(Sql::insert_job, name, queue, args, key, row.priority, row.enqueued_at, row.run_at,
           row.max_attempts, row.lock_ttl.count(), row.lock_fixed, row.limit,
           std::string_view(to_string(row.on_conflict)), std::string_view(to_string(row.unique)), slot)
      .finish();
  return JobId{static_cast<std::uint64_t>(sqlite3_last_insert_rowid(connection_.raw()))};
}

void JobRows::update(const Record& job) {
  const JobRow& row = job.row;
  require_short(row);
  const std::optional<std::string> slot = slot_in(job);
  const std::string_view args = row.args, owner = row.owner, lock = row.lock, error = cut(row.error),
                         trail = job.trail;
  connection_
      .run(Sql::update_job, row_id(row.id), args, row.priority, std::string_view(to_string(row.state)),
           row.run_at, row.due_at, micros_or_zero(row.started_at), micros_or_zero(row.finished_at),
           row.attempt, row.crashes, slot, row.parked, owner, lock, to_number(row.token), job.claim_until,
           error, row.duplicates, trail, row.max_attempts)
      .finish();
}

void JobRows::erase(JobId id) { connection_.run(Sql::delete_job, row_id(id)).finish(); }

std::vector<core::JobRecord> JobRows::find(const JobQuery& q) {
  const std::int64_t newest = q.before == no_job ? highest : row_id(q.before) - 1;
  const std::int64_t first = q.id == no_job ? 0 : row_id(q.id);
  const std::int64_t last = q.id == no_job ? newest : std::min(newest, first);
  const std::string_view state = q.state ? std::string_view(to_string(*q.state)) : std::string_view();
  std::vector<Record> found;
  Cursor cursor =
      connection_.run(q.key.empty() ? Sql::find_jobs : Sql::find_jobs_of_key, first, last, q.key, q.name,
                      q.queue, state, std::min(q.limit, static_cast<std::size_t>(highest)));
  while (cursor.next()) {
    if (auto job = job_numbered(cursor.number(0))) found.push_back(*std::move(job));
  }
  return found;
}

std::uint64_t JobRows::erase_over(Moment finished_before, std::size_t limit) {
  return static_cast<std::uint64_t>(
      connection_.run(Sql::purge_jobs, finished_before, std::min(limit, static_cast<std::size_t>(highest)))
          .finish());
}

// -- ticks

std::optional<rows::TickRecord> JobRows::tick_of(std::string_view name) {
  Cursor cursor = connection_.run(Sql::tick_by_name, name);
  if (!cursor.next()) return std::nullopt;
  return rows::TickRecord{.tick = cursor.number(0),
                          .job = JobId{static_cast<std::uint64_t>(cursor.number(1))},
                          .by = std::string(cursor.text(2)),
                          .at = Micros(cursor.number(3)),
                          .success = Micros(cursor.number(4)),
                          .until = Micros(cursor.number(5))};
}

void JobRows::put_tick(std::string_view name, const rows::TickRecord& tick) {
  connection_
      .run(Sql::put_tick, name, tick.tick, to_number(tick.job), std::string_view(tick.by), tick.at,
           tick.success, tick.until)
      .finish();
}

void JobRows::erase_ticks(Micros until_before) { connection_.run(Sql::purge_ticks, until_before).finish(); }

// -- the engine

SqliteEngine::SqliteEngine(std::shared_ptr<StoreConfig> config, Instant until)
    : JobRows(connection_),  // which only keeps where it will be
      config_(std::move(config)),
      connection_(config_->path, config_->tables, config_->machine),
      leases_(*config_, connection_),
      upkeep_(connection_, config_->presence) {
  connection_.set_end(until);
  open_database(connection_, config_->presence);
  open_jobs(connection_);
}

void SqliteEngine::transact(Access access, Instant until, const std::function<void()>& work) {
  leases_.start(until);
  if (access == Access::read) {
    const Snapshot snapshot(connection_);
    work();
    return;
  }
  {
    Transaction transaction(connection_);
    work();
    transaction.commit();
  }
  leases_.notify_waiters();
  upkeep_.tend();
}

core::JobMoment SqliteEngine::moment() {
  return {.now = connection_.boottime(), .wall = Moment(connection_.walltime())};
}

Reply SqliteEngine::lease(const Request& request) { return leases_.decide(request); }

std::string SqliteEngine::lock_owner(Key lock) { return leases_.owner_of(lock); }

}  // namespace holdfast::sqlite
