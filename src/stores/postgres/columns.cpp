// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/columns.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <vector>

#include "base/text.h"
#include "stores/postgres/sql/schema.sql.h"

namespace holdfast::postgres {
namespace {

enum class Kind : std::uint8_t { text, time, number, flag };

// As sql/schema.sql makes them.
struct Need {
  const char* table;
  const char* column;
  Kind kind;
  bool given = true;             // our INSERTs say it
  const char* in_old = nullptr;  // NOT NULL: what rows get that are there already; null: by its kind
};
constexpr Need needs[] = {
    {"locks", "key", Kind::text},
    {"locks", "locked_by", Kind::text},
    {"locks", "locked_at", Kind::time},
    {"locks", "locked_until", Kind::time},
    {"locks", "sequence", Kind::number},
    {"waiters", "key", Kind::text},
    {"waiters", "client", Kind::text},
    {"waiters", "waiter", Kind::text},
    {"waiters", "ticket", Kind::number, false},
    {"waiters", "until", Kind::time},
    {"facts", "key", Kind::text},
    {"facts", "token", Kind::number},
    {"facts", "detached", Kind::flag},
    {"facts", "note", Kind::text},
    {"log", "id", Kind::number, false},
    {"log", "at", Kind::time},
    {"log", "key", Kind::text},
    {"log", "event", Kind::text},
    {"log", "holder", Kind::text},
    {"log", "token", Kind::number},
    {"log", "by", Kind::text},
    {"log", "reason", Kind::text},
    {"state", "purged_token", Kind::number},
    {"state", "made", Kind::flag},
    {"jobs", "id", Kind::number, false},
    {"jobs", "name", Kind::text},
    {"jobs", "queue", Kind::text, true, "'default'"},
    {"jobs", "args", Kind::text, true, "'[]'"},
    {"jobs", "key", Kind::text},
    {"jobs", "priority", Kind::number},
    {"jobs", "state", Kind::text, true, "'dead'"},
    {"jobs", "enqueued_at", Kind::time},
    {"jobs", "run_at", Kind::time},
    {"jobs", "due_at", Kind::time},
    {"jobs", "started_at", Kind::time},
    {"jobs", "finished_at", Kind::time},
    {"jobs", "attempt", Kind::number, false},
    {"jobs", "crashes", Kind::number, false},
    {"jobs", "max_attempts", Kind::number, true, "1"},
    {"jobs", "lock_ttl", Kind::number},
    {"jobs", "lock_fixed", Kind::flag},
    {"jobs", "lock_limit", Kind::number, true, "1"},
    {"jobs", "on_conflict", Kind::text, true, "'drop'"},
    {"jobs", "uniqueness", Kind::text, true, "'no'"},
    {"jobs", "slot", Kind::text},
    {"jobs", "parked", Kind::flag, false},
    {"jobs", "holder", Kind::text, false},
    {"jobs", "lock", Kind::text, false},
    {"jobs", "token", Kind::number, false},
    {"jobs", "claim_until", Kind::time, false},
    {"jobs", "error", Kind::text, false},
    {"jobs", "duplicates", Kind::number, false},
    {"jobs", "trail", Kind::text, false},
    {"ticks", "name", Kind::text},
    {"ticks", "tick", Kind::number},
    {"ticks", "job", Kind::number, false},
    {"ticks", "by", Kind::text, false},
    {"ticks", "at", Kind::time, false},
    {"ticks", "success", Kind::time, false},
    {"ticks", "until", Kind::time},
};

bool fits(Kind kind, std::string_view type) {
  switch (kind) {
    case Kind::text: return type == "text" || type.starts_with("character varying");
    case Kind::time: return type == "timestamp without time zone" || type == "timestamp(6) without time zone";
    case Kind::number: return type == "bigint";
    case Kind::flag: return type == "boolean";
  }
  return false;
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::text: return "text or varchar";
    case Kind::time: return "timestamp without time zone";
    case Kind::number: return "bigint";
    case Kind::flag: return "boolean";
  }
  return "";
}

// A time that is over: of a place in a queue, and of a job that is due.
const char* in_old_rows(const Need& need) {
  if (need.in_old != nullptr) return need.in_old;
  switch (need.kind) {
    case Kind::text: return "''";
    case Kind::time: return "'2000-01-01'";
    case Kind::number: return "0";
    case Kind::flag: return "false";
  }
  return "";
}

bool is_given(std::string_view table, std::string_view column) {
  return std::any_of(std::begin(needs), std::end(needs), [&](const Need& need) {
    return table == need.table && column == need.column && need.given;
  });
}

std::string quoted_column(std::string_view column) { return "\"" + printable(column) + "\""; }

// As schema.sql has it: "attempt bigint NOT NULL DEFAULT 0".
std::string definition_of(const Need& need) {
  const std::size_t table = schema_sql.find("CREATE TABLE {" + std::string(need.table) + "} (");
  const std::size_t from = schema_sql.find("\n  " + std::string(need.column) + " ", table) + 3;
  const std::string_view line = schema_sql.substr(from, schema_sql.find('\n', from) - from);
  return std::string(line.substr(0, line.size() - (line.ends_with(',') ? 1 : 0)));
}

// Not to drop the table: there may be jobs in it, and then NOT NULL needs a default.
std::string remedy_of(const Need& need, const std::string& called) {
  std::string definition = definition_of(need);
  const auto has = [&](const char* words) { return definition.find(words) != std::string::npos; };
  const bool empty_first = has("PRIMARY KEY") && !has("IDENTITY");
  if (has("NOT NULL") && !has("DEFAULT")) definition += std::string(" DEFAULT ") + in_old_rows(need);
  return (empty_first ? "; delete its rows, then run: ALTER TABLE " : "; run: ALTER TABLE ") + called +
         " ADD COLUMN " + definition;
}

std::vector<std::string_view> words_in(std::string_view text, char between) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(between));
    words.push_back(one);
    text.remove_prefix(std::min(one.size() + 1, text.size()));
  }
  return words;
}

}  // namespace

