// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/tables.h"

#include <algorithm>
#include <cassert>
#include <map>

#include "base/text.h"
#include "stores/sqlite/connection.h"

namespace holdfast::sqlite {
namespace {

constexpr std::size_t longest_name = 48;

char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
std::string lower_case(std::string_view name) {
  std::string out(name);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return lower_case(c); });
  return out;
}
bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (lower_case(c) >= 'a' && lower_case(c) <= 'z') || c == '_'; }

// -- those in the file

// By its name, the text that SQLite keeps of a CREATE TABLE or INDEX: from the name on as it was written.
using Texts = std::map<std::string, std::string, std::less<>>;

Texts expected(const std::string& script) {
  Texts texts;
  for (const std::string create : {"CREATE TABLE ", "CREATE INDEX ", "CREATE UNIQUE INDEX "}) {
    const std::string asked = create + "IF NOT EXISTS ";
    for (std::size_t at = script.find(asked); at != std::string::npos; at = script.find(asked, at)) {
      at += asked.size();
      const std::string text = script.substr(at, script.find(';', at) - at);
      assert(text.starts_with('"'));
      texts.emplace(text.substr(1, text.find('"', 1) - 1), create + text);
    }
  }
  return texts;
}

// A table's text without the columns that migrations have added, and these: ", ttl_ms INTEGER".
struct Shape {
  std::string base, added;
};
Shape shape_of(const std::string& sql) {
  const std::size_t from = sql.find("\n, ");
  if (from == std::string::npos) return {sql, ""};
  const std::size_t end = std::min(sql.find(')', from), sql.size());
  return {sql.substr(0, from + 1) + sql.substr(end), sql.substr(from + 1, end - from - 1)};
}

// Only names and types: nothing that computes, refuses or is demanded.
bool are_plain(std::string_view columns) {
  while (!columns.empty()) {
    if (!columns.starts_with(", ")) return false;
    const std::string_view column = columns.substr(2, columns.find(',', 2) - 2);
    const std::string_view name = column.substr(0, column.find(' '));
    const std::string_view type = column.substr(std::min(name.size() + 1, column.size()));
    if (name.empty() || !std::all_of(name.begin(), name.end(), [](char c) { return letter(c) || digit(c); }))
      return false;
    if (type != "INTEGER" && type != "TEXT") return false;
    columns.remove_prefix(2 + column.size());
  }
  return true;
}

bool begins_with_columns(std::string_view all, std::string_view first) {
  return all.starts_with(first) && (all.size() == first.size() || all[first.size()] == ',');
}

// As we, or a version before us, would have made it.
bool is_ours(const std::string& found, const std::string& expected) {
  const Shape theirs = shape_of(found), ours = shape_of(expected);
  return theirs.base == ours.base && begins_with_columns(ours.added, theirs.added);
}
// As a version after us may have made it.
bool is_newer(const std::string& found, const std::string& expected) {
  const Shape theirs = shape_of(found), ours = shape_of(expected);
  return theirs.base == ours.base && begins_with_columns(theirs.added, ours.added) && are_plain(theirs.added);
}

// By its text too: a virtual table, which is code of somebody, calls itself a table.
bool is_harmless(std::string_view type, std::string_view sql) {
  if (type == "table") return sql.starts_with("CREATE TABLE ");
  return type == "index" &&
         (sql.empty() || sql.starts_with("CREATE INDEX ") || sql.starts_with("CREATE UNIQUE INDEX "));
}

[[noreturn]] void refuse_tables(const Connection& connection, const std::string& why) {
  throw_failure({Errc::refused, connection.path() + why + ", so nothing was changed; give another path"});
}

std::string shown(std::string_view name) { return "'" + printable(name.substr(0, 100)) + "'"; }

std::string kind_of(const Texts::value_type& ours) {
  return (ours.second.starts_with("CREATE TABLE ") ? "table " : "index ") + shown(ours.first);
}

