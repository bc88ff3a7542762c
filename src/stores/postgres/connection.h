// SPDX-License-Identifier: Apache-2.0
// connection.h - one connection to a server, that never waits longer than it is told to.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "holdfast/clock.h"
#include "stores/postgres/settings.h"
#include "stores/postgres/statements.h"

namespace holdfast::postgres {

// Throws Failure for what ends the connection: then it is of no more use.  Never asks the server to cancel: a
// statement that was sent runs to its end.
class Connection {
 public:
  // `settings` must outlive it.
  Connection(const Settings& settings, Instant until);

  // Runs it once, unprepared.
  Answer run(const std::string& sql, Parameters& parameters, Instant until);
  // Runs a statement that comes again and again: prepared from its second time on, except behind a pooler.
  Answer run(Statement& statement, Parameters& parameters, Instant until);

  // Runs them in one transaction, READ COMMITTED, and one round trip (libpq 13 and older: one for each).
  // An answer for each; the last one has the trouble if there was any, and then nothing was changed.
  std::vector<Answer> run(std::span<const Step> steps, Instant until);

  // Statements are not prepared any more: the server behind this connection may change.
  void stop_preparing() noexcept { prepares_ = false; }
  bool prepares() const noexcept { return prepares_; }

  // The other end has closed it meanwhile: what is sent now arrives nowhere.
  bool ended();

  int backend() const noexcept { return PQbackendPID(connection_.get()); }
  int fd() const noexcept { return PQsocket(connection_.get()); }
  bool in_tls() const noexcept { return PQsslInUse(connection_.get()) == 1; }
  // To this machine, as it came about: whatever name was given for it.
  bool is_local() const;

  // What was notified meanwhile: payloads.  False: the connection is lost.
  bool take_notices(std::vector<std::string>& payloads);

  // Asks for a sign of life, and does not wait for it: take_notices() reads it.  False: the connection is
  // lost.
  bool ping();
  // That sign has not come yet.
  bool pinged() const noexcept { return pinged_; }

  const Settings& settings() const noexcept { return settings_; }

 private:
  void connect(Instant until);
  void require_idle();
  Answer finish(bool sent, Instant until);
  OwnedResult next_result(Instant until);
  std::optional<Trouble> trouble_in(const PGresult* result) const;
  void require_true(const std::optional<Trouble>& trouble);
  std::optional<Trouble> prepare(Statement& statement, Instant until);
  bool send(const Statement& statement, Parameters& parameters);
  std::vector<Answer> run_pipelined(std::span<const Step> steps, Instant until);
  std::vector<Answer> run_in_turn(std::span<const Step> steps, Instant until);
  void flush(Instant until);
  Error not_let_in(bool in_tls) const;
  [[noreturn]] void lost(Errc code) const;
  static void hear(void* self, const PGresult* notice);

  const Settings& settings_;
  OwnedConnection connection_;
  bool prepares_ = true, tuned_ = false;
  bool warned_ = false;     // the server has doubts about what it has just done
  bool dismissed_ = false;  // it has said farewell
  bool pinged_ = false;
};

}  // namespace holdfast::postgres
