// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/connection.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/fd.h"
#include "base/url.h"

namespace holdfast::postgres {
namespace {

std::string field(const PGresult* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? "" : text;
}

// In "FATAL:  28P01: password …", which is how libpq writes it when it is asked to be verbose.
std::string state_in(std::string_view message) {
  for (std::size_t at = message.find(":  "); at != std::string_view::npos; at = message.find(":  ", at + 1)) {
    const std::string_view state = message.substr(at + 3, 5);
    const bool formed = state.size() == 5 && std::all_of(state.begin(), state.end(), [](char c) {
                          return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
                        });
    if (formed && message.substr(at + 8).starts_with(": ")) return std::string(state);
  }
  return {};
}

// Without the line that names a file of the server's sources, and without the state: that is told once.
std::string text_of(std::string_view message, const std::string& state) {
  std::string text(message.substr(0, message.find("\nLOCATION:")));
  if (const std::size_t at = text.find(":  " + state + ": "); !state.empty() && at != std::string::npos)
    text.erase(at + 1, state.size() + 3);
  return text;
}

// The text of a failed handshake that is no refusal: the line was cut.
bool says_cut(std::string_view message) {
  for (const int error : {ECONNRESET, EPIPE, ETIMEDOUT}) {
    if (message.find(std::strerror(error)) != std::string_view::npos) return true;
  }
  // The second: of a line that ended before the first word of TLS.
  return message.find("SYSCALL") != std::string_view::npos ||
         message.find("server closed the connection unexpectedly") != std::string_view::npos;
}

}  // namespace

std::string_view Answer::text(int row, int column) const noexcept {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t Answer::number(int row, int column) const noexcept {
  const std::string_view digits = text(row, column);
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::optional<Micros> Answer::moment(int row, int column) const noexcept {
  if (is_null(row, column)) return std::nullopt;
  return Micros(std::max<std::int64_t>(number(row, column), 0));
}

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
std::optional<Trouble> Connection::prepare(const Statement& statement, std::uint8_t& times, Instant until) {
  if (!prepares_ || times == 0) {
    times = 1;
    return std::nullopt;
  }
  if (times == 2) return std::nullopt;
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
    times = 2;
    return std::nullopt;
  }
  if (made.trouble()->state != "42P05") return made.trouble();
  stop_preparing();  // it is there: somebody else's, behind a pooler
  return std::nullopt;
}

bool Connection::send(const Statement& statement, std::uint8_t& times, Parameters& p) {
  const bool prepared = prepares_ && times == 2;
  return 1 == (prepared ? PQsendQueryPrepared(connection_.get(), statement.name.c_str(), p.count(),
                                              p.values(), p.lengths(), p.formats(), 0)
                        : PQsendQueryParams(connection_.get(), statement.text.c_str(), p.count(), nullptr,
                                            p.values(), p.lengths(), p.formats(), 0));
}

Answer Connection::run(const Statement& statement, std::uint8_t& times, Parameters& p, Instant until) {
  if (auto trouble = prepare(statement, times, until)) return Answer(*std::move(trouble));
  require_idle();
  Answer answer = finish(send(statement, times, p), until);
  if (!answer.trouble() || answer.trouble()->state != "26000") return answer;
  stop_preparing();  // another server than the one we prepared it on
  return run(statement.text, p, until);
}

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
