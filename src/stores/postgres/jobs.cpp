// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/jobs.h"

#include <algorithm>
#include <cassert>

#include "base/time.h"
#include "core/job_fields.h"
#include "core/row.h"
#include "stores/postgres/enqueuer.h"

namespace holdfast::postgres {
namespace {

using core::length_of;

// jobs.sql has these words and numbers too: a job with another word or a larger limit is dead.
static_assert(core::words_of<OnConflict> == 4 && core::words_of<Unique> == 4 && core::largest_limit == 1000);
static_assert(core::scout_pause == Millis(1000) && core::parked_pause == Millis(60'000) &&
              core::longest_trail == 8000);

void put_or_nothing(Parameters& p, std::string_view text) { text.empty() ? p.nothing() : p.text(text); }
void put_or_nothing(Parameters& p, JobId id) { id == no_job ? p.nothing() : p.number(as_number(id)); }
void put_length(Parameters& p, Millis period) {
  period > Millis::zero() ? p.number(length_of(period)) : p.nothing();
}

// Of a row that has job_row, column by column.
class JobColumns : public core::FieldReader {
 public:
  JobColumns(const Answer& answer, int row, int first) : answer_(answer), row_(row), column_(first) {}

  std::string_view text(const char*) { return answer_.text(row_, column_++); }
  std::int64_t number(const char*) { return answer_.number(row_, column_++); }
  bool flag(const char*) { return answer_.flag(row_, column_++); }
  Micros micros(const char* name) { return Micros(number(name)); }
  Millis length(const char* name) {
    const bool endless = answer_.is_null(row_, column_);
    const Micros length = micros(name);
    return endless ? Millis(never) : std::chrono::ceil<Millis>(length);
  }
  void damage(std::string_view name) {
    FieldReader::damage(name == "unique" ? "uniqueness" : name == "limit" ? "lock_limit" : name);
  }

 private:
  const Answer& answer_;
  const int row_;
  int column_;
};

}  // namespace

JobRow job_in(const Answer& answer, int row, int first) {
  JobColumns columns(answer, row, first);
  return core::seen(core::read_job(columns), Micros::zero());
}

PostgresEngine::PostgresEngine(std::shared_ptr<const StoreConfig> config, Instant until)
    : config_(std::move(config)), probe_{.tables = config_->tables}, statements_(config_->tables) {
  connect(until);
}

void PostgresEngine::connect(Instant until) {
  std::tie(connection_, probe_, statements_, offset_) = connect_to(*config_, require_jobs, until);
  broken_ = false;
}

void PostgresEngine::ready(Instant until) {
  if (BootClock::now() >= until)
    throw_failure({Errc::unavailable, "timed out before the request could be sent: the connection was busy"});
  if (!broken_ && !connection_->ended()) return;
  try {
    connect(until);
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (error.in_doubt()) error.code = Errc::unavailable;  // nothing of the caller's was sent yet
    throw_failure(std::move(error));
  }
}

std::vector<Answer> PostgresEngine::answers(Instant until, const Ask& ask) {
  while (true) {
    ready(until);
    std::vector<Answer> got;
    try {
      got = ask();
    } catch (const Failure&) {
      broken_ = true;
      throw;
    }
    const auto& trouble = got.back().trouble();
    if (!trouble) return got;
    // A circle of waiting, or a transaction that sees an old state of the rows: asked again it goes.
    if (trouble->state == "40P01" || trouble->state == "40001") continue;
    if (is_contention(trouble->state) || is_of_one_job(trouble->state)) return got;
    throw_failure(statement_error(*trouble, config_->name()));
  }
}

Answer PostgresEngine::one_answer(Instant until, const std::function<Answer()>& ask) {
  auto got = answers(until, [&] {
    std::vector<Answer> one;
    one.push_back(ask());
    return one;
  });
  if (const auto& trouble = got.back().trouble()) throw_failure(not_done(*trouble));
  return std::move(got.back());
}

Answer PostgresEngine::answer(Sql sql, Instant until) {
  return one_answer(until, [&] { return connection_->run(statements_[sql], parameters_, until); });
}

Answer PostgresEngine::answer_once(Sql sql, Instant until) {
  return one_answer(until, [&] { return connection_->run(statements_[sql].text, parameters_, until); });
}

Error PostgresEngine::not_done(const Trouble& trouble) const {
  return is_of_one_job(trouble.state) ? statement_error(trouble, config_->name())
                                      : contended(config_->name(), trouble);
}

Answer PostgresEngine::look(Sql sql, Instant until) {
  try {
    return answer_once(sql, until);
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (error.in_doubt()) error.code = Errc::unavailable;
    throw_failure(std::move(error));
  }
}

// -- enqueue

Result<EnqueueReply> PostgresEngine::enqueue(const NewJob& job, Instant until) {
  return guarded<Result<EnqueueReply>>([&]() -> Result<EnqueueReply> {
    require_key_fits(job, probe_.longest_key, config_->tables.name());
    EnqueueTalk talk;
    while (true) {
      put_new_job(parameters_, job, patience_for(until));
      if (auto reply = talk.hear(answer(Sql::enqueue, until))) return *std::move(reply);
    }
  });
}

// -- for people

Result<std::vector<JobRow>> PostgresEngine::list(const JobQuery& query, Instant until) {
  return guarded<Result<std::vector<JobRow>>>([&]() -> Result<std::vector<JobRow>> {
    parameters_.clear();
    put_or_nothing(parameters_, query.id);
    for (const std::string_view text : {query.key, query.name, query.queue})
      put_or_nothing(parameters_, text);
    put_or_nothing(parameters_, query.state ? std::string_view(to_string(*query.state)) : std::string_view());
    put_or_nothing(parameters_, query.before);
    parameters_.number(static_cast<std::int64_t>(std::min<std::size_t>(query.limit, 1'000'000'000)));
    const Answer a = look(query.id != no_job   ? Sql::list_id
                          : !query.key.empty() ? Sql::list_key
                                               : Sql::list,
                          until);
    std::vector<JobRow> rows;
    for (int row = 0; row < a.rows(); ++row) rows.push_back(job_in(a, row, 0));
    return rows;
  });
}

Result<JobRow> PostgresEngine::change(JobId id, JobChange what, std::string_view by, Instant until) {
  enum : int { fits, rival, was, job };
  return guarded<Result<JobRow>>([&]() -> Result<JobRow> {
    const auto got = answers(until, [&] {
      parameters_.clear();
      parameters_.text(core::verb_of(what)).text(by);
      more_.clear();
      more_.number(offset_.at_least(until).count()).number(patience_for(until).count()).number(as_number(id));
      const Step steps[] = {{statements_[Sql::hold_one], more_}, {statements_[Sql::change], parameters_}};
      auto all = connection_->run(steps, until);
      // Somebody has taken the slot since: asked again we see them.
      const auto& trouble = all.back().trouble();
      if (trouble && trouble->state == "23505") all.back() = Answer(Trouble{"40001", trouble->text});
      return all;
    });
    const Answer& a = got.back();
    if (a.trouble()) throw_failure(not_done(*a.trouble()));
    if (a.rows() == 0) throw_failure(core::no_such_job(id));
    JobRow row = job_in(a, 0, job);
    if (a.flag(0, fits)) return row;
    core::JobRecord record{.row = row};
    if (Status status = core::change(record, what, by, {}); !status) throw_failure(std::move(status).error());
    throw_failure(core::slot_is_taken(id, JobId{static_cast<std::uint64_t>(a.number(0, rival))}));
  });
}

// -- ticks

TickRow PostgresEngine::last_tick(std::string_view name, Instant until, Millis period, std::int64_t* wanted) {
  parameters_.clear();
  parameters_.text(name);
  put_length(parameters_, period);
  const Answer a = look(Sql::last_tick, until);
  if (wanted != nullptr && !a.is_null(0, 5)) *wanted = a.number(0, 5);
  return {.tick = a.is_null(0, 0) ? -1 : a.number(0, 0),
          .by = std::string(a.text(0, 1)),
          .at = moment_or_none(Micros(a.number(0, 2))),
          .success = moment_or_none(Micros(a.number(0, 3))),
          .now = Moment(Micros(a.number(0, 4)))};
}

Result<TickRow> PostgresEngine::take_tick(const Tick& tick, Instant until) {
  return guarded<Result<TickRow>>([&]() -> Result<TickRow> {
    parameters_.clear();
    parameters_.text(tick.name).number(tick.tick);
    put_length(parameters_, tick.period);
    parameters_.text(tick.by).number(patience_for(until).count());
    const Answer a = answer(Sql::take_tick, until);
    if (a.rows() > 0)
      return TickRow{.taken = true,
                     .tick = a.number(0, 0),
                     .by = std::string(a.text(0, 1)),
                     .at = moment_or_none(Micros(a.number(0, 2))),
                     .success = moment_or_none(Micros(a.number(0, 3))),
                     .now = Moment(Micros(a.number(0, 4)))};
    std::int64_t wanted = tick.tick;
    TickRow row = last_tick(tick.name, until, tick.period, &wanted);
    row.tick = wanted;
    return row;
  });
}

Result<TickRow> PostgresEngine::tick(std::string_view name, Instant until) {
  return guarded<Result<TickRow>>(
      [&]() -> Result<TickRow> { return last_tick(name, until, Millis::zero(), nullptr); });
}

Status PostgresEngine::note_success(std::string_view name, std::string_view by, Instant until) {
  return guarded<Status>([&]() -> Status {
    parameters_.clear();
    parameters_.text(name).text(by).number(patience_for(until).count());
    (void)answer(Sql::note_success, until);
    return Status{};
  });
}

Result<std::uint64_t> PostgresEngine::purge(const JobPurge& what, Instant until) {
  return guarded<Result<std::uint64_t>>([&]() -> Result<std::uint64_t> {
    parameters_.clear();
    parameters_.number(length_of(std::clamp(what.older_than, Millis::zero(), core::a_century)));
    parameters_.number(static_cast<std::int64_t>(std::min<std::size_t>(what.limit, 1'000'000'000)));
    // What is gone is gone, and to ask again does no harm.
    return static_cast<std::uint64_t>(look(Sql::purge_jobs, until).number(0, 0));
  });
}

}  // namespace holdfast::postgres
