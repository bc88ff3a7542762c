// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/engine.h"

#include <algorithm>
#include <cassert>

#include "base/time.h"
#include "core/job_rule.h"
#include "core/row.h"
#include "stores/postgres/job_rows.h"

namespace holdfast::postgres {
namespace {

using core::length_of;

// How long a claim waits for a lease whose row somebody has locked: other jobs must not wait for that.  Half
// as long for the next such lease, so that a second is enough to pass by many: then the first is tried again.
constexpr Millis claim_patience{400}, least_claim_patience{10};
constexpr Millis a_century = std::chrono::hours(24 * 36525);

// What is thrown inside comes out as a value.
template <class Out, class Work>
Out guarded(const Work& work) {
  try {
    return work();
  } catch (const Failure& failure) {
    return failure.error();
  }
}

// A lock that cannot be written, whoever tries: its key is too long for the column, or for the index.
bool is_of_one_job(std::string_view state) noexcept { return state == "22001" || state == "54000"; }

bool is_set_aside(std::string_view outcome) { return outcome == "parked" || outcome == "passed"; }

std::int64_t as_number(JobId id) { return static_cast<std::int64_t>(to_number(id)); }

const char* verb_of(JobChange what) {
  switch (what) {
    case JobChange::cancel: return "cancel";
    case JobChange::retry: return "retry";
    case JobChange::remove: return "remove";
  }
  return "";
}

void put_or_nothing(Parameters& p, std::string_view text) { text.empty() ? p.nothing() : p.text(text); }
void put_or_nothing(Parameters& p, JobId id) { id == no_job ? p.nothing() : p.number(as_number(id)); }
void put_length(Parameters& p, Millis period) {
  period > Millis::zero() ? p.number(length_of(period)) : p.nothing();
}

}  // namespace

PostgresEngine::PostgresEngine(std::shared_ptr<const StoreConfig> config, Instant until)
    : config_(std::move(config)), probe_{.tables = config_->tables}, statements_(config_->tables) {
  connect(until);
}

void PostgresEngine::connect(Instant until) {
  auto connection = std::make_unique<Connection>(config_->settings, until);
  ServerProbe probe = probe_server(*connection, config_->tables, until);
  require_jobs(probe, config_->name());
  if (probe.pooled) connection->stop_preparing();
  offset_ = {};
  offset_.learn(probe.asked, probe.answered, probe.now);
  uses_ = {};
  statements_ = JobStatements(probe.tables);
  probe_ = std::move(probe);
  connection_ = std::move(connection);
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

template <class Ask>
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

Answer PostgresEngine::answer(const Statement& statement, std::uint8_t& times, Instant until) {
  auto got = answers(until, [&] {
    std::vector<Answer> one;
    one.push_back(connection_->run(statement, times, parameters_, until));
    return one;
  });
  if (const auto& trouble = got.back().trouble()) throw_failure(not_done(*trouble));
  return std::move(got.back());
}

Error PostgresEngine::not_done(const Trouble& trouble) const {
  return is_of_one_job(trouble.state) ? statement_error(trouble, config_->name())
                                      : contended(config_->name(), trouble);
}

Answer PostgresEngine::look(const Statement& statement, Instant until) {
  try {
    // Unprepared: it is planned for what is asked.
    std::uint8_t first = 0;
    return answer(statement, first, until);
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
      if (auto reply = talk.hear(answer(statements_.enqueue, uses_.enqueue, until))) return *std::move(reply);
    }
  });
}

// -- claim

Result<Claimed> PostgresEngine::claim(const ClaimRequest& request, Instant until) {
  return guarded<Result<Claimed>>([&]() -> Result<Claimed> {
    require_fit(request.owner.text, probe_.longest_owner, "locked_by", config_->tables.name());
    Manner manner;
    Millis patience = claim_patience;
    for (int parked = 0; parked < core::parked_per_claim;) {
      const std::vector<Answer> got = ask_claim(request, manner, patience, until);
      if (const auto& trouble = got.back().trouble()) {
        if (is_of_one_job(trouble->state)) {
          // Which one it is only the careful way tells.
          const bool told = manner.careful && got.size() > 1;
          if (manner.careful && !(told && spoil(got.front().number(0, 0), *trouble, until)))
            throw_failure(statement_error(*trouble, config_->name()));
          manner.careful = !manner.careful;
          if (told) ++parked;
          continue;
        }
        if (manner.skip) throw_failure(contended(config_->name(), *trouble));
        manner.skip = true;
        patience = std::max(patience / 2, least_claim_patience);
        continue;
      }
      if (is_set_aside(got.back().text(0, 0))) ++parked;
      if (auto claimed = take_claim(got.back(), manner)) return *std::move(claimed);
    }
    return Claimed{};
  });
}

std::vector<Answer> PostgresEngine::ask_claim(const ClaimRequest& request, Manner manner, Millis longest,
                                              Instant until) {
  return answers(until, [&] {
    const std::int64_t void_after = offset_.at_least(until).count();
    const Millis patience = std::min(longest, std::max(Millis(1), patience_for(until) / 4));
    const auto put_queues = [&](Parameters& p) {
      p.clear();
      p.texts();
      for (const std::string& queue : request.queues) p.add(queue);
    };
    put_queues(parameters_);
    parameters_.text(request.owner.text).number(length_of(request.ttl)).number(request.max_crashes);
    parameters_.text(config_->client).number(void_after).number(patience.count()).flag(manner.skip);
    parameters_.number(request.longest_place > Millis::zero() ? length_of(request.longest_place)
                                                              : std::nullopt);
    if (manner.careful) {
      put_queues(more_);
      more_.number(void_after).number(patience.count()).flag(manner.skip);
      const Step steps[] = {{statements_.hold_next, uses_.hold_next, more_},
                            {statements_.claim_held, uses_.claim_held, parameters_}};
      return connection_->run(steps, until);
    }
    std::vector<Answer> one;
    const Instant sent = BootClock::now();
    one.push_back(connection_->run(statements_.claim, uses_.claim, parameters_, until));
    if (!one.back().trouble()) offset_.learn(sent, BootClock::now(), Micros(one.back().number(0, 1)));
    return one;
  });
}

