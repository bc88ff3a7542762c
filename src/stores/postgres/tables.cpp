// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/tables.h"

#include <algorithm>

#include "base/text.h"

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

Result<Tables> Tables::named(std::string_view table) {
  Tables tables;
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
  return (schema_.empty() ? "" : in_quotes(schema_) + ".") + in_quotes(table_);
}

Tables Tables::in_schema(std::string_view schema) const {
  Tables found = *this;
  found.schema_ = schema;
  return found;
}

Tables Tables::at(Micros now) const {
  Tables fixed = *this;
  fixed.fixed_now_ = now;
  return fixed;
}

std::string Tables::beside(std::string_view word) const {
  return (table_ == "locks" ? "holdfast_" : table_ + "_holdfast_") + std::string(word);
}

std::string Tables::put_in(std::string_view word) const {
  if (fixed_now_ && (word == "now" || word == "now_us")) {
    const std::string us = std::to_string(fixed_now_->count()) + "::bigint";
    return word == "now_us" ? us : "(timestamp 'epoch' + " + us + "::float8 * interval '1us')";
  }
  // The clock goes on while a statement waits for a row.
  if (word == "now") return "(clock_timestamp() AT TIME ZONE 'UTC')";
  if (word == "now_us") return "(date_part('epoch', clock_timestamp()) * 1000000::float8)::bigint";
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
  return where + in_quotes(word == "locks" ? table_ : beside(word));
}

std::string Tables::expand(std::string_view sql) const {
  return substitute(sql, [this](std::string_view word) { return put_in(word); });
}

}  // namespace holdfast::postgres
