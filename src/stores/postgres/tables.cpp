// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/tables.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <vector>

#include "base/text.h"
#include "core/table_version.h"
#include "stores/postgres/sql.h"

namespace holdfast::postgres {
namespace {

constexpr std::size_t longest = 46;

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= longest && letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return letter(c) || digit(c); });
}

// A schema that the database has already may be called anything.
std::string in_quotes(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out += '"';
}

}  // namespace

Result<Tables> Tables::named(std::string_view table, Layout layout) {
  Tables tables;
  tables.layout_ = layout;
  tables.name_ = table;
  const std::size_t dot = table.find('.');
  if (dot != std::string_view::npos) tables.schema_ = table.substr(0, dot);
  tables.table_ = table.substr(dot == std::string_view::npos ? 0 : dot + 1);
  if (!is_name(tables.table_) || (dot != std::string_view::npos && !is_name(tables.schema_))) {
    return Error{
        Errc::invalid,
        "'" + printable(table) +
            "' cannot be a table name; give 1 to 46 letters, digits and _, and no digit first; a schema "
            "and a dot may come before them"};
  }
  if (tables.table_.find("holdfast_") != std::string::npos || tables.schema_.starts_with("pg_")) {
    return Error{
        Errc::invalid,
        "the table name '" + tables.name_ +
            "' is reserved, because it contains holdfast_ or its schema starts with pg_; give another one"};
  }
  return tables;
}

std::string Tables::quoted() const {
  return (schema_.empty() ? "" : in_quotes(schema_) + ".") +
         in_quotes(beside_shedlock() ? beside("locks") : table_);
}

Tables Tables::in_schema(std::string_view schema) const {
  Tables found = *this;
  found.schema_ = schema;
  return found;
}

Tables Tables::with_ttl(bool there) const {
  Tables found = *this;
  found.ttl_ = there;
  return found;
}

Tables Tables::at(Micros now) const {
  Tables fixed = *this;
  fixed.fixed_now_ = now;
  return fixed;
}

Tables Tables::at_one_moment() const {
  Tables fixed = *this;
  fixed.one_moment_ = true;
  return fixed;
}

std::string Tables::beside(std::string_view word) const {
  return (table_ == "locks" ? "holdfast_" : table_ + "_holdfast_") + std::string(word);
}

std::string Tables::clock_us() const {
  return fixed_now_ ? std::to_string(fixed_now_->count()) + "::bigint"
                    : "(date_part('epoch', clock_timestamp()) * 1000000::float8)::bigint";
}

std::string Tables::put_in(std::string_view word) const {
  if (word == "clock_us") return clock_us();
  if ((fixed_now_ || one_moment_) && (word == "now" || word == "now_us")) {
    const std::string us = fixed_now_ ? clock_us() : "current_setting('holdfast.now_us')::bigint";
    return word == "now_us" ? us : "(timestamp 'epoch' + " + us + "::float8 * interval '1us')";
  }
  // The clock goes on while a statement waits for a row.
  if (word == "now") return "(clock_timestamp() AT TIME ZONE 'UTC')";
  if (word == "now_us") return clock_us();
  // As a whole number: how many digits of another one are told is a setting of whoever asks.  NULL: without
  // end, as what nobody lives to see.
  if (word.starts_with("us ")) {
    const std::string moment(word.substr(3));
    const std::string known = "greatest(" + moment + ", timestamp '0001-01-01')";
    // Seconds and microseconds apart: in one floating point number a far moment would be some microseconds
    // off.
    return "CASE WHEN " + moment +
           " < timestamp '200000-01-01' THEN date_part('epoch', date_trunc('second', " + known +
           "))::bigint * 1000000::bigint + date_part('microseconds', " + known +
           ")::bigint % 1000000::bigint END";
  }
  // The commit waits for the disk, and for the standbys that are named; it says so if that wait was cut
  // short, which is a warning that somebody may have switched off.
  if (word == "durable")
    return "(set_config('synchronous_commit', 'on', true) || set_config('client_min_messages', 'warning', "
           "true))";
  // core::latest_end
  if (word == "last_day") return "timestamp '6536-10-29 20:41:15.855872'";
  if (word == "index") return in_quotes("index_" + table_ + "_on_key");
  if (word == "log_index") return in_quotes(beside("log_key"));
  // An index lies where its table does, and is made by its bare name.
  for (const char* index : {"slots", "due", "later", "claims", "parked", "over", "keys"}) {
    if (word == index) return in_quotes(beside(word));
  }
  const std::string where = schema_.empty() ? "" : in_quotes(schema_) + ".";
  return where + in_quotes(word == (beside_shedlock() ? "shedlock" : "locks") ? table_ : beside(word));
}

std::string Tables::expand(std::string_view sql) const {
  return substitute(core::lines_for(sql, ttl_), [this](std::string_view word) { return put_in(word); });
}

// -- what they have to be like

namespace {

enum class Kind : std::uint8_t { text, time, number, flag };

// As schema.sql makes them.
struct Need {
  const char* table;
  const char* column;
  Kind kind;
  bool given = true;             // our INSERTs say it
  const char* in_old = nullptr;  // NOT NULL: what rows get that are there already; null: by its kind
  bool added = false;            // by a migration: a table has all of those, or none
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
    {"state", "version", Kind::number, true, nullptr, true},
    {"state", "needs", Kind::number, true, nullptr, true},
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

bool is_migrated(std::string_view table, const Columns& columns) {
  return std::any_of(std::begin(needs), std::end(needs), [&](const Need& need) {
    return table == need.table && need.added && columns.contains(need.column);
  });
}

bool is_given(std::string_view table, std::string_view column) {
  return std::any_of(std::begin(needs), std::end(needs), [&](const Need& need) {
    return table == need.table && column == need.column && need.given;
  });
}

std::string quoted_column(std::string_view column) { return "\"" + printable(column) + "\""; }

// As schema.sql has it: "attempt bigint NOT NULL DEFAULT 0".
std::string definition_of(const Need& need) {
  const std::string head = "CREATE TABLE {" + std::string(need.table) + "} (";
  const auto* const table = std::find_if(std::begin(all_sql), std::end(all_sql), [&](const NamedSql& sql) {
    return sql.text.find(head) != std::string_view::npos;
  });
  const std::size_t from = table->text.find("\n  " + std::string(need.column) + " ") + 3;
  const std::string_view line = table->text.substr(from, table->text.find('\n', from) - from);
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

// ".key d character varying(255)" and a line's end, as `probe` explains.
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

bool has_ttl(const Columns& columns) {
  const auto ttl = columns.find("ttl_ms"), until = columns.find("ttl_until");
  return ttl != columns.end() && until != columns.end() && fits(Kind::number, ttl->second.type) &&
         fits(Kind::time, until->second.type);
}

std::string what_is_wrong(std::string_view table, const std::string& called, const Columns& columns) {
  const bool locks = table == "locks";
  const bool migrated = is_migrated(table, columns);
  for (const Need& need : needs) {
    if (table != need.table || (need.added && !migrated)) continue;
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