bool PostgresEngine::spoil(std::int64_t id, const Trouble& why, Instant until) {
  const std::string error = statement_error(why, "its lock cannot be written").detail;
  parameters_.clear();
  parameters_.number(id).text(error).number(patience_for(until).count());
  std::uint8_t first = 0;
  return answer(statements_.spoil, first, until).rows() > 0;
}

std::optional<Claimed> PostgresEngine::take_claim(const Answer& a, Manner& manner) {
  enum : int { outcome, now_us, recovered, lock_until_us, blocker, next_ms, job };
  const std::string_view said = a.text(0, outcome);
  if (said == "careful" || said == "again") {
    manner.careful = said == "careful";
    return std::nullopt;
  }
  const bool was_careful = std::exchange(manner, {}).careful;
  if (is_set_aside(said) || (said == "nothing" && was_careful)) return std::nullopt;
  Claimed claimed;
  const Micros now(a.number(0, now_us));
  claimed.now = Moment(now);
  if (said == "nothing") {
    claimed.next = Millis(a.number(0, next_ms));
    return claimed;
  }
  claimed.what = said == "running"   ? Claimed::What::running
                 : said == "dropped" ? Claimed::What::dropped
                 : said == "raised"  ? Claimed::What::raised
                                     : Claimed::What::poisoned;
  claimed.recovered = a.flag(0, recovered);
  claimed.job = job_in(a, 0, job);
  const bool locked = claimed.what == Claimed::What::running && !claimed.job.lock.empty();
  const std::optional<Micros> end =
      a.is_null(0, lock_until_us) ? std::nullopt : std::optional(Micros(a.number(0, lock_until_us)));
  if (locked) claimed.lock_remaining = core::remaining(end, now);
  if (claimed.what == Claimed::What::dropped || claimed.what == Claimed::What::raised)
    claimed.blocker = a.text(0, blocker);
  return claimed;
}

Status PostgresEngine::renew(std::span<const ClaimRef> claims, std::span<bool> held, Millis ttl,
                             Instant until) {
  assert(held.size() == claims.size());
  if (claims.empty()) return Status{};
  return guarded<Status>([&]() -> Status {
    parameters_.clear();
    parameters_.numbers();
    for (const ClaimRef& claim : claims) parameters_.add(std::optional(as_number(claim.id)));
    parameters_.texts();
    for (const ClaimRef& claim : claims) parameters_.add(claim.owner.text);
    parameters_.number(length_of(ttl)).number(patience_for(until).count());
    const Answer a = answer(statements_.renew, uses_.renew, until);
    std::fill(held.begin(), held.end(), false);
    for (int row = 0; row < a.rows(); ++row) held[static_cast<std::size_t>(a.number(row, 0) - 1)] = true;
    return Status{};
  });
}

// -- finish

Result<Finished> PostgresEngine::finish(const Finish& how, Instant until) {
  return guarded<Result<Finished>>([&]() -> Result<Finished> {
    const auto got = answers(until, [&] {
      parameters_.clear();
      parameters_.number(as_number(how.id)).text(how.owner.text).text(to_string(how.to));
      parameters_.number(length_of(std::clamp(how.in, Millis::zero(), a_century))).flag(how.counts);
      parameters_.text(how.error).text(how.lock.text).number(static_cast<std::int64_t>(to_number(how.token)));
      parameters_.number(patience_for(until).count());
      more_.clear();
      more_.text(how.lock.text);
      const Step steps[] = {{statements_.finish, uses_.finish, parameters_},
                            {statements_.unpark, uses_.unpark, more_}};
      const std::size_t needed = how.lock.text.empty() ? 1 : 2;
      return connection_->run(std::span(steps).first(needed), until);
    });
    if (const auto& trouble = got.back().trouble()) throw_failure(not_done(*trouble));
    const Answer& a = got.front();
    return Finished{.finished = a.number(0, 0) > 0,
                    .released = a.number(0, 1) > 0,
                    .now = Moment(Micros(a.number(0, 2)))};
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
    const Answer a = look(query.id != no_job   ? statements_.list_id
                          : !query.key.empty() ? statements_.list_key
                                               : statements_.list,
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
      parameters_.text(verb_of(what)).text(by);
      more_.clear();
      more_.number(as_number(id)).number(offset_.at_least(until).count()).number(patience_for(until).count());
      const Step steps[] = {{statements_.hold_one, uses_.hold_one, more_},
                            {statements_.change, uses_.change, parameters_}};
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
  const Answer a = look(statements_.ticks, until);
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
    const Answer a = answer(statements_.tick, uses_.tick, until);
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
    (void)answer(statements_.success, uses_.success, until);
    return Status{};
  });
}

Result<std::uint64_t> PostgresEngine::purge(const JobPurge& what, Instant until) {
  return guarded<Result<std::uint64_t>>([&]() -> Result<std::uint64_t> {
    parameters_.clear();
    parameters_.number(length_of(std::clamp(what.older_than, Millis::zero(), a_century)));
    parameters_.number(static_cast<std::int64_t>(std::min<std::size_t>(what.limit, 1'000'000'000)));
    // What is gone is gone, and to ask again does no harm.
    return static_cast<std::uint64_t>(look(statements_.purge, until).number(0, 0));
  });
}

}  // namespace holdfast::postgres
