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
  Cursor cursor = connection.run(Sql::all_objects);
  while (cursor.next()) {
    const std::string type(cursor.text(0)), name(cursor.text(1)), table(cursor.text(2)), sql(cursor.text(3));
    const auto text = ours.find(lower_case(name));
    if (text != ours.end()) {
      const bool of_its_kind = type == "index" || (type == "table" && name == table);
      const bool exact = of_its_kind && name == text->first && sql == text->second;
      if (!exact)
        refuse_tables(connection, " cannot be used: its " + kind_of(*text) +
                                      " differs from the one that this version of Holdfast creates (another "
                                      "version created it, or somebody changed it)");
      missing.erase(text->first);
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
  return substitute(sql, [this](std::string_view word) {
    if (word == "sqlite_schema") return in_ + "sqlite_schema";
    return in_ + '"' + (word == "locks" ? name_ : beside(word)) + '"';
  });
}

bool has_our_tables(Connection& connection) { return has(connection, text(Sql::schema)); }

bool has_job_tables(Connection& connection) { return has(connection, text(Sql::jobs_schema)); }

}  // namespace holdfast::sqlite
