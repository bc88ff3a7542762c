// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/enqueuer.h"

#include <algorithm>

#include "base/text.h"
#include "base/time.h"
#include "core/job_fields.h"
#include "core/row.h"
#include "holdfast/postgres.h"
#include "rows/row_store.h"

namespace holdfast::postgres {
namespace {

// Timestamps begin and end there.
constexpr Micros year_one{-62'135'596'800'000'000};
constexpr Micros year_100_000{3'093'527'980'800'000'000};

}  // namespace

void put_new_job(Parameters& p, const NewJob& job, Millis patience) {
  p.clear();
  p.text(job.name).text(job.queue).text(job.args).number(job.priority);
  job.at ? p.number(std::clamp(job.at->time_since_epoch(), year_one, year_100_000).count()) : p.nothing();
  p.number(core::length_of(std::clamp(job.in, Millis::zero(), Millis(std::chrono::hours(24 * 365 * 300)))));
  p.number(job.max_attempts).text(job.key).number(core::length_of(job.lock_ttl)).flag(job.lock_fixed);
  p.number(job.limit).text(to_string(job.on_conflict)).text(to_string(job.unique));
  job.tick_name.empty() ? p.nothing() : p.text(job.tick_name);
  p.number(job.tick);
  job.window > Millis::zero() ? p.number(core::length_of(job.window)) : p.nothing();
  p.number(patience.count());
}

std::optional<EnqueueReply> EnqueueTalk::hear(const Answer& a) {
  enum : int { verdict, id, state, since_us, owner, now_us };
  const auto job = JobId{static_cast<std::uint64_t>(a.number(0, id))};
  EnqueueReply reply{.id = job,
                     .state = core::enumerator_named<JobState>(a.text(0, state)).value_or(JobState::dead),
                     .since = moment_or_none(Micros(a.number(0, since_us))),
                     .now = Moment(Micros(a.number(0, now_us)))};
  const char said = a.letter(0, verdict);
  if (said == 'l')
    return EnqueueReply{
        .what = EnqueueReply::What::locked, .owner = std::string(a.text(0, owner)), .now = reply.now};
  if (said == 't') return std::nullopt;
  reply.what = said == 'e'   ? EnqueueReply::What::enqueued
               : said == 'r' ? EnqueueReply::What::replaced
                             : EnqueueReply::What::duplicate;
  // One that is too young for our snapshot is seen the next time.
  const bool unseen = said == 'p' && job != no_job && job != unseen_;
  if (unseen) unseen_ = job;
  return unseen ? std::nullopt : std::optional(reply);
}

Error contended(const std::string& where, const Trouble& trouble) {
  return {
      Errc::unavailable,
      where +
          ": timed out waiting for an open transaction that has locked the same rows; nothing was changed: " +
          trouble.text + " (" + trouble.state + ")"};
}

void require_fit(std::string_view text, std::size_t longest, const char* column, const std::string& table) {
  if (longest == 0 || text.size() <= longest || rows::letters_in(text) <= longest) return;
  throw_failure({Errc::refused, "\"" + printable(text) + "\" is longer than the " + std::to_string(longest) +
                                    " letters that the column \"" + column + "\" of the table \"" + table +
                                    "\" allows; give a shorter one, or make the column wider"});
}

void require_key_fits(const NewJob& job, std::size_t longest, const std::string& table) {
  if (job.limit <= 0 || longest == 0) return;
  // The lock's name may have a number behind it: #1 … #N.
  const std::size_t number = job.limit > 1 ? 1 + std::to_string(job.limit).size() : 0;
  require_fit(job.key, longest - std::min(number, longest - 1), "key", table);
}

Millis patience_for(Instant until) {
  const auto left = std::chrono::floor<Millis>(until - BootClock::now());
  return std::max(Millis(1), left - std::min(left / 4, Millis(200)));
}

// -- inside a transaction of the caller's own

namespace {

constexpr const char* their_connection = "the caller's connection to PostgreSQL";

class CallersTransaction final : public Enqueuer {
 public:
  CallersTransaction(PGconn* connection, const std::string& table) : connection_(connection) {
    if (connection == nullptr)
      throw_failure({Errc::invalid, "cannot enqueue: the PGconn is null; give an open connection"});
    require_ours();
    table_ = table;
    const Tables tables = Tables::named(table).value();
    const std::string quoted = tables.quoted();
    Parameters which;
    which.text(quoted);
    const Answer found = ask(std::string(text(Sql::find_table)), which);
    if (found.trouble()) throw_failure(statement_error(*found.trouble(), their_connection));
    if (found.rows() == 0)
      throw_failure({Errc::unprepared, "there is no table \"" + table + "\" in the database of " +
                                           their_connection + "; create it with: holdfast --store URL init"});
    longest_key_ = limit_in(found.text(0, 1));
    sql_ = tables.in_schema(found.text(0, 0)).expand(text(Sql::enqueue));
  }

  Result<EnqueueReply> enqueue(const NewJob& job, Instant until) override {
    try {
      require_ours();
      if (BootClock::now() >= until)
        throw_failure(
            {Errc::unavailable, "timed out before the request could be sent: the connection was busy"});
      require_key_fits(job, longest_key_, table_);
      return PQtransactionStatus(connection_) == PQTRANS_INTRANS ? inside(job, until) : talk(job, until);
    } catch (const Failure& failure) {
      return failure.error();
    }
  }

