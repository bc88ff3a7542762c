// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/connection.h"

#include <poll.h>

#include "base/fd.h"
#include "base/url.h"

namespace holdfast::postgres {
namespace {

std::string field(const PGresult* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? "" : text;
}

// Each statement of a transaction has to see what was committed before it, whatever the role's default is.
constexpr const char* begin = "BEGIN ISOLATION LEVEL READ COMMITTED";

std::vector<Answer> only(Answer answer) {
  std::vector<Answer> answers;
  answers.push_back(std::move(answer));
  return answers;
}

}  // namespace

Connection::Connection(const Settings& settings, Instant until) : settings_(settings) { connect(until); }

void Connection::connect(Instant until) {
  const Keywords words(settings_.words());
  connection_.reset(PQconnectStartParams(words.names(), words.values(), 0));
  if (!connection_)
    throw_failure({Errc::unavailable, "cannot connect to " + settings_.name() + ": out of memory"});
  PQsetErrorVerbosity(connection_.get(), PQERRORS_VERBOSE);  // connecting has no other place for an SQLSTATE
  PQsetNoticeReceiver(connection_.get(), hear, this);
  bool in_tls = false;
  PostgresPollingStatusType next = PGRES_POLLING_WRITING;
  if (PQstatus(connection_.get()) == CONNECTION_BAD) next = PGRES_POLLING_FAILED;
  while (next != PGRES_POLLING_OK) {
    if (next == PGRES_POLLING_FAILED) throw_failure(not_let_in(in_tls));
    if (!await(PQsocket(connection_.get()), next == PGRES_POLLING_READING ? POLLIN : POLLOUT, until))
      throw_failure({Errc::unavailable,
                     settings_.name() +
                         " accepts connections but does not answer: timed out; is it a PostgreSQL server?"});
    in_tls = PQstatus(connection_.get()) == CONNECTION_SSL_STARTUP;
    next = PQconnectPoll(connection_.get());
  }
  PQsetErrorVerbosity(connection_.get(), PQERRORS_DEFAULT);
  if (PQsetnonblocking(connection_.get(), 1) != 0) lost(Errc::unavailable);
}

Error Connection::not_let_in(bool in_tls) const {
  const std::string message = PQerrorMessage(connection_.get()), state = state_in(message);
  const Trouble trouble{state, settings_.shown(text_of(message, state))};
  const std::string& name = settings_.name();
  // What nobody at the other end has said has no state.
  if (!state.empty()) return connect_error(trouble, name);
  if (PQconnectionNeedsPassword(connection_.get()) == 1) {
    return {Errc::refused,
            name + ": the server asks for a password, and none is given: " + trouble.text +
                "; put it into PGPASSWORD or ~/.pgpass, or write the whole URL into a file and "
                "give --store @FILE"};
  }
  if (!in_tls || says_cut(message)) return connect_error(trouble, name);
  if (message.find("does not support SSL") != std::string::npos) {
    return {Errc::refused, name + ": the server has no TLS, which is required: " + trouble.text +
                               "; switch it on there (ssl = on), or write sslmode=disable if nobody else can "
                               "listen to the connection"};
  }
  return {Errc::refused,
          "no safe TLS connection to " + name + ": " + trouble.text +
              "; give the certificate of its authority with sslrootcert=FILE, and the host name "
              "that its own certificate contains; sslmode=require would accept any certificate"};
}

void Connection::lost(Errc code) const {
  const std::string what =
      code == Errc::in_doubt ? " was lost before it answered: " : " was lost before anything was sent: ";
  throw_failure({code, "the connection to " + settings_.name() + what +
                           settings_.shown(PQerrorMessage(connection_.get()))});
}

void Connection::hear(void* self, const PGresult* notice) {
  // "Committed here, but maybe not on the standby": a wait for replication was cancelled.  Said as a warning,
  // behind which comes an ordinary success.
  const std::string severity = field(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity == "WARNING") static_cast<Connection*>(self)->warned_ = true;
  if (severity == "FATAL" || severity == "PANIC") static_cast<Connection*>(self)->dismissed_ = true;
}

// What came without being asked for may be a farewell.
bool Connection::ended() {
  const bool gone = PQconsumeInput(connection_.get()) != 1 || PQstatus(connection_.get()) != CONNECTION_OK;
  (void)PQisBusy(connection_.get());  // reads what came
  return gone || dismissed_;
}

bool Connection::is_local() const {
  const std::string_view host = PQhost(connection_.get()), address = PQhostaddr(connection_.get());
  const bool is_socket = host.starts_with('/') || host.starts_with('@');
  return is_socket || holdfast::is_local(address.empty() ? host : address);
}

// Then nothing of this call has been sent yet.
void Connection::require_idle() {
  if (PQconsumeInput(connection_.get()) != 1) lost(Errc::unavailable);
  (void)PQisBusy(connection_.get());  // reads what came
  if (dismissed_)
    throw_failure(
        {Errc::unavailable, settings_.name() + ": the server ended the connection before anything was sent"});
  warned_ = false;
}

void Connection::flush(Instant until) {
  while (true) {
    const int left = PQflush(connection_.get());
    if (left == 0) return;
    if (left < 0) return;  // the answer, or its absence, tells
    if (!await(fd(), POLLIN | POLLOUT, until))
      throw_failure({Errc::in_doubt, settings_.name() + ": timed out sending the request"});
    if (PQconsumeInput(connection_.get()) != 1) return;
  }
}

OwnedResult Connection::next_result(Instant until) {
  while (PQisBusy(connection_.get()) == 1) {
    if (!await(fd(), POLLIN, until))
      throw_failure({Errc::in_doubt, settings_.name() + ": timed out waiting for the reply"});
    if (PQconsumeInput(connection_.get()) != 1) lost(Errc::in_doubt);
  }
  return OwnedResult(PQgetResult(connection_.get()));
}

std::optional<Trouble> Connection::trouble_in(const PGresult* result) const {
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_PIPELINE_SYNC)
    return std::nullopt;
  Trouble trouble{field(result, PG_DIAG_SQLSTATE), settings_.shown(field(result, PG_DIAG_MESSAGE_PRIMARY))};
  if (trouble.text.empty()) trouble.text = settings_.shown(PQresultErrorMessage(result));
  return trouble;
}

