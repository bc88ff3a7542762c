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

std::string digits_of(Token token) { return std::to_string(number(token)); }

}  // namespace

void Writes::lease(std::string_view key, const core::Record& r, bool known) {
  add(known ? changed_ : made_,
      {tables_.key(key), r.holder.empty() ? "NULL" : hex(r.holder),
       r.since == Micros::zero() ? "NULL" : datetime(r.since), datetime(r.end), digits_of(r.token)});
}

void Writes::facts(std::string_view key, const core::Record& r) {
  add(facts_, {tables_.key(key), digits_of(r.token), r.detached ? "1" : "0", hex(r.note)});
}

void Writes::place(std::string_view key, const core::Place& place, std::int64_t ticket) {
  add(places_, {tables_.key(key), hex(place.client), hex(place.holder), std::to_string(ticket),
                datetime(place.until)});
}

void Writes::no_place(std::string_view key, std::string_view client) {
  also("DELETE FROM {waiters} WHERE `key` = " + tables_.key(key) + " AND client = " + hex(client) + ";\n");
}

void Writes::no_old_places(std::string_view key, std::string_view client, Micros now) {
  also("DELETE FROM {waiters} WHERE `key` = " + tables_.key(key) + " AND (client = " + hex(client) +
       " OR until <= " + datetime(now) + ");\n");
}

void Writes::log(const LogRow& row) {
  add(log_, {datetime(row.at), tables_.key(row.key), hex(row.event), hex(row.holder), digits_of(row.token),
             hex(row.by), hex(row.reason)});
}

std::string Writes::text() const {
  std::string text;
  const auto put = [&](const char* what, const std::string& rows) {
    if (!rows.empty()) text += what + (" VALUES " + rows) + ";\n";
  };
  put("REPLACE INTO {locks} (`key`, locked_by, locked_at, locked_until, sequence)", changed_);
  put("INSERT INTO {locks} (`key`, locked_by, locked_at, locked_until, sequence)", made_);
  put("REPLACE INTO {facts} (`key`, token, detached, note)", facts_);
  put("REPLACE INTO {waiters} (`key`, client, waiter, ticket, until)", places_);
  put("INSERT INTO {log} (at, `key`, event, holder, token, `by`, reason)", log_);
  return tables_.expand(text + also_);
}

}  // namespace holdfast::mariadb
