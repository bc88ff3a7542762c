// SPDX-License-Identifier: Apache-2.0
// What the store tells people: its rows, and what it thinks of the server.
#include "base/time.h"
#include "core/findings.h"
#include "core/row.h"
#include "stores/postgres/findings.h"
#include "stores/postgres/listener.h"
#include "stores/postgres/store_connection.h"

namespace holdfast::postgres {
namespace {

using core::answer;
using core::remaining;
using core::Row;

Micros micros(const Answer& a, int row, int column) { return a.moment(row, column).value_or(Micros::zero()); }

void take_leases(const Answer& a, Page& page) {
  for (int i = 0; i < a.rows(); ++i) {
    const Row row{
        .token = a.number(i, 2), .owner = a.text(i, 1), .end = a.moment(i, 3), .now = Micros(a.number(i, 8))};
    Reply reply;
    answer(reply, Verdict::busy, row);
    page.leases.push_back(
        {.key = std::string(a.text(i, 0)),
         .owner = reply.owner,
         .token = reply.token,
         .remaining = reply.remaining,
         .ttl = row.live() && !a.is_null(i, 9) ? std::optional(Millis(a.number(i, 9))) : std::nullopt,
         .since = moment_or_none(micros(a, i, 4)),
         .note = std::string(a.text(i, 5)),
         .detached = a.flag(i, 6),
         .waiting = static_cast<std::uint32_t>(a.number(i, 7))});
  }
}

void take_places(const Answer& a, Page& page) {
  for (int i = 0; i < a.rows(); ++i) {
    page.places.push_back({.key = std::string(a.text(i, 0)),
                           .client = std::string(a.text(i, 1)),
                           .owner = std::string(a.text(i, 2)),
                           .remaining = remaining(a.moment(i, 3), Micros(a.number(i, 4)))});
  }
}

void take_log(const Answer& a, Page& page) {
  for (int i = 0; i < a.rows(); ++i) {
    page.log.push_back({.at = Moment(micros(a, i, 0)),
                        .key = std::string(a.text(i, 1)),
                        .event = std::string(a.text(i, 2)),
                        .owner = std::string(a.text(i, 3)),
                        .token = Token{static_cast<std::uint64_t>(a.number(i, 4))},
                        .by = std::string(a.text(i, 5)),
                        .reason = std::string(a.text(i, 6))});
  }
}

Sql question_of(const Query& query, bool only_held, const ServerProbe& probe) {
  switch (query.what) {
    case Query::What::leases: break;
    case Query::What::places: return Sql::places;
    case Query::What::log: return Sql::history;
  }
  if (probe.tables.beside_shedlock()) return Sql::list_shedlock;
  if (only_held) return probe.keys_in_order ? Sql::held_by_index : Sql::held;
  return probe.keys_in_order ? Sql::leases_by_index : Sql::leases;
}

// Only looked: whatever went wrong, nothing was changed.
Error looking_failed(Error error) {
  if (error.in_doubt()) error.code = Errc::unavailable;
  return error;
}

}  // namespace

Result<Page> PostgresStoreConnection::list(const Query& query, Instant until) {
  Page page;
  try {
    ready(until);
    const bool log = query.what == Query::What::log;
    const bool leases = query.what == Query::What::leases,
               foreign = leases && probe_.tables.beside_shedlock();
    const bool held = leases && !foreign && !query.free && !query.exact;
    parameters_.clear();
    parameters_.text(query.prefix);
    if (!held) parameters_.flag(query.exact);
    if (!log) parameters_.text(query.after);
    parameters_.number(static_cast<std::int64_t>(std::min<std::size_t>(query.limit, 1'000'000'000)));
    // The first page has a name that is empty too; behind a page of only that one the same would come again.
    if (leases) parameters_.flag(query.after.empty() && query.limit > 1);
    if (foreign) parameters_.flag(query.free || query.exact);
    const Sql sql = question_of(query, held, probe_);
    const Answer answer = connection_->run(statements_[sql].text, parameters_, until);
    if (answer.trouble()) throw_failure(statement_error(*answer.trouble(), config_->name()));
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

Result<Traits> PostgresStoreConnection::examine(Instant until) {
  Traits traits;
  traits.name = "postgres";
  traits.resolution = Millis(1);
  try {
    ready(until);
    traits.push = !probe_.pooled;
    parameters_.clear();
    const Answer answer = connection_->run(statements_[Sql::examine].text, parameters_, until);
    if (answer.trouble()) throw_failure(statement_error(*answer.trouble(), config_->name()));
    traits.findings = findings_of(server_in(answer), probe_);
    traits.grade = grade_of(Grade::B, traits.findings);
    core::mark_accepted(traits.findings, config_->accepted);
    // Ruby's locker makes a row when it makes an object, and never again: one that is taken away because it
    // has been free for long would lock that object out.  In its table only people purge.
    traits.tidies = !answer.flag(0, answers_about_server);
  } catch (const Failure& failure) {
    return looking_failed(failure.error());
  }
  return traits;
}

Result<std::unique_ptr<StoreListener>> PostgresStoreConnection::listener(Instant until) {
  std::unique_ptr<StoreListener> listener;
  if (!probe_.pooled) listener = std::make_unique<PostgresListener>(config_, until);
  return listener;
}

}  // namespace holdfast::postgres
