// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/hello.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/text.h"
#include "stores/postgres/sql/hello.sql.h"

namespace holdfast::postgres {
namespace {

// What lies beside the lock table, by the names in schema.sql.
constexpr const char* beside[] = {"waiters", "facts", "log", "log_index", "state"};

std::string name_of(const Tables& tables, std::string_view word) {
  return word == "log_index" ? tables.beside("log_key") : tables.beside(word);
}

using Columns = std::map<std::string, std::string, std::less<>>;

Columns columns_in(std::string_view list) {
  Columns columns;
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    const std::size_t space = one.find(' ');
    if (space != std::string_view::npos) columns.emplace(one.substr(0, space), one.substr(space + 1));
    list.remove_prefix(std::min(one.size() + 1, list.size()));
  }
  return columns;
}

// character varying(255)
std::size_t limit_in(std::string_view type) {
  const std::size_t open = type.find('(');
  std::size_t limit = 0;
  if (open != std::string_view::npos)
    std::from_chars(type.data() + open + 1, type.data() + type.size(), limit);
  return limit;
}

bool is_text(std::string_view type) { return type == "text" || type.starts_with("character varying"); }
bool is_time(std::string_view type) {
  return type == "timestamp without time zone" || type == "timestamp(6) without time zone";
}
bool is_bigint(std::string_view type) { return type == "bigint"; }

struct Need {
  const char* column;
  bool (*fits)(std::string_view);
  const char* type;
};
constexpr Need needs[] = {{"key", is_text, "text or varchar"},
                          {"locked_by", is_text, "text or varchar"},
                          {"locked_at", is_time, "timestamp without time zone"},
                          {"locked_until", is_time, "timestamp without time zone"},
                          {"sequence", is_bigint, "bigint"}};

std::string what_is_wrong(const Columns& columns) {
  for (const Need& need : needs) {
    const auto column = columns.find(need.column);
    const bool there = column != columns.end();
    if (there ? need.fits(column->second) : std::string_view(need.column) == "sequence") continue;
    return std::string("its column \"") + need.column + "\" is " +
           (there ? printable(column->second) : std::string("missing")) + " and has to be " + need.type;
  }
  return {};
}

void look_at_table(Hello& hello, const Answer& answer) {
  const std::string_view kind = answer.text(0, 6);
  const Columns columns = columns_in(answer.text(0, 8));
  hello.unlogged = answer.text(0, 7) != "p";
  hello.wrong = kind == "r" || kind == "p" ? what_is_wrong(columns) : "it is no table";
  hello.sequence = columns.contains("sequence");
  hello.one_row_per_key = answer.flag(0, 9);
  if (!hello.wrong.empty()) return;
  hello.longest_key = limit_in(columns.at("key"));
  hello.longest_holder = limit_in(columns.at("locked_by"));
}

}  // namespace

Hello say_hello(Connection& connection, const Tables& tables, Instant until) {
  Parameters parameters;
  const std::string quoted = tables.quoted();
  parameters.text(quoted);
  tables.schema().empty() ? parameters.nothing() : parameters.text(tables.schema());
  parameters.texts();
  for (const char* word : beside) parameters.add(name_of(tables, word));
  const Instant asked = BootClock::now();
  const Answer answer = connection.run(tables.expand(hello_sql), parameters, until);
  if (answer.trouble()) {
    Error error = statement_error(*answer.trouble(), connection.settings().name());
    if (error.in_doubt()) error.code = Errc::unavailable;  // only looked
    raise(std::move(error));
  }
  Hello hello{.tables = tables.in_schema(answer.text(0, 5)),
              .pooled = answer.number(0, 0) != connection.backend(),
              .standby = answer.flag(0, 2),
              .read_only = answer.flag(0, 3),
              .database = std::string(answer.text(0, 4)),
              .now = Micros(answer.number(0, 1)),
              .asked = asked,
              .answered = BootClock::now()};
  hello.table = !answer.is_null(0, 6);
  if (hello.table) look_at_table(hello, answer);
  const std::string there = "," + std::string(answer.text(0, 10)) + ",";
  for (const char* word : beside) {
    if (there.find("," + name_of(tables, word) + ",") == std::string::npos) hello.missing.emplace_back(word);
  }
  return hello;
}

void require_complete(const Hello& hello, const std::string& where) {
  const std::string table = "\"" + hello.tables.name() + "\"";
  if (hello.standby || hello.read_only) {
    raise(
        {Errc::refused, where + (hello.standby ? " is a standby" : " is read-only for this user") +
                            "; leases have to be written down: give the primary, or a user that may write"});
  }
  if (hello.table && !hello.wrong.empty())
    raise({Errc::refused, where + ": the table " + table + " cannot keep leases: " + hello.wrong});
  if (hello.complete()) return;
  const std::string what = !hello.table      ? "there is no table " + table
                           : !hello.sequence ? "the table " + table + " lacks the column \"sequence\""
                           : !hello.one_row_per_key
                               ? "the table " + table + " lacks its unique index on \"key\""
                               : "what we keep beside the table " + table + " is missing (" +
                                     hello.tables.beside(hello.missing.front()) + ")";
  raise({Errc::refused,
         what + " in the database \"" + printable(hello.database) + "\"; make it with: holdfast --store " +
             where + (hello.tables.name() == "locks" ? "" : "?table=" + hello.tables.name()) + " init"});
}

}  // namespace holdfast::postgres
