// SPDX-License-Identifier: Apache-2.0
// Enqueueing inside a transaction of the caller's own.
#include "holdfast/postgres.h"
#include "stores/postgres/columns.h"
#include "stores/postgres/job_rows.h"
#include "stores/postgres/job_statements.h"

namespace holdfast::postgres {
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
    const Answer found =
        ask("SELECT n.nspname::text, (SELECT format_type(a.atttypid, a.atttypmod) FROM "
            "pg_catalog.pg_attribute AS a "
            "WHERE a.attrelid = c.oid AND a.attname::text = 'key'::text) FROM pg_catalog.pg_class AS c JOIN "
            "pg_catalog.pg_namespace AS n ON n.oid = "
            "c.relnamespace WHERE c.oid = to_regclass($1::text)::oid",
            which);
    if (found.trouble()) throw_failure(statement_error(*found.trouble(), their_connection));
    if (found.rows() == 0)
      throw_failure({Errc::unprepared, "there is no table \"" + table + "\" in the database of " +
                                           their_connection + "; create it with: holdfast --store URL init"});
    longest_key_ = limit_in(found.text(0, 1));
    sql_ = enqueue_text(tables.in_schema(found.text(0, 0)));
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
