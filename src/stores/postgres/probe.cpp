// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/probe.h"

#include <charconv>
#include <span>

#include "base/text.h"
#include "stores/postgres/shedlock.h"

namespace holdfast::postgres {
namespace {

// What lies beside the lock table: each has its create_WORD in schema.sql.
constexpr const char* beside[] = {"waiters", "facts", "log", "log_index", "state"};
// And what only jobs need.
constexpr const char* of_jobs[] = {"jobs",   "slots", "due",  "later", "claims",
                                   "parked", "over",  "keys", "ticks"};

std::string name_of(const Tables& tables, std::string_view word) {
  if (word == "shedlock") return tables.name();
  return word == "log_index" ? tables.beside("log_key") : tables.beside(word);
}

void look_at_table(ServerProbe& probe, const Answer& answer, const Columns& columns) {
  const std::string_view kind = answer.text(0, 6);
  probe.unlogged = answer.text(0, 7) != "p";
  const std::string wrong = kind == "r" || kind == "p"
                                ? what_is_wrong("locks", probe.tables.quoted(), columns)
                                : "it is not a table";
  if (!wrong.empty())
    probe.wrong = "the table \"" + probe.tables.name() + "\" cannot keep leases: " + wrong +
                  "; if it belongs to another program, name another table with ?table=";
  probe.sequence = columns.contains("sequence");
  probe.tables = probe.tables.with_ttl(has_ttl(columns));
  probe.one_row_per_key = answer.flag(0, 8);
  probe.keys_in_order = answer.flag(0, 12);
  if (!probe.wrong.empty()) return;
  probe.longest_key = limit_in(columns.at("key").type);
  probe.longest_owner = limit_in(columns.at("locked_by").type);
}

void look_beside_it(const Tables& tables, std::span<const char* const> words, const Answer& answer,
                    const ColumnsByTable& columns, std::vector<std::string>& missing, std::string& wrong) {
  const std::string there = "," + std::string(answer.text(0, 9)) + ",";
  for (const char* word : words) {
    const std::string name = name_of(tables, word);
    if (there.find("," + name + ",") == std::string::npos) {
      missing.emplace_back(word);
      continue;
    }
    const auto found = columns.find(name);
    const std::string why = what_is_wrong(word, tables.expand("{" + std::string(word) + "}"),
                                          found == columns.end() ? Columns{} : found->second);
    if (wrong.empty() && !why.empty()) wrong = "the table \"" + name + "\" cannot be used: " + why;
  }
}

// "needs 2" and a line's end: the number behind that word, as far as it is one.
std::int64_t number_behind(std::string_view word, std::string_view list, std::int64_t otherwise) {
  const std::size_t at = list.find(word);
  if (at == std::string_view::npos) return otherwise;
  const std::size_t digits = std::min(list.find_first_of("0123456789", at), list.size());
  std::from_chars(list.data() + digits, list.data() + list.size(), otherwise);
  return otherwise;
}

// Leases, and so jobs, are written down.
void require_writable(const ServerProbe& probe, const std::string& where) {
  if (!probe.standby && !probe.read_only) return;
  throw_failure(
      {Errc::refused,
       where + (probe.standby ? " is a standby, so no lease can be stored; use the URL of the primary"
                              : " is read-only for this user, so no lease can be stored; use a user "
                                "that may write")});
}

}  // namespace

ServerProbe probe_server(Connection& connection, const Tables& named, Instant until) {
  const Tables tables = named.beside_shedlock() ? where_shedlock_is(connection, named, until) : named;
  Parameters parameters;
  const std::string quoted = tables.quoted();
  parameters.text(quoted);
  tables.schema().empty() ? parameters.nothing() : parameters.text(tables.schema());
  parameters.texts();
  for (const char* word : beside) parameters.add(name_of(tables, word));
  for (const char* word : of_jobs) parameters.add(name_of(tables, word));
  const std::string state = name_of(tables, "state");
  parameters.text(state);
  const Instant asked = BootClock::now();
  const Answer answer = connection.run(tables.expand(text(Sql::probe)), parameters, until);
  if (answer.trouble()) {
    Error error = statement_error(*answer.trouble(), connection.settings().name());
    if (error.in_doubt()) error.code = Errc::unavailable;  // only looked
    throw_failure(std::move(error));
  }
  ServerProbe probe{.tables = tables.in_schema(answer.text(0, 5)),
                    .pooled = answer.number(0, 0) != connection.backend(),
                    .standby = answer.flag(0, 2),
                    .read_only = answer.flag(0, 3),
                    .database = std::string(answer.text(0, 4)),
                    .now = Micros(answer.number(0, 1)),
                    .asked = asked,
                    .answered = BootClock::now()};
  probe.table = !answer.is_null(0, 6);
  probe.schema = answer.flag(0, 11);
  const ColumnsByTable columns = columns_in(answer.text(0, 10));
  const auto own = columns.find("");
  if (probe.table) look_at_table(probe, answer, own == columns.end() ? Columns{} : own->second);
  const std::string_view versions = answer.text(0, 13);
  probe.table_version = {.version = number_behind("version ", versions, core::first_table_version),
                         .needs = number_behind("needs ", versions, core::first_table_version)};
  look_beside_it(probe.tables, beside, answer, columns, probe.missing, probe.wrong);
  if (tables.beside_shedlock())
    look_at_shedlock(connection, probe, until);
  else
    look_beside_it(probe.tables, of_jobs, answer, columns, probe.missing_jobs, probe.wrong_jobs);
  return probe;
}

void require_known(const ServerProbe& probe, const std::string& where) {
  if (probe.table_version.too_new())
    throw_failure({Errc::refused, where + ": the table \"" + probe.tables.name() + "\"" +
                                      core::newer_tables(probe.table_version.needs)});
}

void require_complete(const ServerProbe& probe, const std::string& where) {
  const std::string table = "\"" + probe.tables.name() + "\"";
  require_writable(probe, where);
  require_known(probe, where);
  if (!probe.wrong.empty()) throw_failure({Errc::refused, where + ": " + probe.wrong});
  if (probe.complete()) return;
  const std::string what =
      !probe.table      ? "there is no table " + (probe.tables.beside_shedlock()
                                                      ? "\"" + probe.tables.beside("locks") + "\" beside " + table
                                                      : table)
      : !probe.sequence ? "the table " + table + " lacks the column \"sequence\""
      : !probe.one_row_per_key
          ? "the table " + table + " lacks the unique index on \"key\""
          : "\"" + name_of(probe.tables, probe.missing.front()) + "\" is missing beside the table " + table;
  throw_failure({Errc::unprepared, what + " in the database \"" + printable(probe.database) +
                                       "\"; create it with: " + store_command(where, "init")});
}

void require_jobs(const ServerProbe& probe, const std::string& where) {
  if (probe.tables.beside_shedlock())
    throw_failure({Errc::refused, where + " cannot keep jobs: with layout=shedlock, ShedLock's table decides "
                                          "about locks too; use the native layout for jobs, without "
                                          "layout=shedlock"});
  require_complete(probe, where);
  if (!probe.wrong_jobs.empty()) throw_failure({Errc::refused, where + ": " + probe.wrong_jobs});
  if (probe.missing_jobs.empty()) return;
  throw_failure({Errc::unprepared, "\"" + name_of(probe.tables, probe.missing_jobs.front()) +
                                       "\", which jobs need, is missing beside the table \"" +
                                       probe.tables.name() + "\" in the database \"" +
                                       printable(probe.database) +
                                       "\"; create it with: " + store_command(where, "init")});
}

Probed connect_to(const StoreConfig& config, decltype(require_complete)& require, Instant until) {
  auto connection = std::make_unique<Connection>(config.settings, until);
  ServerProbe probe = probe_server(*connection, config.tables, until);
  require(probe, config.name());
  if (probe.pooled) connection->stop_preparing();
  Statements statements(probe.tables);
  core::StoreOffset offset;
  offset.learn(probe.asked, probe.answered, probe.now);
  return {std::move(connection), std::move(probe), std::move(statements), offset};
}

}  // namespace holdfast::postgres
