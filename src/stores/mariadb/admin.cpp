// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/admin.h"

#include <algorithm>

#include "core/row.h"
#include "stores/mariadb/layouts.h"
#include "stores/mariadb/sql.h"

namespace holdfast::mariadb {
namespace {

using core::length_of;

constexpr std::size_t one_part = 500;

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

std::vector<std::string> MariaStoreAdmin::missing(const ServerProbe& probe) const {
  for (const std::string& wrong : {probe.wrong, probe.wrong_jobs})
    if (!wrong.empty())
      throw_failure({Errc::refused, config_->name + ": " + wrong + "; nothing was changed"});
  if (probe.denied) throw_failure(statement_error(*probe.denied, config_->name));
  std::vector<std::string> statements;
  for (const auto& tables : {probe.missing, probe.missing_jobs})
    for (const std::string& table : tables)
      statements.push_back(config_->tables.schema(statement_that_creates(table), probe.key_type));
  return statements;
}

Result<std::vector<std::string>> MariaStoreAdmin::plan(Instant until) {
  try {
    Connection connection(*config_, until);
    return missing(probe_server(connection, *config_, until));
  } catch (const Failure& failure) {
    return undone(failure.error());
  }
}

// A statement that makes a table commits by itself; two who make the same at once do no harm.
Result<std::vector<std::string>> MariaStoreAdmin::init(Instant until) {
  try {
    Connection connection(*config_, until);
    const std::vector<std::string> statements = missing(probe_server(connection, *config_, until));
    for (const std::string& statement : statements) {
      const Answers answers = connection.run(statement, until);
      if (!answers.trouble) continue;
      if (answers.trouble->code != 1142 && answers.trouble->code != 1044)
        throw_failure(statement_error(*answers.trouble, config_->name));
      throw_failure(
          {Errc::refused, config_->name + ": this user may not create the tables: " + answers.trouble->text +
                              "; it needs GRANT CREATE ON `" + printable(config_->options.database) +
                              "`.*, or let the owner run what this prints: " +
                              store_command(config_->name, "init --dry-run")});
    }
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
