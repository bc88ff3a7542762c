// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/tables.h"

#include <algorithm>
#include <cassert>

#include "base/text.h"
#include "core/table_version.h"
#include "stores/mariadb/layouts.h"
#include "stores/mariadb/sql.h"

namespace holdfast::mariadb {
namespace {

constexpr std::size_t longest = 41;  // and 23 for what we put behind it

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

// Since 1970, as a number: no session's zone has a say in it.
std::string us(std::string_view moment) {
  return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', " + std::string(moment) + ")";
}

std::string without_comments(std::string_view sql) {
  std::string out;
  while (!sql.empty()) {
    const std::string_view line = sql.substr(0, std::min(sql.find('\n'), sql.size() - 1) + 1);
    if (!line.starts_with("--")) out += line;
    sql.remove_prefix(line.size());
  }
  return out;
}

std::string in_braces(std::string_view word) { return "{" + std::string(word) + "}"; }

}  // namespace

std::string hex(std::string_view text) {
  constexpr std::string_view letters = "0123456789abcdef";
  std::string out = "x'";
  out.reserve(2 * text.size() + 3);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += letters[byte / 16];
    out += letters[byte % 16];
  }
  return out += '\'';
}

std::string digits(std::optional<std::int64_t> number) { return number ? std::to_string(*number) : "NULL"; }

std::string datetime(std::optional<Micros> moment) {
  if (!moment) return "NULL";
  return "TIMESTAMP'1970-01-01 00:00:00.000000' + INTERVAL " + std::to_string(moment->count()) +
         " MICROSECOND";
}

Sql statement_that_creates(std::string_view table) {
  const auto found = std::find_if(std::begin(all_sql), std::end(all_sql), [&](const NamedSql& statement) {
    return statement.name.starts_with("create_") && statement.name.substr(7) == table;
  });
  assert(found != std::end(all_sql));
  return static_cast<Sql>(found - std::begin(all_sql));
}

Result<Tables> Tables::named(std::string_view table, Layout layout) {
  const bool formed = !table.empty() && table.size() <= longest && letter(table.front()) &&
                      std::all_of(table.begin(), table.end(), [](char c) { return letter(c) || digit(c); });
  if (!formed)
    return Error{Errc::invalid,
                 "'" + printable(table) +
                     "' cannot be a table name; give 1 to 41 letters, digits and _, and no digit first"};
  if (table.find("holdfast_") != std::string_view::npos)
    return Error{Errc::invalid, "the table name '" + std::string(table) +
                                    "' is reserved, because it contains holdfast_; give another one"};
  Tables tables;
  tables.name_ = table;
  tables.layout_ = layout;
  tables.foreign_ = foreign_layout(layout);
  tables.read_statements();
  return tables;
}

std::string_view Tables::layout() const noexcept { return foreign_ != nullptr ? foreign_->name : ""; }

std::string_view Tables::usual_name(Layout layout) {
  const ForeignLayout* const foreign = foreign_layout(layout);
  return foreign != nullptr ? foreign->table : "locks";
}

std::vector<std::string_view> Tables::lease_tables() const {
  std::vector<std::string_view> tables = {"locks", "waiters", "facts", "log", "state"};
  if (foreign_ != nullptr) tables.insert(tables.begin(), foreign_->name);
  return tables;
}

std::vector<std::string_view> Tables::job_tables() const {
  return foreign_ != nullptr ? std::vector<std::string_view>{}
                             : std::vector<std::string_view>{"jobs", "ticks"};
}

std::string Tables::name_of(std::string_view table) const {
  if (table == (foreign_ != nullptr ? foreign_->name : "locks")) return name_;
  return (name_ == "locks" ? "holdfast_" : name_ + "_holdfast_") + std::string(table);
}

std::string Tables::key(std::string_view text) const {
  return (foreign_ != nullptr ? "_utf8mb4 " : "") + hex(text);
}

Tables Tables::with_ttl(bool there) const {
  Tables found = *this;
  if (there == ttl_) return found;
  found.ttl_ = there;
  found.read_statements();
  return found;
}

Tables Tables::at(Micros now) const {
  Tables fixed = *this;
  fixed.fixed_now_ = now;
  fixed.read_statements();
  return fixed;
}

std::optional<std::string> Tables::common(std::string_view word) const {
  if (fixed_now_) {
    const std::string number = std::to_string(fixed_now_->count());
    if (word == "now" || word == "clock")
      return "(TIMESTAMP'1970-01-01 00:00:00.000000' + INTERVAL " + number + " MICROSECOND)";
    if (word == "now_us" || word == "clock_us") return number;
  }
  // When the statement began.
  if (word == "now") return "UTC_TIMESTAMP(6)";
  if (word == "now_us") return us("UTC_TIMESTAMP(6)");
  // Goes on while a statement waits for a row.  In the session's zone: that is UTC but beside the table of
  // another program, where no statement uses it.
  if (word == "clock") return "SYSDATE(6)";
  if (word == "clock_us") return us("SYSDATE(6)");
  // core::latest_end
  if (word == "last_day") return "TIMESTAMP'6536-10-29 20:41:15.855872'";
  if (word.starts_with("us(")) return us(word.substr(3, word.size() - 4));
  // In bytewise order, whatever the column's own is.
  if (word.starts_with("bytes(")) {
    const std::string column(word.substr(6, word.size() - 7));
    return foreign_ != nullptr ? "CAST(CONVERT(" + column + " USING utf8mb4) AS BINARY)" : column;
  }
  for (const auto& tables : {lease_tables(), job_tables()})
    if (std::find(tables.begin(), tables.end(), word) != tables.end()) return "`" + name_of(word) + "`";
  return std::nullopt;
}

void Tables::read_statements() {
  statements_.clear();
  for (const NamedSql& statement : all_sql)
    statements_.push_back(
        substitute(core::lines_for(without_comments(statement.text), ttl_),
                   [this](std::string_view word) { return common(word).value_or(in_braces(word)); }) +
        "\n");
}

std::string Tables::sql(Sql statement, const Values& values) const {
  return substitute(statements_[static_cast<std::size_t>(statement)], [&](std::string_view word) {
    const auto found =
        std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.first == word; });
    assert(found != values.end());
    return found->second;
  });
}

std::string Tables::schema(Sql statement, const std::string& key_type) const {
  return substitute(text(statement), [&](std::string_view word) {
    return word == "key_type" ? key_type : common(word).value_or(in_braces(word));
  });
}

}  // namespace holdfast::mariadb