bool has(Connection& connection, std::string_view script) {
  Texts missing = expected(connection.tables().in_own_file().expand(script));
  const Texts ours = missing;
  const std::string header = connection.ask(connection.tables().pragma("user_version")).value_or("0");
  const bool newer = version_in(static_cast<std::uint32_t>(std::stoll(header))).version > core::table_version;
  Cursor cursor = connection.run(Sql::all_objects);
  while (cursor.next()) {
    const std::string type(cursor.text(0)), name(cursor.text(1)), table(cursor.text(2)), sql(cursor.text(3));
    const auto text = ours.find(lower_case(name));
    if (text != ours.end()) {
      const bool of_its_kind = type == "index" || (type == "table" && name == table);
      const bool fits = is_ours(sql, text->second) || (newer && is_newer(sql, text->second));
      if (!of_its_kind || name != text->first || !fits)
        refuse_tables(connection, " cannot be used: its " + kind_of(*text) +
                                      " differs from the one that this version of Holdfast creates (another "
                                      "version created it, or somebody changed it)");
      missing.erase(text->first);
      if (name == connection.tables().name())
        connection.set_ttl(begins_with_columns(shape_of(sql).added, shape_of(text->second).added));
    } else if (ours.contains(lower_case(table))) {
      refuse_tables(connection, " has " + shown(name) + " on its table " + shown(table) +
                                    ", which Holdfast did not create");
    } else if (!is_harmless(type, sql)) {
      refuse_tables(connection,
                    " has a trigger, view or virtual table that Holdfast did not create, " + shown(name));
    }
  }
  if (!missing.empty() && missing.size() != ours.size())
    refuse_tables(connection, " lacks the " + kind_of(*missing.begin()));
  return missing.empty();
}

}  // namespace

Result<Tables> Tables::named(std::string_view table) {
  const bool formed = !table.empty() && table.size() <= longest_name && letter(table.front()) &&
                      std::all_of(table.begin(), table.end(), [](char c) { return letter(c) || digit(c); });
  if (!formed) {
    return Error{Errc::invalid,
                 "'" + printable(table) +
                     "' cannot be a table name; give 1 to 48 letters, digits and _, and no digit first"};
  }
  std::string name = lower_case(table);
  if (name.starts_with("sqlite_") || name.find("holdfast_") != std::string::npos) {
    return Error{Errc::invalid,
                 "the table name '" + name +
                     "' is reserved, because it starts with sqlite_ or contains holdfast_; give another one"};
  }
  return Tables(std::move(name));
}

std::string Tables::beside(std::string_view word) const {
  return (name_ == "locks" ? "holdfast_" : name_ + "_holdfast_") + std::string(word);
}

Tables Tables::in(std::string_view schema) const {
  Tables there(name_);
  there.in_ = "\"";
  for (const char c : schema) there.in_ += c == '"' ? "\"\"" : std::string(1, c);
  there.in_ += "\".";
  return there;
}

std::string Tables::expand(std::string_view sql) const {
  return substitute(core::lines_for(sql, ttl_), [this](std::string_view word) {
    if (word == "sqlite_schema") return in_ + "sqlite_schema";
    return in_ + '"' + (word == "locks" ? name_ : beside(word)) + '"';
  });
}

core::TableVersion version_in(std::uint32_t user_version) noexcept {
  const std::int64_t needs = user_version & 0xffff, version = user_version >> 16;
  return {.version = std::max(needs, version), .needs = needs};
}

std::uint32_t user_version_of(const core::TableVersion& v) noexcept {
  return static_cast<std::uint32_t>(v.needs | (v.version > v.needs ? v.version << 16 : 0));
}

bool has_our_tables(Connection& connection) { return has(connection, text(Sql::schema)); }

bool has_job_tables(Connection& connection) { return has(connection, text(Sql::jobs_schema)); }

}  // namespace holdfast::sqlite
