// SPDX-License-Identifier: Apache-2.0
#include "bench/raw_postgres.h"

#include <libpq-fe.h>
#include <poll.h>

#include <array>
#include <cassert>
#include <stdexcept>

#include "bench/sql/acquire.sql.h"
#include "bench/sql/acquire_all.sql.h"
#include "bench/sql/release.sql.h"
#include "bench/sql/release_all.sql.h"

namespace holdfast::bench {
namespace {

constexpr const char* ttl_us = "30000000";

[[noreturn]] void fail(PGconn* connection) {
  throw std::runtime_error(std::string("by hand: ") + PQerrorMessage(connection));
}

// {"a","b"}: our keys here have nothing that needs escaping.
template <class Texts>
std::string array_of(const Texts& texts) {
  std::string array = "{";
  for (const auto& text : texts) {
    if (array.size() > 1) array += ',';
    array += text;
  }
  return array += '}';
}

}  // namespace

void FreePostgres::operator()(pg_conn* connection) const noexcept { PQfinish(connection); }
void FreePostgres::operator()(pg_result* result) const noexcept { PQclear(result); }

Connection connect_postgres(const std::string& url) {
  Connection made(PQconnectdb(url.c_str()));
  if (PQstatus(made.get()) != CONNECTION_OK) fail(made.get());
  return made;
}

Rows run_sql(PGconn* connection, const std::string& sql) {
  Rows rows(PQexec(connection, sql.c_str()));
  const auto status = PQresultStatus(rows.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) fail(connection);
  return rows;
}

RawPostgres::RawPostgres(const std::string& url) : connection_(connect_postgres(url)) {
  prepare("acquire", acquire_sql);
  prepare("release", release_sql);
  prepare("acquire_all", acquire_all_sql);
  prepare("release_all", release_all_sql);
  prepare("held", "SELECT FROM locks WHERE key = $1 AND locked_by IS NOT NULL");
  prepare("ask", "SELECT 1");
  prepare("lock", "SELECT pg_try_advisory_lock($1)");
  prepare("unlock", "SELECT pg_advisory_unlock($1)");
}

void RawPostgres::prepare(const char* name, std::string_view sql) {
  const Rows done(PQprepare(connection_.get(), name, std::string(sql).c_str(), 0, nullptr));
  if (PQresultStatus(done.get()) != PGRES_COMMAND_OK) fail(connection_.get());
}

Rows RawPostgres::run(const char* name, std::initializer_list<const char*> values) {
  Rows rows(PQexecPrepared(connection_.get(), name, static_cast<int>(values.size()), values.begin(), nullptr,
                           nullptr, 0));
  const auto status = PQresultStatus(rows.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) fail(connection_.get());
  return rows;
}

void RawPostgres::acquire_and_release(const std::string& key, const std::string& owner) {
  const Rows granted = run("acquire", {key.c_str(), owner.c_str(), ttl_us});
  if (PQntuples(granted.get()) != 1) throw std::runtime_error("by hand: " + key + " was not granted");
  const Rows released = run("release", {key.c_str(), owner.c_str(), PQgetvalue(granted.get(), 0, 0)});
  if (std::string_view(PQcmdTuples(released.get())) != "1")
    throw std::runtime_error("by hand: " + key + " was not released");
}

void RawPostgres::acquire_and_release_all(const std::vector<std::string>& keys, const std::string& owner) {
  const Rows granted = run("acquire_all", {array_of(keys).c_str(), owner.c_str(), ttl_us});
  if (PQntuples(granted.get()) != static_cast<int>(keys.size()))
    throw std::runtime_error("by hand: not all were granted");
  std::vector<std::string_view> names, tokens;
  for (int i = 0; i < PQntuples(granted.get()); ++i) {
    names.emplace_back(PQgetvalue(granted.get(), i, 0));
    tokens.emplace_back(PQgetvalue(granted.get(), i, 1));
  }
  const Rows released =
      run("release_all", {array_of(names).c_str(), owner.c_str(), array_of(tokens).c_str()});
  if (PQcmdTuples(released.get()) != std::to_string(keys.size()))
    throw std::runtime_error("by hand: not all were released");
}

bool RawPostgres::is_held(const std::string& key) { return PQntuples(run("held", {key.c_str()}).get()) == 1; }

void RawPostgres::ask() { run("ask", {}); }

void RawPostgres::advisory_pair(std::int64_t key) {
  const std::string text = std::to_string(key);
  for (const char* const statement : {"lock", "unlock"}) {
    if (*PQgetvalue(run(statement, {text.c_str()}).get(), 0, 0) != 't')
      throw std::runtime_error(std::string("by hand: advisory ") + statement + " was refused");
  }
}

void NotifyWire::join(int me) {
  connection_ = connect_postgres(url_);
  run_sql(connection_.get(), "LISTEN line" + std::to_string(me));
  send_ = "NOTIFY line" + std::to_string(1 - me);
}

void NotifyWire::send() { run_sql(connection_.get(), send_); }

void NotifyWire::receive() {
  while (true) {
    if (PGnotify* const said = PQnotifies(connection_.get())) {
      PQfreemem(said);
      return;
    }
    pollfd readable{.fd = PQsocket(connection_.get()), .events = POLLIN, .revents = 0};
    poll(&readable, 1, -1);
    if (PQconsumeInput(connection_.get()) == 0) fail(connection_.get());
  }
}

}  // namespace holdfast::bench
