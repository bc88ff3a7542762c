// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/admin.h"

#include <algorithm>
#include <cassert>

#include "base/text.h"
#include "base/time.h"
#include "core/row.h"
#include "core/statement_list.h"
#include "core/table_version.h"
#include "stores/postgres/diagnosis.h"

namespace holdfast::postgres {
namespace {

using core::length_of;

constexpr std::int64_t one_part = 500;

constexpr Millis pause{200};  // for those who use a table that cannot be changed just now

// Of schema.sql: what creates that which the probe calls `word`.
std::string_view creating(const std::string& word) {
  const std::string wanted = "create_" + word;
  const auto* const found = std::find_if(std::begin(all_sql), std::end(all_sql),
                                         [&](const NamedSql& sql) { return sql.name == wanted; });
  assert(found != std::end(all_sql));
  return found->text;
}

}  // namespace

Answer PostgresStoreAdmin::ask(Connection& connection, const std::string& sql, Parameters& parameters,
                               Instant until) const {
  Answer answer = connection.run(sql, parameters, until);
  if (answer.trouble()) throw_failure(statement_error(*answer.trouble(), config_->name()));
  return answer;
}

void PostgresStoreAdmin::tell(Connection& connection, const std::string& sql, Instant until) const {
  Parameters none;
  ask(connection, sql, none, until);
}

bool PostgresStoreAdmin::make(Connection& connection, const Tables& tables, const std::string& statement,
                              Instant until) const {
  Parameters none;
  const Answer answer = connection.run(statement, none, until);
  if (!answer.trouble()) return true;
  const Trouble& trouble = *answer.trouble();
  if (is_contention(trouble.state)) return false;
  const std::string said = ": " + trouble.text + " (" + trouble.state + ")", locks = tables.quoted();
  if (trouble.state == "42501") {
    throw_failure({Errc::refused, config_->name() + ": this user may not create or complete the tables" +
                                      said + "; it needs GRANT CREATE ON SCHEMA \"" +
                                      printable(tables.schema()) + "\", and has to own the table " +
                                      printable(locks) +
                                      " if that exists; or let the owner run what this prints: " +
                                      store_command(config_->name(), "init --dry-run")});
  }
  if (trouble.state == "23505") {
    throw_failure({Errc::refused,
                   config_->name() + ": the table " + printable(locks) +
                       " has several rows for one key, but may have only one" + said +
                       "; find them with: SELECT key, count(*) FROM " + printable(locks) +
                       " GROUP BY key HAVING count(*) > 1; and keep of each key the row that is locked, or "
                       "else the one with the largest sequence"});
  }
  throw_failure(statement_error(trouble, config_->name()));
}

std::vector<std::string> PostgresStoreAdmin::missing(const ServerProbe& probe) const {
  require_known(probe, config_->name());
  for (const std::string& wrong : {probe.wrong, probe.wrong_jobs}) {
    if (!wrong.empty())
      throw_failure({Errc::refused, config_->name() + ": " + wrong + "; nothing was changed"});
  }
  if (!probe.schema) {
    const std::string& schema = probe.tables.schema();
    throw_failure(
        {Errc::refused, config_->name() +
                            (schema.empty() ? ": no schema of the search path exists"
                                            : ": there is no schema \"" + printable(schema) + "\"") +
                            " in the database \"" + printable(probe.database) +
                            "\", and init does not create one; run CREATE SCHEMA" +
                            (schema.empty() ? "" : " \"" + printable(schema) + "\"") + " first"});
  }
  std::vector<std::string> statements;
  const auto add = [&](std::string_view sql) { statements.push_back(probe.tables.expand(sql)); };
  if (!probe.table) add(text(Sql::create_locks));
  if (probe.table && !probe.sequence) add(text(Sql::add_sequence));
  if (!probe.one_row_per_key) add(text(Sql::create_index));
  for (const std::string& word : probe.missing) {
    add(creating(word));
    if (word == "state") add(text(probe.table ? Sql::fill_state_beside : Sql::fill_state_alone));
  }
  for (const std::string& word : probe.missing_jobs) add(creating(word));
  return statements;
}

// A table that is created now has the newest version.
void PostgresStoreAdmin::migrate(Connection& connection, const ServerProbe& probe,
                                 std::vector<std::string>& statements, Instant until) const {
  if (!probe.table_version.outdated()) return;
  const auto is_missing = [&](std::string_view word) {
    return std::find(probe.missing.begin(), probe.missing.end(), word) != probe.missing.end();
  };
  if (is_missing("state")) return;  // then the lock table is new, or not ours
  Parameters none;
  const Answer made = ask(connection, probe.tables.expand(text(Sql::made_by_init)), none, until);
  const bool ours = made.rows() > 0 && made.flag(0, 0);
  for (const NamedSql& sql : all_sql) {
    if (!core::migrates(sql.name, probe.table_version.version)) continue;
    const std::string_view table = core::migrated_table(sql.name);
    if (table == "locks" ? probe.table && ours : !is_missing(table))
      statements.push_back(probe.tables.expand(sql.text));
  }
}

std::vector<std::string> PostgresStoreAdmin::due(Connection& connection, const ServerProbe& probe,
                                                 Instant until) const {
  std::vector<std::string> statements = missing(probe);
  migrate(connection, probe, statements, until);
  return statements;
}

Result<std::vector<std::string>> PostgresStoreAdmin::plan(Instant until) {
  try {
    Connection connection(config_->settings, until);
    return due(connection, probe_server(connection, config_->tables, until), until);
  } catch (const Failure& failure) {
    return failure.error();
  }
}

Result<std::vector<std::string>> PostgresStoreAdmin::init(Instant until) {
  try {
    Connection connection(config_->settings, until);
    if (std::vector<std::string> none =
            due(connection, probe_server(connection, config_->tables, until), until);
        none.empty())
      return none;
    while (true) {
      if (auto done = try_init(connection, until)) return *std::move(done);
      tell(connection, "ROLLBACK", until);
      if (clamped_add(BootClock::now(), 2 * pause) >= until)
        throw_failure({Errc::unavailable,
                       config_->name() + ": the tables of \"" + printable(config_->tables.name()) +
                           "\" are in use by an open transaction, so init cannot change them; end that "
                           "transaction, or run init again later"});
      Parameters length;
      length.number(pause.count());
      ask(connection, "SELECT pg_sleep($1::bigint::float8 / 1000::float8)", length, until);
    }
  } catch (const Failure& failure) {
    return failure.error();
  }
}

// While a statement waits to change a table, every other user of the table waits behind it.  So it waits only
// for a moment, gives up, and is tried again.
std::optional<std::vector<std::string>> PostgresStoreAdmin::try_init(Connection& connection,
                                                                     Instant until) const {
  tell(connection, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", until);
  // Whoever comes second waits here, and then finds everything made.
  Parameters who;
  const std::string lock = "holdfast init " + config_->tables.name();
  who.text(lock);
  ask(connection, "SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0::bigint))", who, until);
  const ServerProbe probe = probe_server(connection, config_->tables, until);
  tell(connection, probe.tables.expand("SELECT {durable}"), until);
  std::vector<std::string> statements = due(connection, probe, until);
  tell(connection, "SET LOCAL lock_timeout = 100", until);
  for (const std::string& statement : statements) {
    if (!make(connection, probe.tables, statement, until)) return std::nullopt;
  }
  tell(connection, "COMMIT", until);
  return statements;
}

std::string PostgresStoreAdmin::statements() const {
  return core::statement_list(all_sql, [&](std::size_t i) {
    const bool theirs = all_sql[i].name.find("shedlock") != std::string_view::npos;
    return theirs && !config_->tables.beside_shedlock() ? "" : config_->tables.expand(all_sql[i].text);
  });
}

Result<Purged> PostgresStoreAdmin::purge(const Purge& what, Instant until) {
  try {
    Connection connection(config_->settings, until);
    const ServerProbe probe = probe_server(connection, config_->tables, until);
    require_complete(probe, config_->name());
    Purged purged;
    Parameters parameters;
    const std::string places = probe.tables.expand(text(Sql::purge_places));
    for (std::int64_t gone = one_part; gone == one_part;) {
      parameters.clear();
      gone = ask(connection, places, parameters.number(one_part), until).number(0, 0);
      purged.places += static_cast<std::uint64_t>(gone);
    }
    const std::string keys = probe.tables.expand(text(Sql::purge_keys));
    std::string behind;
    for (std::int64_t seen = one_part; seen == one_part;) {
      parameters.clear();
      parameters.text(behind).number(length_of(what.free_for)).number(one_part);
      const Answer answer = ask(connection, keys, parameters, until);
      seen = answer.number(0, 0);
      purged.keys += static_cast<std::uint64_t>(answer.number(0, 2));
      behind = answer.text(0, 1);
    }
    if (what.log_older_than != never) {
      parameters.clear();
      parameters.number(length_of(what.log_older_than));
      purged.log = static_cast<std::uint64_t>(
          ask(connection, probe.tables.expand(text(Sql::purge_log)), parameters, until).number(0, 0));
    }
    return purged;
  } catch (const Failure& failure) {
    Error error = failure.error();
    // What is gone is gone, and to ask again does no harm.
    if (error.in_doubt()) error.code = Errc::unavailable;
    return error;
  }
}

Result<Diagnosis> PostgresStoreAdmin::diagnose(Instant until) {
  try {
    return postgres::diagnose(*config_, until);
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (error.in_doubt()) error.code = Errc::unavailable;  // only looked
    return error;
  }
}

}  // namespace holdfast::postgres