 private:
  // Blocking, idle, and not in a transaction that has failed: then a statement can be run.
  void require_ours() const {
    if (PQstatus(connection_) != CONNECTION_OK)
      throw_failure({Errc::unavailable, std::string(their_connection) + " is not open"});
    if (PQisnonblocking(connection_) != 0)
      throw_failure(
          {Errc::invalid, std::string(their_connection) +
                              " is in nonblocking mode, but enqueueing waits for a reply; give a blocking "
                              "one, or call PQsetnonblocking(connection, 0) first"});
    if (PQpipelineStatus != nullptr && PQpipelineStatus(connection_) != PQ_PIPELINE_OFF)
      throw_failure({Errc::invalid, std::string(their_connection) +
                                        " is in pipeline mode, but enqueueing waits for a reply; call "
                                        "PQexitPipelineMode(connection) first"});
    switch (PQtransactionStatus(connection_)) {
      case PQTRANS_IDLE:
      case PQTRANS_INTRANS: return;
      case PQTRANS_ACTIVE:
        throw_failure({Errc::invalid, std::string(their_connection) +
                                          " is in the middle of a statement; fetch all of its results with "
                                          "PQgetResult() first"});
      case PQTRANS_INERROR:
        throw_failure(
            {Errc::invalid, std::string(their_connection) +
                                " is in a transaction that has failed, in which nothing can be enqueued; "
                                "ROLLBACK first"});
      case PQTRANS_UNKNOWN:
        throw_failure({Errc::unavailable, std::string(their_connection) + " is not open"});
    }
  }

  static Answer read(OwnedResult result) {
    const ExecStatusType status = PQresultStatus(result.get());
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return Answer(std::move(result));
    const char* const state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
    const char* const text = PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY);
    return Answer(
        Trouble{state == nullptr ? "" : state, text == nullptr ? PQresultErrorMessage(result.get()) : text});
  }
  Answer ask(const std::string& sql, Parameters& p) const {
    return read(OwnedResult(
        PQexecParams(connection_, sql.c_str(), p.count(), nullptr, p.values(), p.lengths(), p.formats(), 0)));
  }
  // Several statements, without parameters.
  Answer tell(const std::string& sql) const { return read(OwnedResult(PQexec(connection_, sql.c_str()))); }

  Answer undo() const {
    return tell("ROLLBACK TO SAVEPOINT holdfast_enqueue; RELEASE SAVEPOINT holdfast_enqueue");
  }

  EnqueueReply talk(const NewJob& job, Instant until) const {
    EnqueueTalk talk;
    while (true) {
      Parameters parameters;
      put_new_job(parameters, job, patience_for(until));
      const Answer answer = ask(sql_, parameters);
      if (const auto& trouble = answer.trouble()) {
        if (trouble->state == "55P03") throw_failure(contended(their_connection, *trouble));
        if (trouble->state == "40001" && PQtransactionStatus(connection_) != PQTRANS_IDLE)
          throw_failure(
              {Errc::unavailable,
               std::string(their_connection) +
                   ": nothing was enqueued: the transaction is REPEATABLE READ or SERIALIZABLE and conflicts "
                   "with another one: " +
                   trouble->text + " (40001); ROLLBACK, and run the whole transaction again"});
        throw_failure(statement_error(*trouble, their_connection));
      }
      if (auto reply = talk.hear(answer)) return *std::move(reply);
      if (BootClock::now() >= until)
        throw_failure({Errc::unavailable,
                       std::string(their_connection) + ": timed out before the job could be enqueued"});
    }
  }

  // What fails is undone alone: the transaction is theirs, and goes on.  So are its settings.  A job that was
  // only met is undone as well, although it is not counted then: else its row would stay locked for as long
  // as they please, and its worker could neither renew its claim nor end it.
  EnqueueReply inside(const NewJob& job, Instant until) const {
    const Answer before = tell(
        "SAVEPOINT holdfast_enqueue; SELECT current_setting('lock_timeout'), "
        "current_setting('synchronous_commit'), current_setting('client_min_messages')");
    if (before.trouble()) {
      (void)undo();
      throw_failure(statement_error(*before.trouble(), their_connection));
    }
    try {
      EnqueueReply reply = talk(job, until);
      if (reply.what == EnqueueReply::What::duplicate || reply.what == EnqueueReply::What::locked) {
        if (const Answer undone = undo(); undone.trouble())
          throw_failure(statement_error(*undone.trouble(), their_connection));
        return reply;
      }
      const Answer after =
          tell("SELECT set_config('lock_timeout', '" + std::string(before.text(0, 0)) +
               "', true), set_config('synchronous_commit', '" + std::string(before.text(0, 1)) +
               "', true), set_config('client_min_messages', '" + std::string(before.text(0, 2)) +
               "', true); RELEASE SAVEPOINT holdfast_enqueue");
      if (after.trouble()) throw_failure(statement_error(*after.trouble(), their_connection));
      return reply;
    } catch (const Failure&) {
      (void)undo();
      throw;
    }
  }

  PGconn* const connection_;
  std::string table_, sql_;
  std::size_t longest_key_ = 0;
};

}  // namespace

Result<std::unique_ptr<Enqueuer>> enqueuer(::pg_conn* connection, std::string table) {
  if (Status loaded = load_libpq(); !loaded) return std::move(loaded).error();
  if (auto tables = Tables::named(table); !tables) return std::move(tables).error();
  try {
    return std::unique_ptr<Enqueuer>(std::make_unique<CallersTransaction>(connection, table));
  } catch (const Failure& failure) {
    return failure.error();
  }
}

}  // namespace holdfast::postgres
