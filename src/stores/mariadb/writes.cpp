// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/writes.h"

#include <initializer_list>

namespace holdfast::mariadb {
namespace {

void add(std::string& rows, std::initializer_list<std::string> values) {
  rows += rows.empty() ? "(" : ", (";
  bool first = true;
  for (const std::string& value : values) {
    if (!first) rows += ", ";
    rows += value;
    first = false;
  }
  rows += ")";
}

std::string digits_of(Token token) { return std::to_string(to_number(token)); }

}  // namespace

void Writes::lease(std::string_view key, const core::Record& r, bool known) {
  const std::string name = tables_.key(key);
  const std::string values[] = {r.owner.empty() ? "NULL" : hex(r.owner),
                                r.since == Micros::zero() ? "NULL" : datetime(r.since), datetime(r.end),
                                digits_of(r.token)};
  if (!known) return add(made_, {name, values[0], values[1], values[2], values[3]});
  changed_keys_ += (changed_keys_.empty() ? "" : ", ") + name;
  for (std::size_t i = 0; i < changed_.size(); ++i) changed_[i] += " WHEN " + name + " THEN " + values[i];
}

void Writes::facts(std::string_view key, const core::Record& r) {
  const std::string values = "token = " + digits_of(r.token) + ", detached = " + (r.detached ? "1" : "0") +
                             ", note = " + hex(r.note);
  also("INSERT INTO {facts} SET `key` = " + tables_.key(key) + ", " + values + " ON DUPLICATE KEY UPDATE " +
       values + ";\n");
}

void Writes::place(std::string_view key, const core::Place& place, std::int64_t ticket) {
  add(places_,
      {tables_.key(key), hex(place.client), hex(place.owner), std::to_string(ticket), datetime(place.until)});
}

void Writes::no_place(std::string_view key, std::string_view client) {
  also("DELETE FROM {waiters} WHERE `key` = " + tables_.key(key) + " AND client = " + hex(client) + ";\n");
}

void Writes::no_old_places(std::string_view key, std::string_view client, Micros now,
                           std::optional<Micros> latest) {
  also("DELETE FROM {waiters} WHERE `key` = " + tables_.key(key) + " AND (client = " + hex(client) +
       " OR until <= " + datetime(now) + (latest ? " OR until > " + datetime(*latest) : "") + ");\n");
}

void Writes::log(const LogRow& row) {
  add(log_, {datetime(row.at.time_since_epoch()), tables_.key(row.key), hex(row.event), hex(row.owner),
             digits_of(row.token), hex(row.by), hex(row.reason)});
}

std::string Writes::text() const {
  std::string text;
  const auto put = [&](const char* what, const std::string& rows) {
    if (!rows.empty()) text += what + (" VALUES " + rows) + ";\n";
  };
  if (!changed_keys_.empty()) {
    constexpr const char* columns[] = {"locked_by", "locked_at", "locked_until", "sequence"};
    text += "UPDATE {locks} FORCE INDEX (PRIMARY) SET ";
    for (std::size_t i = 0; i < changed_.size(); ++i)
      text += (i == 0 ? "" : ", ") + std::string(columns[i]) + " = CASE `key`" + changed_[i] + " END";
    text += " WHERE `key` IN (" + changed_keys_ + ");\n";
  }
  put("INSERT INTO {locks} (`key`, locked_by, locked_at, locked_until, sequence)", made_);
  put("REPLACE INTO {waiters} (`key`, client, waiter, ticket, until)", places_);
  put("INSERT INTO {log} (at, `key`, event, holder, token, `by`, reason)", log_);
  return tables_.expand(text + also_);
}

}  // namespace holdfast::mariadb