// What was answered is what has happened.
void Connection::require_true(const std::optional<Trouble>& trouble) {
  if (trouble && PQstatus(connection_.get()) != CONNECTION_OK)
    throw_failure({Errc::in_doubt, "the connection to " + settings_.name() +
                                       " was lost before it answered: " + trouble->text});
  if (!trouble && warned_)
    throw_failure(
        {Errc::in_doubt,
         settings_.name() + ": the server applied the request, but warns that a standby may lack it"});
}

Answer Connection::finish(bool sent, Instant until) {
  if (!sent) lost(PQstatus(connection_.get()) == CONNECTION_OK ? Errc::unavailable : Errc::in_doubt);
  flush(until);
  OwnedResult kept;
  std::optional<Trouble> trouble;
  // To the very end: the commit comes behind the rows, and may fail.
  while (OwnedResult result = next_result(until)) {
    if (auto found = trouble_in(result.get()))
      trouble = std::move(found);
    else
      kept = std::move(result);
  }
  require_true(trouble);
  return trouble ? Answer(*std::move(trouble)) : Answer(std::move(kept));
}

Answer Connection::run(const std::string& sql, Parameters& p, Instant until) {
  require_idle();
  const int sent = PQsendQueryParams(connection_.get(), sql.c_str(), p.count(), nullptr, p.values(),
                                     p.lengths(), p.formats(), 0);
  return finish(sent == 1, until);
}

// The first time is often the only one: a command asks once and ends.
std::optional<Trouble> Connection::prepare(Statement& statement, Instant until) {
  if (!prepares_ || statement.times == 0) {
    statement.times = 1;
    return std::nullopt;
  }
  if (statement.times == 2) return std::nullopt;
  require_idle();
  if (!tuned_) {
    // Our statements have one good plan each; to think again costs more than to run them.  It is kept for as
    // long as the connection: one that was made while a table was tiny must not read it from end to end.
    Parameters none;
    (void)run(
        "SELECT set_config('plan_cache_mode', 'force_generic_plan', false), set_config('jit', 'off', false), "
        "set_config('enable_seqscan', 'off', false)",
        none, until);
    tuned_ = true;
  }
  const int sent =
      PQsendPrepare(connection_.get(), statement.name.c_str(), statement.text.c_str(), 0, nullptr);
  const Answer made = finish(sent == 1, until);
  if (!made.trouble()) {
    statement.times = 2;
    return std::nullopt;
  }
  if (made.trouble()->state != "42P05") return made.trouble();
  stop_preparing();  // it is there: somebody else's, behind a pooler
  return std::nullopt;
}

bool Connection::send(const Statement& statement, Parameters& p) {
  const bool prepared = prepares_ && statement.times == 2;
  return 1 == (prepared ? PQsendQueryPrepared(connection_.get(), statement.name.c_str(), p.count(),
                                              p.values(), p.lengths(), p.formats(), 0)
                        : PQsendQueryParams(connection_.get(), statement.text.c_str(), p.count(), nullptr,
                                            p.values(), p.lengths(), p.formats(), 0));
}

