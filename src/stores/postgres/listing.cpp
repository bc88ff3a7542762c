// SPDX-License-Identifier: Apache-2.0
// What the store tells people: its rows, and what it thinks of the server.
#include "base/text.h"
#include "core/row.h"
#include "stores/postgres/bell.h"
#include "stores/postgres/sql/examine.sql.h"
#include "stores/postgres/sql/history.sql.h"
#include "stores/postgres/sql/leases.sql.h"
#include "stores/postgres/sql/places.sql.h"
#include "stores/postgres/store.h"

namespace holdfast::postgres {
namespace {

using core::answer;
using core::remaining;
using core::Row;

Micros moment(const Answer& a, int row, int column) { return a.moment(row, column).value_or(Micros::zero()); }

void take_leases(const Answer& a, Page& page) {
  for (int i = 0; i < a.rows(); ++i) {
    const Row row{.token = a.number(i, 2),
                  .holder = a.text(i, 1),
                  .end = a.moment(i, 3),
                  .now = Micros(a.number(i, 8))};
    Reply reply;
    answer(reply, Verdict::busy, row);
    page.leases.push_back({.key = std::string(a.text(i, 0)),
                           .holder = reply.holder,
                           .token = reply.token,
                           .remaining = reply.remaining,
                           .since = moment(a, i, 4),
                           .note = std::string(a.text(i, 5)),
                           .detached = a.flag(i, 6),
                           .waiting = static_cast<std::uint32_t>(a.number(i, 7))});
  }
}

void take_places(const Answer& a, Page& page) {
  for (int i = 0; i < a.rows(); ++i) {
    page.places.push_back({.key = std::string(a.text(i, 0)),
                           .client = std::string(a.text(i, 1)),
                           .holder = std::string(a.text(i, 2)),
                           .remaining = remaining(a.moment(i, 3), Micros(a.number(i, 4)))});
  }
}

void take_log(const Answer& a, Page& page) {
  for (int i = 0; i < a.rows(); ++i) {
    page.log.push_back({.at = moment(a, i, 0),
                        .key = std::string(a.text(i, 1)),
                        .event = std::string(a.text(i, 2)),
                        .holder = std::string(a.text(i, 3)),
                        .token = Token{static_cast<std::uint64_t>(a.number(i, 4))},
                        .by = std::string(a.text(i, 5)),
                        .reason = std::string(a.text(i, 6))});
  }
}

constexpr const char* pooler =
    "there is a connection pooler in between: statements are not prepared, and waiters poll";

// Only looked: whatever went wrong, nothing was changed.
Error looking_failed(Error error) {
  if (error.in_doubt()) error.code = Errc::unavailable;
  return error;
}

std::vector<std::string> dangers(const Answer& a, const Hello& hello) {
  std::vector<std::string> found;
  if (a.text(0, 0) == "off")
    found.emplace_back("fsync is off: a crash of the server's machine can lose leases and tokens");
  if (a.text(0, 1) == "off")
    found.emplace_back("full_page_writes is off: a crash of the server's machine can damage the tables");
  if (hello.unlogged) found.emplace_back("the lock table is unlogged: a crash of the server empties it");
  return found;
}

std::vector<std::string> remarks(const Answer& a, const Hello& hello) {
  std::vector<std::string> found;
  if (a.text(0, 2) != "read committed")
    found.push_back("default_transaction_isolation is " + std::string(a.text(0, 2)) +
                    " for this user: statements that meet are sent again; read committed is faster");
  if (a.text(0, 3).empty() && a.number(0, 5) > 0)
    found.emplace_back("its standbys are asynchronous: one that is promoted may not have the last leases");
  if (!a.text(0, 4).starts_with("PostgreSQL "))
    found.push_back("this is not PostgreSQL itself but " + printable(a.text(0, 4)));
  if (a.flag(0, 6))
    found.emplace_back("the queue of notifications is filling up: somebody listens inside a transaction");
  if (hello.pooled) found.emplace_back(pooler);
  return found;
}

}  // namespace

Result<Page> PostgresStore::list(const Query& query, Instant until) {
  Page page;
  try {
    ready(until);
    const bool log = query.what == Query::What::log;
    parameters_.clear();
    parameters_.text(query.prefix).flag(query.exact);
    if (!log) parameters_.text(query.after);
    parameters_.number(static_cast<std::int64_t>(std::min<std::size_t>(query.limit, 1'000'000'000)));
    const std::string_view sql = log                                 ? history_sql
                                 : query.what == Query::What::places ? places_sql
                                                                     : leases_sql;
    const Answer answer = connection_->run(hello_.tables.expand(sql), parameters_, until);
    if (answer.trouble()) raise(statement_error(*answer.trouble(), site_->name()));
    switch (query.what) {
      case Query::What::leases: take_leases(answer, page); break;
      case Query::What::places: take_places(answer, page); break;
      case Query::What::log: take_log(answer, page); break;
    }
  } catch (const Failure& failure) {
    return looking_failed(failure.error());
  }
  return page;
}

Result<Traits> PostgresStore::examine(Instant until) {
  Traits traits;
  traits.name = "postgres";
  traits.resolution = Millis(1);
  try {
    ready(until);
    traits.push = !hello_.pooled;
    parameters_.clear();
    const Answer answer = connection_->run(hello_.tables.expand(examine_sql), parameters_, until);
    if (answer.trouble()) raise(statement_error(*answer.trouble(), site_->name()));
    traits.findings = dangers(answer, hello_);
    if (!traits.findings.empty()) traits.grade = 'C';
    // Ruby's locker makes a row when it makes an object, and never again: one that is taken away because it
    // has been free for long would lock that object out.  In its table only people purge.
    traits.tidies = !answer.flag(0, 7);
    traits.warnings = traits.findings;
    if (hello_.pooled) traits.warnings.emplace_back(pooler);
    if (site_->allow_unsafe) traits.warnings.clear();
    for (std::string& remark : remarks(answer, hello_)) traits.findings.push_back(std::move(remark));
  } catch (const Failure& failure) {
    return looking_failed(failure.error());
  }
  return traits;
}

std::unique_ptr<Bell> PostgresStore::bell() {
  return hello_.pooled ? nullptr : std::make_unique<ListenBell>(site_);
}

}  // namespace holdfast::postgres
