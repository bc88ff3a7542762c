// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/schema.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <string>

#include "base/text.h"
#include "stores/sqlite/sql/jobs_schema.sql.h"
#include "stores/sqlite/sql/schema.sql.h"

namespace holdfast::sqlite {
namespace {

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

std::string small(std::string_view name) {
  std::string out(name);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

// By its text too: a virtual table, which is code of somebody, calls itself a table.
bool is_harmless(std::string_view type, std::string_view sql) {
  if (type == "table") return sql.starts_with("CREATE TABLE ");
  return type == "index" &&
         (sql.empty() || sql.starts_with("CREATE INDEX ") || sql.starts_with("CREATE UNIQUE INDEX "));
}

[[noreturn]] void refuse(const Connection& connection, const std::string& why) {
  throw_failure({Errc::refused, connection.path() + why + ", so nothing was changed; give another path"});
}

std::string shown(std::string_view name) { return "'" + printable(name.substr(0, 100)) + "'"; }

std::string kind_of(const Texts::value_type& ours) {
  return (ours.second.starts_with("CREATE TABLE ") ? "table " : "index ") + shown(ours.first);
}

bool has(Connection& connection, std::string_view script) {
  Texts missing = expected(connection.tables().in_own_file().expand(script));
  const Texts ours = missing;
  Cursor cursor = connection.run(Sql::objects);
  while (cursor.next()) {
    const std::string type(cursor.text(0)), name(cursor.text(1)), table(cursor.text(2)), sql(cursor.text(3));
    const auto text = ours.find(small(name));
    if (text != ours.end()) {
      const bool of_its_kind = type == "index" || (type == "table" && name == table);
      const bool exact = of_its_kind && name == text->first && sql == text->second;
      if (!exact)
        refuse(connection,
               " has a " + kind_of(*text) + " that this version of Holdfast would create differently");
      missing.erase(text->first);
    } else if (ours.contains(small(table))) {
      refuse(connection,
             " has " + shown(name) + " on its table " + shown(table) + ", which Holdfast did not create");
    } else if (!is_harmless(type, sql)) {
      refuse(connection,
             " has a trigger, view or virtual table that Holdfast did not create, " + shown(name));
    }
  }
  if (!missing.empty() && missing.size() != ours.size())
    refuse(connection, " lacks the " + kind_of(*missing.begin()));
  return missing.empty();
}

}  // namespace

bool has_our_tables(Connection& connection) { return has(connection, schema_sql); }

bool has_job_tables(Connection& connection) { return has(connection, jobs_schema_sql); }

}  // namespace holdfast::sqlite