// ".key d character varying(255)" and a line's end, as sql/probe.sql explains.
ColumnsByTable columns_in(std::string_view list) {
  ColumnsByTable tables;
  for (const std::string_view line : words_in(list, '\n')) {
    const std::size_t dot = line.find('.'), space = line.find(' ');
    if (dot > space || space == std::string_view::npos || space + 3 > line.size()) continue;
    const char mark = line[space + 1];
    tables[std::string(line.substr(0, dot))].emplace(
        line.substr(dot + 1, space - dot - 1),
        Column{.type = std::string(line.substr(space + 3)), .filled = mark != 'n', .demanded = mark == 'g'});
  }
  return tables;
}

std::string what_is_wrong(std::string_view table, const std::string& called, const Columns& columns) {
  const bool locks = table == "locks";
  for (const Need& need : needs) {
    if (table != need.table) continue;
    const auto column = columns.find(need.column);
    if (column != columns.end() && fits(need.kind, column->second.type)) continue;
    if (column == columns.end() && locks && std::string_view(need.column) == "sequence") continue;
    const std::string what = "its column " + quoted_column(need.column);
    if (column == columns.end())
      return what + " (" + name_of(need.kind) + ") is missing" + (locks ? "" : remedy_of(need, called));
    return what + " is " + printable(column->second.type) + ", but has to be " + name_of(need.kind) +
           (locks ? "" : "; change its type with ALTER TABLE");
  }
  if (const auto by = columns.find("locked_by"); locks && by->second.filled)
    return "its column \"locked_by\" is NOT NULL, but has to be NULL while the key is free; run: ALTER "
           "TABLE " +
           called + " ALTER locked_by DROP NOT NULL";
  if (table == "state") return {};  // only init inserts
  for (const auto& [name, column] : columns) {
    if (!column.demanded || is_given(table, name)) continue;
    return "its column " + quoted_column(name) +
           " is NOT NULL without a default, but Holdfast inserts rows without it; run: ALTER TABLE " +
           called + " ALTER " + quoted_column(name) + " SET DEFAULT …, or DROP NOT NULL";
  }
  return {};
}

std::size_t limit_in(std::string_view type) {
  const std::size_t open = type.find('(');
  std::size_t limit = 0;
  if (open != std::string_view::npos)
    std::from_chars(type.data() + open + 1, type.data() + type.size(), limit);
  return limit;
}

}  // namespace holdfast::postgres