Answer Connection::run(Statement& statement, Parameters& p, Instant until) {
  if (auto trouble = prepare(statement, until)) return Answer(*std::move(trouble));
  require_idle();
  Answer answer = finish(send(statement, p), until);
  if (!answer.trouble() || answer.trouble()->state != "26000") return answer;
  stop_preparing();  // another server than the one we prepared it on
  return run(statement.text, p, until);
}

// -- several statements in one transaction of ours

std::vector<Answer> Connection::run(std::span<const Step> steps, Instant until) {
  const auto run_all = [&] {
    return PQenterPipelineMode == nullptr ? run_in_turn(steps, until) : run_pipelined(steps, until);
  };
  // Before the transaction: a failure in it would end it.
  for (const Step& step : steps) {
    if (auto trouble = prepare(step.statement, until)) return only(Answer(*std::move(trouble)));
  }
  std::vector<Answer> answers = run_all();
  const auto& trouble = answers.back().trouble();
  if (!trouble || trouble->state != "26000") return answers;
  stop_preparing();  // another server than the one we prepared it on
  return run_all();
}

// BEGIN, the steps, SYNC, COMMIT, SYNC: where a step fails all up to the first SYNC is passed over, and the
// COMMIT is a rollback.
std::vector<Answer> Connection::run_pipelined(std::span<const Step> steps, Instant until) {
  require_idle();
  PGconn* const to = connection_.get();
  const auto tell = [&](const char* sql) {
    return PQsendQueryParams(to, sql, 0, nullptr, nullptr, nullptr, nullptr, 0) == 1;
  };
  bool sent = PQenterPipelineMode(to) == 1 && tell(begin);
  for (const Step& step : steps) sent = sent && send(step.statement, step.parameters);
  sent = sent && PQpipelineSync(to) == 1 && tell("COMMIT") && PQpipelineSync(to) == 1;
  if (!sent) lost(Errc::in_doubt);
  flush(until);

  std::vector<Answer> answers;
  std::optional<Trouble> trouble;
  for (int syncs = 0; syncs < 2;) {
    OwnedResult result = next_result(until);
    if (!result) {  // between two statements; or, once the connection is lost, for ever
      if (PQstatus(to) != CONNECTION_OK) lost(Errc::in_doubt);
      continue;
    }
    const ExecStatusType status = PQresultStatus(result.get());
    if (status == PGRES_PIPELINE_SYNC) ++syncs;
    if (auto found = trouble_in(result.get()); found && !trouble && status != PGRES_PIPELINE_ABORTED)
      trouble = std::move(found);
    if (trouble) require_true(trouble);
    if (status == PGRES_TUPLES_OK) answers.emplace_back(std::move(result));
  }
  if (PQexitPipelineMode(to) != 1) lost(Errc::in_doubt);
  require_true(trouble);
  if (trouble) answers.emplace_back(*std::move(trouble));
  return answers;
}

std::vector<Answer> Connection::run_in_turn(std::span<const Step> steps, Instant until) {
  Parameters none;
  if (Answer begun = run(begin, none, until); begun.trouble()) return only(std::move(begun));
  std::vector<Answer> answers;
  for (const Step& step : steps) {
    require_idle();
    answers.push_back(finish(send(step.statement, step.parameters), until));
    if (!answers.back().trouble()) continue;
    (void)run("ROLLBACK", none, until);
    return answers;
  }
  if (Answer done = run("COMMIT", none, until); done.trouble()) answers.push_back(std::move(done));
  return answers;
}

// -- notifications

bool Connection::ping() {
  pinged_ = PQsendQueryParams(connection_.get(), "SELECT", 0, nullptr, nullptr, nullptr, nullptr, 0) == 1;
  return pinged_ && PQflush(connection_.get()) >= 0;
}

bool Connection::take_notices(std::vector<std::string>& payloads) {
  if (PQconsumeInput(connection_.get()) != 1 || PQstatus(connection_.get()) != CONNECTION_OK) return false;
  while (pinged_ && PQisBusy(connection_.get()) == 0) {
    const OwnedResult result(PQgetResult(connection_.get()));
    pinged_ = result != nullptr;
  }
  while (true) {
    const OwnedNotice notice(PQnotifies(connection_.get()));
    if (!notice) return !dismissed_;
    payloads.emplace_back(notice->extra);
  }
}

}  // namespace holdfast::postgres
