// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/rows.h"

#include <limits>

#include "stores/sqlite/presence.h"

namespace holdfast::sqlite {

bool is_token(std::int64_t number) noexcept {
  return number >= 0 && number < std::numeric_limits<std::int64_t>::max();
}

Row read_row(const Cursor& cursor, int column) {
  Row row;
  row.owner = cursor.text(column);
  if (!cursor.is_null(column + 1)) row.end = Micros(cursor.number(column + 1));
  row.token = Token{static_cast<std::uint64_t>(cursor.number(column + 2))};
  if (!is_token(cursor.number(column + 2)))
    cursor.refuse(" contains an invalid token, which Holdfast did not write");
  if (!row.owner.empty() && row.token == no_token)
    cursor.refuse(" contains an owner without a token, which Holdfast did not write");
  row.client = cursor.is_null(column + 3) ? client_named_in(row.owner) : cursor.text(column + 3);
  return row;
}

Row Rows::look(Key key) {
  Cursor cursor = connection_.run(Sql::look, key.text);
  return cursor.next() ? read_row(cursor, 0) : Row{};
}

Token Rows::purged_token() {
  Cursor cursor = connection_.run(Sql::purged_token);
  return Token{cursor.next() ? static_cast<std::uint64_t>(cursor.number(0)) : 0};
}

std::vector<core::Place> Rows::queue(Key key) {
  std::vector<core::Place> places;
  Cursor cursor = connection_.run(Sql::queue, key.text);
  while (cursor.next()) {
    const Micros until(cursor.number(1));
    if (core::place_is_live(until, connection_.boottime()))
      places.push_back({.client = std::string(cursor.text(0)), .until = until});
  }
  return places;
}

void Rows::grant(Key key, OwnerView owner, End end, Token token) {
  connection_.run(Sql::grant, key.text, owner.text, end, to_number(token)).finish();
}

void Rows::restart(Key key, End end) { connection_.run(Sql::restart, key.text, end).finish(); }

void Rows::free(Key key) { connection_.run(Sql::evict, key.text).finish(); }

void Rows::note_facts(Key key, Token token, const Facts& facts) {
  connection_.run(Sql::note_facts, key.text, to_number(token), facts.client, facts.detached, facts.note)
      .finish();
}

void Rows::note_client(Key key, Token token, std::string_view client) {
  connection_.run(Sql::note_client, key.text, to_number(token), client).finish();
}

void Rows::log(Key key, const LogRow& entry) {
  connection_
      .run(Sql::log, key.text, std::string_view(entry.event), std::string_view(entry.owner),
           to_number(entry.token), std::string_view(entry.by), std::string_view(entry.reason))
      .finish();
}

void Rows::drop_places(Key key) { connection_.run(Sql::drop_places, key.text).finish(); }

void Rows::keep_place(Key key, std::string_view client, OwnerView waiter, Micros until) {
  connection_.run(Sql::keep_place, key.text, client, waiter.text, until).finish();
}

void Rows::leave(Key key, std::string_view client) { connection_.run(Sql::leave, key.text, client).finish(); }

}  // namespace holdfast::sqlite
