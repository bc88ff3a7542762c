// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/leases.h"

#include <algorithm>
#include <initializer_list>

#include "core/row.h"
#include "stores/mariadb/sql.h"

namespace holdfast::mariadb {
namespace {

using core::Outcome;
using core::Place;
using core::Record;

struct LockAnswer {
  enum : std::size_t { rows, queue, state };
};

void add_row(std::string& rows, std::initializer_list<std::string> values) {
  rows += rows.empty() ? "(" : ", (";
  bool first = true;
  for (const std::string& value : values) {
    if (!first) rows += ", ";
    rows += value;
    first = false;
  }
  rows += ")";
}

void add_case(std::string& cases, const std::string& key, const std::string& value) {
  cases += " WHEN " + key + " THEN " + value;
}

std::string digits_of(Token token) { return std::to_string(to_number(token)); }

}  // namespace

bool has_state(std::span<const Answer> answers) { return !answers[LockAnswer::state].is_null(0, 1); }

LockedLeases leases_in(std::span<const Answer> answers, const std::vector<std::string_view>& asked,
                       bool collated) {
  LockedLeases leases;
  for (const std::string_view key : asked) leases.keys.try_emplace(std::string(key));
  const auto lease_of = [&](const Answer& a, std::size_t i) -> LockedLease& {
    return leases.keys.find(collated ? asked.front() : a.text(i, 0))->second;
  };
  for (std::size_t i = 0; i < answers[LockAnswer::rows].rows.size(); ++i) {
    const Answer& a = answers[LockAnswer::rows];
    LockedLease& lease = lease_of(a, i);
    lease.exists = true;
    lease.record.owner = a.text(i, 1);
    lease.record.since = a.moment(i, 2).value_or(Micros::zero());
    lease.record.end = a.moment(i, 3);
    lease.record.token = Token{static_cast<std::uint64_t>(a.number(i, 4))};
  }
  for (std::size_t i = 0; i < answers[LockAnswer::queue].rows.size(); ++i) {
    const Answer& a = answers[LockAnswer::queue];
    LockedLease& lease = lease_of(a, i);
    lease.record.queue.push_back({.client = std::string(a.text(i, 1)),
                                  .owner = std::string(a.text(i, 2)),
                                  .until = Micros(a.number(i, 3))});
    lease.tickets.emplace(a.text(i, 1), a.number(i, 4));
    lease.last_ticket = std::max(lease.last_ticket, a.number(i, 4));
  }
  const Answer& state = answers[LockAnswer::state];
  const Micros now(state.number(0, 0));
  leases.moment = {.now = now, .wall = now, .purged = Token{static_cast<std::uint64_t>(state.number(0, 1))}};
  return leases;
}

void Writes::add(const Request& r, const LockedLease& before, const Record& record, const Outcome& outcome,
                 std::string_view client, Micros now) {
  const std::string_view key = r.key.text;
  const bool granted = outcome.changed && record.token != before.record.token;
  if (outcome.changed) lease(key, record, before.exists);
  // It was never there, or an acquire that was given up is inserting it just now: then this waits for that.
  else if (!before.exists && core::gives_back(r))
    lease(key, {.end = now}, false);
  if (granted && (record.detached || !record.note.empty())) facts(key, record);
  if (outcome.log) log(*outcome.log);
  if (granted && !before.tickets.empty())
    add(tables_.sql(Sql::leave_queue_and_clean_it, {{"key", tables_.key(key)},
                                                    {"client", hex(client)},
                                                    {"moment", datetime(now)},
                                                    {"latest", datetime(core::latest_place_end(r, now))}}));
  else if (outcome.place == Outcome::Place::left)
    add(tables_.sql(Sql::leave_queue, {{"key", tables_.key(key)}, {"client", hex(client)}}));
  if (outcome.place != Outcome::Place::kept) return;
  const auto ours = std::find_if(record.queue.begin(), record.queue.end(),
                                 [&](const Place& p) { return p.client == client; });
  const auto old = std::find_if(before.record.queue.begin(), before.record.queue.end(),
                                [&](const Place& p) { return p.client == client && p.until > now; });
  position(key, *ours,
           old != before.record.queue.end() ? before.tickets.find(client)->second : before.last_ticket + 1);
}

void Writes::lease(std::string_view key, const Record& r, bool exists) {
  const std::string name = tables_.key(key);
  const std::string owner = r.owner.empty() ? "NULL" : hex(r.owner);
  const std::string start = r.since == Micros::zero() ? "NULL" : datetime(r.since);
  const std::string ttl = r.ttl ? std::to_string(r.ttl->count()) : "NULL";
  if (!exists && tables_.ttl())
    return add_row(inserted_,
                   {name, owner, start, datetime(r.end), ttl, datetime(r.end), digits_of(r.token)});
  if (!exists) return add_row(inserted_, {name, owner, start, datetime(r.end), digits_of(r.token)});
  updated_keys_ += (updated_keys_.empty() ? "" : ", ") + name;
  add_case(owners_, name, owner);
  add_case(starts_, name, start);
  add_case(ends_, name, datetime(r.end));
  add_case(tokens_, name, digits_of(r.token));
  if (!r.ttl) return;
  add_case(ttls_, name, ttl);
  add_case(ttl_ends_, name, datetime(r.end));
}

void Writes::facts(std::string_view key, const Record& r) {
  add(tables_.sql(Sql::write_facts, {{"key", tables_.key(key)},
                                     {"token", digits_of(r.token)},
                                     {"detached", r.detached ? "1" : "0"},
                                     {"note", hex(r.note)}}));
}

void Writes::position(std::string_view key, const Place& place, std::int64_t ticket) {
  add_row(positions_, {tables_.key(key), hex(place.client), hex(place.owner), std::to_string(ticket),
                       datetime(place.until)});
}

void Writes::log(const LogRow& row) {
  add_row(log_, {datetime(row.at.time_since_epoch()), tables_.key(row.key), hex(row.event), hex(row.owner),
                 digits_of(row.token), hex(row.by), hex(row.reason)});
}

std::string Writes::text() const {
  std::string text;
  if (!updated_keys_.empty())
    text += tables_.sql(Sql::update_leases, {{"owners", owners_},
                                             {"starts", starts_},
                                             {"ends", ends_},
                                             {"tokens", tokens_},
                                             {"ttls", ttls_},
                                             {"ttl_ends", ttl_ends_},
                                             {"keys", updated_keys_}});
  if (!inserted_.empty()) text += tables_.sql(Sql::insert_leases, {{"rows", inserted_}});
  if (!positions_.empty()) text += tables_.sql(Sql::keep_positions, {{"rows", positions_}});
  if (!log_.empty()) text += tables_.sql(Sql::write_log, {{"rows", log_}});
  return text + others_;
}

std::string commit_in_time(const Tables& tables, std::int64_t void_after) {
  return tables.sql(Sql::commit_in_time, {{"void_after", std::to_string(void_after)}});
}

}  // namespace holdfast::mariadb
