// SPDX-License-Identifier: Apache-2.0
// What people read: rows and traits.  Nothing here writes, and each request is small.
#include "base/time.h"
#include "core/findings.h"
#include "stores/redis/fault.h"
#include "stores/redis/findings.h"
#include "stores/redis/store_connection.h"

namespace holdfast::redis {
namespace {

constexpr std::size_t page_size = 200;

// Calls `with(keys)` for each page of keys that the query is about, until that returns false.
template <class With>
void for_each_page(Session& session, const Query& query, Instant until, With with) {
  if (query.exact) {  // also one that only others know
    if (query.prefix > query.after) with(std::vector<std::string>{std::string(query.prefix)});
    return;
  }
  // The index of held keys has also those that somebody waits for.
  const bool free = query.free && query.what == Query::What::leases;
  const Naming& naming = session.config().naming;
  const std::string& index = free ? naming.index : naming.held;
  std::string after(query.after);
  while (true) {
    const auto keys = read_index(session, {index, query.prefix, after, page_size}, until);
    if (keys.empty() || !with(keys) || keys.size() < page_size) return;
    after = keys.back();
  }
}

LeaseRow lease_row(std::string key, const Value& row) {
  const std::string_view owner = row[0].text(), named = row[3].text(), about = row[5].text();
  const std::int64_t left = row[1].number(), ttl = row[8].number();
  return {.key = std::move(key),
          .owner = std::string(owner.empty() ? named : owner),
          .token = Token{static_cast<std::uint64_t>(row[2].number())},
          .remaining = ttl_of(left),
          .ttl = ttl < 0 ? std::nullopt : std::optional(Millis(ttl)),
          .since = moment_or_none(Micros(row[4].number())),
          .note = std::string(about.substr(std::min<std::size_t>(1, about.size()))),
          .detached = about.starts_with('d'),
          .waiting = static_cast<std::uint32_t>(row[6].number())};
}

LogRow log_row(const Value& fields) {
  LogRow row;
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    const std::string_view name = fields[i].text();
    if (name == "at") row.at = Moment(Micros(fields[i + 1].number()));
    if (name == "key") row.key = fields[i + 1].text();
    if (name == "event") row.event = fields[i + 1].text();
    if (name == "holder") row.owner = fields[i + 1].text();
    if (name == "token") row.token = Token{static_cast<std::uint64_t>(fields[i + 1].number())};
    if (name == "by") row.by = fields[i + 1].text();
    if (name == "reason") row.reason = fields[i + 1].text();
  }
  return row;
}

}  // namespace

std::vector<std::string> read_index(Session& session, const IndexRange& range, Instant until) {
  const std::string prefix(range.prefix);
  const bool goes_on = !range.after.empty() && range.after >= range.prefix;
  const std::string from = goes_on ? "(" + std::string(range.after) : "[" + prefix;
  // No key continues with this byte, which UTF-8 does not have.
  const std::string to = prefix.empty() ? "+" : "(" + prefix + "\xff";
  const Answer answer = session.ready(until).call(until, "ZRANGEBYLEX", range.index, from, to, "LIMIT", "0",
                                                  std::to_string(range.limit));
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < answer.size(); ++i) keys.emplace_back(answer[i].text());
  return keys;
}

Result<Traits> RedisStoreConnection::examine(Instant until) {
  return guarded([&]() -> Result<Traits> {
    const ServerInfo info(session_.ready(until).call(until, "INFO").text());
    Traits traits{.name = "redis",
                  .resolution = Millis(1),
                  .push = true,
                  .fair = true,
                  .tidies = true,
                  .grade = Grade::C};
    traits.findings = findings_of(info, session_.config());
    traits.grade = grade_of(Grade::C, traits.findings);
    return traits;
  });
}

Result<Page> RedisStoreConnection::list(const Query& query, Instant until) {
  return guarded([&]() -> Result<Page> {
    Page page;
    switch (query.what) {
      case Query::What::leases: list_leases(query, page, until); break;
      case Query::What::places: list_places(query, page, until); break;
      case Query::What::log: list_log(query, page, until); break;
    }
    return page;
  });
}

void RedisStoreConnection::list_leases(const Query& query, Page& page, Instant until) {
  const Naming& naming = session_.config().naming;
  if (query.exact && naming.reserved(query.prefix))
    throw_failure(no_lease(query.prefix, "name", session_.config()));
  const bool all = query.free || query.exact;
  for_each_page(session_, query, until, [&](const std::vector<std::string>& keys) {
    const auto add = [&](Command& command) {
      for (const std::string& key : keys) {
        LeaseNames(naming, key).add_lease(command).add(command, Beside::facts).add(command, Beside::places);
      }
      command.number(all ? 1 : 0);
    };
    const Answer rows = checked(session_.ready(until).run(Lua::list_leases, 3 * keys.size(), 1, add, until),
                                session_.config());
    for (std::size_t i = 0; i < keys.size() && page.leases.size() < query.limit; ++i) {
      const Value row = rows[i];
      if (row.size() == 0) continue;
      // A caller that reads only this key must not take it for a lease, nor wait for its end.
      if (query.exact && row[7].text() == "companion")
        throw_failure(companion_overwritten(keys[i], LeaseNames(naming, keys[i]).text(Beside::facts),
                                            session_.config()));
      if (query.exact && !row[7].text().empty())
        throw_failure(no_lease(keys[i], row[7].text(), session_.config()));
      LeaseRow lease = lease_row(keys[i], row);
      // Places that have run out may be all that there is in a queue.
      if (all || !lease.owner.empty() || lease.waiting > 0) page.leases.push_back(std::move(lease));
    }
    return page.leases.size() < query.limit;
  });
}

void RedisStoreConnection::list_places(const Query& query, Page& page, Instant until) {
  const Naming& naming = session_.config().naming;
  for_each_page(session_, query, until, [&](const std::vector<std::string>& keys) {
    const auto add = [&](Command& command) {
      for (const std::string& key : keys) {
        LeaseNames(naming, key)
            .add(command, Beside::facts)
            .add(command, Beside::queue)
            .add(command, Beside::places);
      }
      command.number(query.limit - page.places.size());
    };
    const Answer rows = checked(session_.ready(until).run(Lua::list_places, 3 * keys.size(), 1, add, until),
                                session_.config());
    for (std::size_t i = 0; i + 3 < rows.size(); i += 4) {
      const auto key = static_cast<std::size_t>(rows[i].number());
      if (key >= keys.size())
        throw_failure({Errc::unavailable, not_understood().detail});  // nothing was changed
      page.places.push_back({.key = keys[key],
                             .client = std::string(rows[i + 1].text()),
                             .owner = std::string(rows[i + 2].text()),
                             .remaining = Millis(rows[i + 3].number())});
    }
    return page.places.size() < query.limit;
  });
}

// Filtered here: the server's time is everybody's.
void RedisStoreConnection::list_log(const Query& query, Page& page, Instant until) {
  std::string newest = "+";
  while (page.log.size() < query.limit) {
    const Answer entries = session_.ready(until).call(until, "XREVRANGE", session_.config().naming.log,
                                                      newest, "-", "COUNT", std::to_string(page_size));
    for (std::size_t i = 0; i < entries.size() && page.log.size() < query.limit; ++i) {
      LogRow row = log_row(entries[i][1]);
      const bool wanted = query.exact ? row.key == query.prefix : row.key.starts_with(query.prefix);
      if (wanted) page.log.push_back(std::move(row));
    }
    if (entries.size() < page_size) return;
    newest = "(" + std::string(entries[entries.size() - 1][0].text());
  }
}

}  // namespace holdfast::redis
