// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/admin.h"

#include <algorithm>

#include "core/row.h"
#include "stores/mariadb/darwin.h"
#include "stores/mariadb/diagnosis.h"
#include "stores/mariadb/sql/purge_keys.sql.h"
#include "stores/mariadb/sql/purge_places.sql.h"
#include "stores/mariadb/sql/schema.sql.h"
#include "stores/mariadb/words.h"

namespace holdfast::mariadb {
namespace {

using core::length_of;

constexpr std::size_t one_part = 500;

// One of schema.sql, with what is said there about it: "-- NAME: …", up to the next semicolon.
std::string_view statement_named(std::string_view name) {
  const std::string start = "\n-- " + std::string(name) + ": ";
  const std::size_t from = schema_sql.find(start) + 1;
  return schema_sql.substr(from, schema_sql.find(";\n", from) + 1 - from);
}

bool may_try_again(const Trouble& trouble) { return was_overtaken(trouble.code) || was_locked(trouble.code); }

}  // namespace

Answers MariaStoreAdmin::ask(Connection& connection, const std::string& text, Instant until) const {
  while (true) {
    Answers answers = connection.run(config_->tables.expand(text), until);
    if (!answers.trouble) return answers;
    if (!may_try_again(*answers.trouble) || BootClock::now() >= until)
      throw_failure(statement_error(*answers.trouble, config_->name));
  }
}

// What was read under lock is true no more when the transaction is undone: it has to be read again.
bool MariaStoreAdmin::commit(Connection& connection, const std::string& text, Instant until) const {
  const Answers answers =
      connection.run(config_->tables.expand(text + "COMMIT; SET wait_timeout = DEFAULT;"), until);
  if (!answers.trouble) return true;
  if (!may_try_again(*answers.trouble) || BootClock::now() >= until)
    throw_failure(statement_error(*answers.trouble, config_->name));
  ask(connection, "ROLLBACK", until);
  return false;
}

std::vector<std::string> MariaStoreAdmin::missing(const ServerProbe& probe) const {
  for (const std::string& wrong : {probe.wrong, probe.wrong_jobs})
    if (!wrong.empty())
      throw_failure({Errc::refused, config_->name + ": " + wrong + "; nothing was changed"});
  if (probe.denied) throw_failure(statement_error(*probe.denied, config_->name));
  std::vector<std::string> statements;
  for (const auto& words : {probe.missing, probe.missing_jobs})
    for (const std::string& word : words)
      statements.push_back(config_->tables.expand_for_people(statement_named(word), probe.key_type));
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
    const Answers part = ask(connection,
                             "SELECT `key` FROM {locks} WHERE `key` > " + tables.key(behind) +
                                 " ORDER BY `key` LIMIT " + std::to_string(one_part),
                             until);
    if (part.back().rows.empty()) return gone;
    const std::string last(part.back().text(part.back().rows.size() - 1, 0));
    const Answers free = ask(connection,
                             with(purge_keys_sql, {{"behind", tables.key(behind)},
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
      text = "UPDATE {state} SET purged_token = GREATEST(purged_token, " + std::to_string(largest) +
             "); DELETE FROM {facts} WHERE `key` IN (" + keys + "); DELETE FROM {locks} WHERE `key` IN (" +
             keys + "); ";
    // Else nobody would know any more that they are ours.
    if (!keys.empty() && tables.darwin())
      text += "DELETE FROM {darwin} WHERE processName IN (" + keys + ") AND RIGHT(unlockKey, " +
              std::to_string(darwin_suffix.size()) + ") = '" + std::string(darwin_suffix) + "'; ";
    if (!commit(connection, text, until)) continue;
    gone += found.rows.size();
    behind = last;
  }
}

Result<Purged> MariaStoreAdmin::purge(const Purge& what, Instant until) {
  try {
    Connection connection(*config_, until);
    require_complete(probe_server(connection, *config_, until), *config_);
    Purged purged;
    for (std::size_t found = one_part; found == one_part;) {
      const Answers dead =
          ask(connection, with(purge_places_sql, {{"many", std::to_string(one_part)}}), until);
      found = dead.back().rows.size();
      std::string places;
      for (std::size_t i = 0; i < found; ++i)
        places += (places.empty() ? "(" : ", (") + config_->tables.key(dead.back().text(i, 0)) + ", " +
                  hex(dead.back().text(i, 1)) + ")";
      if (!places.empty()) places = "DELETE FROM {waiters} WHERE (`key`, client) IN (" + places + "); ";
      if (!commit(connection, places, until)) {
        found = one_part;
        continue;
      }
      purged.places += found;
    }
    purged.keys = purge_keys(connection, what, until);
    if (what.log_older_than != never)
      purged.log = ask(connection,
                       "DELETE FROM {log} WHERE at <= {now} - INTERVAL " +
                           digits(length_of(what.log_older_than)) + " MICROSECOND",
                       until)
                       .back()
                       .affected;
    return purged;
  } catch (const Failure& failure) {
    return undone(failure.error());
  }
}

Result<Diagnosis> MariaStoreAdmin::diagnose(Instant until) {
  try {
    return mariadb::diagnose(*config_, until);
  } catch (const Failure& failure) {
    return undone(failure.error());
  }
}

}  // namespace holdfast::mariadb
