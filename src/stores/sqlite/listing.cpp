// SPDX-License-Identifier: Apache-2.0
// What the store tells people: its rows, and what it thinks of the place it lies in.
#include <filesystem>

#include "base/time.h"
#include "core/findings.h"
#include "stores/sqlite/findings.h"
#include "stores/sqlite/path.h"
#include "stores/sqlite/store_connection.h"

namespace holdfast::sqlite {
namespace {

bool matches(const Query& query, std::string_view key) {
  return query.exact ? key == query.prefix : key.starts_with(query.prefix);
}

}  // namespace

Result<Page> SqliteStoreConnection::list(const Query& query, Instant until) {
  Page page;
  try {
    leases_.start(until);
    switch (query.what) {
      case Query::What::leases: list_leases(query, page); break;
      case Query::What::places: list_places(query, page); break;
      case Query::What::log: list_log(query, page); break;
    }
  } catch (const Failure& failure) {
    return failure.error();
  }
  return page;
}

void SqliteStoreConnection::list_leases(const Query& query, Page& page) {
  Cursor cursor = connection_.run(Sql::list_leases, query.prefix, query.after, query.free || query.exact);
  while (page.leases.size() < query.limit && cursor.next()) {
    if (!matches(query, cursor.text(0))) break;  // in the order of keys there is none behind it
    const Row row = read_row(cursor, 1);
    const bool held = leases_.is_held(row);
    page.leases.push_back(
        {.key = std::string(cursor.text(0)),
         .owner = row.owner,
         .token = row.token,
         .remaining = held ? core::remaining(row.end, connection_.boottime()) : Millis::zero(),
         .ttl = held && !cursor.is_null(9) ? std::optional(Millis(cursor.number(9))) : std::nullopt,
         .since = moment_or_none(Micros(cursor.number(5))),
         .note = std::string(cursor.text(6)),
         .detached = cursor.number(7) != 0,
         .waiting = static_cast<std::uint32_t>(cursor.number(8))});
  }
}

void SqliteStoreConnection::list_places(const Query& query, Page& page) {
  Cursor cursor = connection_.run(Sql::list_places, query.prefix, query.after);
  while (page.places.size() < query.limit && cursor.next()) {
    if (!matches(query, cursor.text(0))) break;
    page.places.push_back({.key = std::string(cursor.text(0)),
                           .client = std::string(cursor.text(1)),
                           .owner = std::string(cursor.text(2)),
                           .remaining = core::remaining(Micros(cursor.number(3)), connection_.boottime())});
  }
}

void SqliteStoreConnection::list_log(const Query& query, Page& page) {
  Cursor cursor = connection_.run(Sql::list_log);
  while (page.log.size() < query.limit && cursor.next()) {
    if (!matches(query, cursor.text(1))) continue;
    page.log.push_back({.at = Moment(Micros(cursor.number(0))),
                        .key = std::string(cursor.text(1)),
                        .event = std::string(cursor.text(2)),
                        .owner = std::string(cursor.text(3)),
                        .token = Token{static_cast<std::uint64_t>(cursor.number(4))},
                        .by = std::string(cursor.text(5)),
                        .reason = std::string(cursor.text(6))});
  }
}

Result<Traits> SqliteStoreConnection::examine(Instant until) {
  Traits traits;
  traits.name = "sqlite";
  traits.resolution = Millis(1);
  traits.push = true;
  traits.tidies = true;  // in passing, see Upkeep
  try {
    leases_.start(until);
    (void)leases_.owner_of({"examined"});  // the file can be read
    const std::string folder = std::filesystem::path(config_->path).parent_path().string();
    traits.findings = dangers_of(probe_folder(folder, config_->machine));
    for (Finding& doubt : doubts_about(probe_file(config_->path)))
      traits.findings.push_back(std::move(doubt));
    traits.grade = grade_of(Grade::B, traits.findings);
    core::mark_accepted(traits.findings, config_->accepted);
  } catch (const Failure& failure) {
    return failure.error();
  }
  return traits;
}

}  // namespace holdfast::sqlite
