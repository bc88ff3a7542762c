// SPDX-License-Identifier: Apache-2.0
// What the store tells people: its rows, and what it thinks of the server.
#include <algorithm>

#include "base/time.h"
#include "core/findings.h"
#include "stores/mariadb/findings.h"
#include "stores/mariadb/layouts.h"
#include "stores/mariadb/sql.h"
#include "stores/mariadb/store_connection.h"

namespace holdfast::mariadb {
namespace {

using core::answer;
using core::remaining;
using core::Row;

Micros micros(const Answer& a, std::size_t row, std::size_t column) {
  return a.moment(row, column).value_or(Micros::zero());
}

void take_leases(const Answer& a, Page& page) {
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
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
         .detached = a.number(i, 6) != 0,
         .waiting = static_cast<std::uint32_t>(a.number(i, 7))});
  }
}

void take_places(const Answer& a, Page& page) {
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    page.places.push_back({.key = std::string(a.text(i, 0)),
                           .client = std::string(a.text(i, 1)),
                           .owner = std::string(a.text(i, 2)),
                           .remaining = remaining(a.moment(i, 3), Micros(a.number(i, 4)))});
  }
}

void take_log(const Answer& a, Page& page) {
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    page.log.push_back({.at = Moment(micros(a, i, 0)),
                        .key = std::string(a.text(i, 1)),
                        .event = std::string(a.text(i, 2)),
                        .owner = std::string(a.text(i, 3)),
                        .token = Token{static_cast<std::uint64_t>(a.number(i, 4))},
                        .by = std::string(a.text(i, 5)),
                        .reason = std::string(a.text(i, 6))});
  }
}

Sql statement_for(Query::What what, const ForeignLayout* foreign) {
  switch (what) {
    case Query::What::leases: return foreign != nullptr ? foreign->list : Sql::list_leases;
    case Query::What::places: return Sql::list_waiters;
    case Query::What::log: return Sql::list_log;
  }
  return {};
}

const char* boolean(bool yes) { return yes ? "TRUE" : "FALSE"; }

}  // namespace

Result<Page> MariaStoreConnection::list(const Query& query, Instant until) {
  Page page;
  try {
    ready(until);
    Values values = {{"exact", boolean(query.exact)},
                     {"key", tables_.key(query.prefix)},
                     {"prefix", hex(query.prefix)},
                     {"prefix_bytes", std::to_string(query.prefix.size())},
                     {"free", boolean(query.free || query.exact)},
                     {"after", hex(query.after)},
                     // Behind a page of only the empty name the same would come again.
                     {"first", boolean(query.after.empty() && query.limit > 1)},
                     {"limit", std::to_string(std::min<std::size_t>(query.limit, 1'000'000'000))}};
    if (tables_.foreign() != nullptr)
      for (auto& value : tables_.foreign()->list_values()) values.push_back(std::move(value));
    const Answers answers =
        connection_->run(tables_.sql(statement_for(query.what, tables_.foreign()), values), until);
    if (answers.trouble) throw_failure(statement_error(*answers.trouble, config_->name));
    switch (query.what) {
      case Query::What::leases: take_leases(answers.back(), page); break;
      case Query::What::places: take_places(answers.back(), page); break;
      case Query::What::log: take_log(answers.back(), page); break;
    }
  } catch (const Failure& failure) {
    return undone(failure.error());
  }
  return page;
}

Result<Traits> MariaStoreConnection::examine(Instant until) {
  Traits traits;
  traits.name = probe_.mariadb() ? "mariadb" : "mysql";
  traits.resolution = Millis(1);
  try {
    ready(until);
    probe_ = probe_server(*connection_, *config_, until);
    traits.findings = findings_of(probe_, *config_);
    traits.grade = grade_of(Grade::B, traits.findings);
    core::mark_accepted(traits.findings, config_->accepted());
  } catch (const Failure& failure) {
    return undone(failure.error());
  }
  return traits;
}

}  // namespace holdfast::mariadb
