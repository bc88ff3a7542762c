// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/admin.h"

#include <algorithm>

#include "core/row.h"
#include "core/statement_list.h"
#include "core/table_version.h"
#include "stores/mariadb/layouts.h"
#include "stores/mariadb/sql.h"

namespace holdfast::mariadb {
namespace {

using core::length_of;

constexpr std::size_t one_part = 500;

constexpr unsigned column_is_there = 1060;
constexpr Millis pause{500};  // for those who use a table that cannot be changed just now

bool may_try_again(const Trouble& trouble) { return was_overtaken(trouble.code) || was_locked(trouble.code); }

}  // namespace

Answers MariaStoreAdmin::ask(Connection& connection, const std::string& text, Instant until) const {
  while (true) {
    Answers answers = connection.run(text, until);
    if (!answers.trouble) return answers;
    if (!may_try_again(*answers.trouble) || BootClock::now() >= until)
      throw_failure(statement_error(*answers.trouble, config_->name));
  }
}

// What was read under lock is true no more when the transaction is undone: it has to be read again.
bool MariaStoreAdmin::commit(Connection& connection, const std::string& text, Instant until) const {
  const Answers answers = connection.run(text + config_->tables.sql(Sql::commit), until);
  if (!answers.trouble) return true;
  if (!may_try_again(*answers.trouble) || BootClock::now() >= until)
    throw_failure(statement_error(*answers.trouble, config_->name));
  ask(connection, config_->tables.sql(Sql::roll_back), until);
  return false;
}

std::vector<std::string> MariaStoreAdmin::due(const ServerProbe& probe) const {
  require_known(probe, *config_);
  for (const std::string& wrong : {probe.wrong, probe.wrong_jobs})
    if (!wrong.empty())
      throw_failure({Errc::refused, config_->name + ": " + wrong + "; nothing was changed"});
  if (probe.denied) throw_failure(statement_error(*probe.denied, config_->name));
  std::vector<std::string> statements;
  for (const auto& tables : {probe.missing, probe.missing_jobs})
    for (const std::string& table : tables)
      statements.push_back(config_->tables.schema(statement_that_creates(table), probe.key_type));
  // A table that is created now has the newest version.
  const auto is_missing = [](std::string_view table, const std::vector<std::string>& tables) {
    return std::find(tables.begin(), tables.end(), table) != tables.end();
  };
  for (std::size_t i = 0; i < sql_count; ++i) {
    const std::string_view table = core::migrated_table(all_sql[i].name);
    if (core::migrates(all_sql[i].name, probe.table_version.version) && !is_missing(table, probe.missing) &&
        !is_missing(table, probe.missing_jobs))
      statements.push_back(config_->tables.schema(static_cast<Sql>(i), probe.key_type));
  }
  return statements;
}

// While a statement waits to change a table, every other user of the table waits behind it.  So it waits only
// for a second, the shortest time that MySQL knows, gives up, and is tried again.
void MariaStoreAdmin::make(Connection& connection, const std::string& statement, Instant until) const {
  const auto fail = [&](Errc code, const std::string& why) { throw_failure({code, config_->name + why}); };
  while (true) {
    const Answers answers = connection.run(statement, until);
    if (!answers.trouble) return;
    const unsigned code = answers.trouble->code;
    if (code == column_is_there) return;  // another init was faster, or one was ended in between
    if (code == 1142 || code == 1044)
      fail(Errc::refused, ": this user may not create or change the tables: " + answers.trouble->text +
                              "; it needs GRANT CREATE, ALTER ON `" + printable(config_->options.database) +
                              "`.*, or let the owner run what this prints: " +
                              store_command(config_->name, "init --dry-run"));
    if (!was_locked(code)) throw_failure(statement_error(*answers.trouble, config_->name));
    if (clamped_add(BootClock::now(), 3 * pause) >= until)
      fail(Errc::unavailable,
           ": the tables of \"" + config_->tables.name() +
               "\" are in use by an open transaction, so init cannot change them; end that "
               "transaction, or run init again later");
    ask(connection, "SELECT SLEEP(" + std::to_string(pause.count()) + " / 1000)", until);
  }
}

Result<std::vector<std::string>> MariaStoreAdmin::plan(Instant until) {
  try {
    Connection connection(*config_, until);
    return due(probe_server(connection, *config_, until));
  } catch (const Failure& failure) {
    return undone(failure.error());
  }
}

// A statement that makes or changes a table commits by itself; two who do the same at once do no harm.
Result<std::vector<std::string>> MariaStoreAdmin::init(Instant until) {
  try {
    Connection connection(*config_, until);
    const std::vector<std::string> statements = due(probe_server(connection, *config_, until));
    ask(connection, "SET SESSION lock_wait_timeout = 1", until);
    for (const std::string& statement : statements) make(connection, statement, until);
    return statements;
  } catch (const Failure& failure) {
    return undone(failure.error());
  }
}

std::uint64_t MariaStoreAdmin::purge_keys(Connection& connection, const Purge& what, Instant until) const {
  const Tables& tables = config_->tables;
  std::uint64_t gone = 0;
  if (what.free_for == never) return gone;
  std::string behind;
  while (true) {
    const Answers part =
        ask(connection,
            tables.sql(Sql::next_keys, {{"behind", tables.key(behind)}, {"limit", std::to_string(one_part)}}),
            until);
    if (part.back().rows.empty()) return gone;
    const std::string last(part.back().text(part.back().rows.size() - 1, 0));
    const Answers free =
        ask(connection,
            tables.sql(Sql::lock_free_keys, {{"behind", tables.key(behind)},
                                             {"last", tables.key(last)},
                                             {"free_for", digits(length_of(what.free_for))}}),
            until);
    std::string keys;
    std::int64_t largest = 0;
    const Answer& found = free.back();
    for (std::size_t i = 0; i < found.rows.size(); ++i) {
      keys += (keys.empty() ? "" : ", ") + tables.key(found.text(i, 0));
      largest = std::max(largest, found.number(i, 1));
    }
    std::string text;
    if (!keys.empty())
      text = tables.sql(Sql::delete_keys, {{"keys", keys}, {"largest_token", std::to_string(largest)}});
    if (!keys.empty() && tables.foreign() != nullptr) text += tables.foreign()->purge(tables, keys);
    if (!commit(connection, text, until)) continue;
    gone += found.rows.size();
    behind = last;
  }
}

std::string MariaStoreAdmin::statements() const {
  return core::statement_list(all_sql, [&](std::size_t i) {
    const Tables& tables = config_->tables;
    for (const ForeignLayout* other : {&darwin_layout, &shedlock_layout})
      if (other != tables.foreign() && all_sql[i].name.find(other->name) != std::string_view::npos)
        return std::string();
    return core::lines_for(tables.schema(static_cast<Sql>(i), "{key_type}"), true);
  });
}

Result<Purged> MariaStoreAdmin::purge(const Purge& what, Instant until) {
  try {
    const Tables& tables = config_->tables;
    Connection connection(*config_, until);
    require_complete(probe_server(connection, *config_, until), *config_);
    Purged purged;
    for (std::size_t found = one_part; found == one_part;) {
      const Answers expired = ask(
          connection, tables.sql(Sql::lock_expired_waiters, {{"limit", std::to_string(one_part)}}), until);
      found = expired.back().rows.size();
      std::string positions;
      for (std::size_t i = 0; i < found; ++i)
        positions += (positions.empty() ? "(" : ", (") + tables.key(expired.back().text(i, 0)) + ", " +
                     hex(expired.back().text(i, 1)) + ")";
      const std::string text =
          positions.empty() ? "" : tables.sql(Sql::delete_waiters, {{"positions", positions}});
      if (!commit(connection, text, until)) {
        found = one_part;
        continue;
      }
      purged.places += found;
    }
    purged.keys = purge_keys(connection, what, until);
    if (what.log_older_than != never)
      purged.log =
          ask(connection,
              tables.sql(Sql::delete_log, {{"older_than", digits(length_of(what.log_older_than))}}), until)
              .back()
              .affected;
    return purged;
  } catch (const Failure& failure) {
    return undone(failure.error());
  }
}

}  // namespace holdfast::mariadb
