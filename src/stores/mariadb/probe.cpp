// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/probe.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>
#include <utility>

#include "stores/mariadb/layouts.h"
#include "stores/mariadb/sql.h"

namespace holdfast::mariadb {
namespace {

// A column as schema.sql creates it.
struct Column {
  std::string name, definition;
  std::string type;  // as information_schema begins it: "varbinary"; "key": the layout decides
  bool primary = false, unique = false;
  bool added = false;  // by a migration: a table has all of those, or none
};

bool is_added(std::string_view table, const std::string& column) {
  return std::any_of(std::begin(all_sql), std::end(all_sql), [&](const NamedSql& sql) {
    return core::migrates(sql.name, core::first_table_version) && core::migrated_table(sql.name) == table &&
           sql.text.find("ADD COLUMN " + column + " ") != std::string_view::npos;
  });
}

std::string type_in(std::string_view definition) {
  std::string type(definition.substr(0, definition.find(' ')));
  if (type == "{key_type}") return "key";
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
  return type.starts_with("datetime") ? type : type.substr(0, type.find('('));
}

// Whether "PRIMARY KEY (`key`, client)" lists the column.
bool is_listed(const std::string& column, std::string_view key) {
  std::string list;
  for (const char c : key.substr(key.find('(')))
    if (c != '`' && c != ' ') list += c == '(' || c == ')' ? ',' : c;
  return list.find("," + column + ",") != std::string::npos;
}

// The lines of CREATE TABLE: "  `by` VARBINARY(512) NOT NULL,", "  PRIMARY KEY (`key`, client)".
std::vector<Column> columns_of(std::string_view table) {
  std::vector<Column> columns;
  std::istringstream lines{std::string(text(statement_that_creates(table)))};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ")) continue;
    if (line.ends_with(',')) line.pop_back();
    line.erase(0, 2);
    const bool primary = line.starts_with("PRIMARY KEY ("), unique = line.starts_with("UNIQUE KEY ");
    for (Column& column : columns) {
      column.primary |= primary && is_listed(column.name, line);
      column.unique |= unique && is_listed(column.name, line);
    }
    if (primary || unique || line.starts_with("KEY ")) continue;
    const std::size_t space = line.find(' ');
    const std::size_t quote = line.starts_with('`') ? 1 : 0;
    const std::string name = line.substr(quote, space - 2 * quote);
    if (table == "darwin" && name == "id") continue;  // Java's alone
    columns.push_back({.name = name,
                       .definition = line,
                       .type = type_in(std::string_view(line).substr(space + 1)),
                       .primary = line.find("PRIMARY KEY") != std::string::npos,
                       .added = is_added(table, name)});
  }
  return columns;
}

std::size_t length_in(std::string_view text) {
  const std::size_t open = text.find('(');
  std::size_t length = 0;
  if (open != std::string_view::npos)
    std::from_chars(text.data() + open + 1, text.data() + text.size(), length);
  return length;
}

// What a column that was missing says of jobs that are there already, where zero or nothing means nothing.
constexpr std::pair<std::string_view, std::string_view> in_old_jobs[] = {
    {"queue", "'default'"}, {"state", "'dead'"},       {"max_attempts", "1"},
    {"lock_limit", "1"},    {"on_conflict", "'drop'"}, {"uniqueness", "'no'"},
};

// Compares the tables that there are with those of schema.sql.
class TableCheck {
 public:
  TableCheck(const StoreConfig& config, const Answer& tables, const Answer& columns, ServerProbe& probe)
      : tables_(config.tables), there_(tables), columns_(columns), probe_(probe) {}

  void run() {
    probe_.key_type = key_type();
    for (const std::string_view table : tables_.lease_tables()) {
      const bool first = probe_.wrong.empty();
      check_table(table, probe_.missing, probe_.wrong);
      if (first && !probe_.wrong.empty()) probe_.flaw = flaw_of(table);
    }
    for (const std::string_view table : tables_.job_tables())
      check_table(table, probe_.missing_jobs, probe_.wrong_jobs);
    probe_.longest_key = length_in(type_of("locks", "key"));
    probe_.longest_owner = length_in(type_of("locks", "locked_by"));
    probe_.ttl =
        type_of("locks", "ttl_ms").starts_with("bigint") && type_of("locks", "ttl_until") == "datetime(6)";
    probe_.table_version = {.version = default_of("state", "version"), .needs = default_of("state", "needs")};
    if (tables_.foreign() == nullptr) return;
    const ForeignLayout& foreign = *tables_.foreign();
    probe_.longest_key = std::min(probe_.longest_key, length_in(type_of(foreign.name, foreign.key)));
    probe_.longest_mark = length_in(type_of(foreign.name, foreign.owner));
  }

 private:
  // What `probe` of diagnosis.sql asks about columns.
  enum : std::size_t { in_table, name, type, index, collation, nullable, demanded, fallback };

  void check_table(std::string_view table, std::vector<std::string>& missing, std::string& wrong) const {
    const std::string engine = engine_of(tables_.name_of(table));
    if (engine.empty()) {
      missing.emplace_back(table);
    } else if (wrong.empty()) {
      const std::string what =
          engine == "InnoDB"
              ? what_is_wrong(table)
              : "its engine is " + engine +
                    ", but leases need InnoDB, which locks rows and survives a crash; run: " + alter(table) +
                    "ENGINE=InnoDB";
      if (!what.empty())
        wrong =
            "the table \"" + tables_.name_of(table) + "\" cannot be used: " + what +
            (table == "locks" ? "; if it belongs to another program, name another table with ?table=" : "");
    }
  }
  std::string alter(std::string_view table) const { return "ALTER TABLE `" + tables_.name_of(table) + "` "; }
  Flaw flaw_of(std::string_view table) const {
    if (engine_of(tables_.name_of(table)) != "InnoDB") return Flaw::engine;
    const auto key = find(table, "key");
    if (!key || columns_.text(*key, collation).empty()) return Flaw::column;
    const bool as_meant =
        tables_.foreign() != nullptr && probe_.key_type.ends_with(columns_.text(*key, collation));
    return as_meant ? Flaw::column : Flaw::collation;
  }
  bool is_foreign(std::string_view table) const { return !table.empty() && table == tables_.layout(); }
  // Where its table is created with ours.
  static std::size_t length_of_key(const ForeignLayout& foreign) {
    for (const Column& column : columns_of(foreign.name))
      if (column.name == foreign.key) return length_in(column.definition);
    return 0;
  }
  static bool same(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
  }
  std::string engine_of(const std::string& table_name) const {
    for (std::size_t i = 0; i < there_.rows.size(); ++i)
      if (same(there_.text(i, 0), table_name)) return std::string(there_.text(i, 1));
    return {};
  }
  // None: it is not there.
  std::optional<std::size_t> find(std::string_view table, std::string_view column) const {
    const std::string table_name = tables_.name_of(table);
    for (std::size_t i = 0; i < columns_.rows.size(); ++i)
      if (same(columns_.text(i, in_table), table_name) && same(columns_.text(i, name), column)) return i;
    return std::nullopt;
  }
  std::string_view type_of(std::string_view table, std::string_view column) const {
    const auto i = find(table, column);
    return i ? columns_.text(*i, type) : std::string_view();
  }
  std::int64_t default_of(std::string_view table, std::string_view column) const {
    const auto i = find(table, column);
    return i ? columns_.number(*i, fallback) : core::first_table_version;
  }
  // In another program's table `Name`, `name` and `Name ` may be one lock; so they have to be in ours.
  std::string key_type() const {
    const ForeignLayout* const foreign = tables_.foreign();
    if (foreign == nullptr) return "VARBINARY(512)";
    const auto i = find(foreign->name, foreign->key);
    const std::string folds =
        i ? std::string(columns_.text(*i, collation)) : probe_.settings["collation_database"];
    const std::size_t length = i ? length_in(columns_.text(*i, type)) : length_of_key(*foreign);
    return "VARCHAR(" + std::to_string(length) + ") CHARACTER SET " + folds.substr(0, folds.find('_')) +
           " COLLATE " + folds;
  }
  std::string what_is_wrong(std::string_view table) const {
    const std::vector<Column> needed = columns_of(table);
    const bool migrated = std::any_of(needed.begin(), needed.end(), [&](const Column& need) {
      return need.added && find(table, need.name);
    });
    for (const Column& need : needed) {
      if (need.added && !migrated) continue;
      const bool key = need.type == "key";
      const std::string wanted = !key ? need.type : tables_.foreign() != nullptr ? "varchar" : "varbinary";
      const auto i = find(table, need.name);
      const std::string what = "its column \"" + need.name + "\" ";
      if (!i) return what + "of type " + wanted + " is missing" + remedy_of(table, need);
      const std::string_view found = columns_.text(*i, type);
      if (need.type == "timestamp") {  // of ShedLock's page; either type holds the same
        if (!(found.starts_with("timestamp(") || found.starts_with("datetime(")) || length_in(found) < 3)
          return what + "is " + std::string(found) +
                 ", but has to have milliseconds; make it timestamp(3) or datetime(3)";
        continue;
      }
      if (!found.starts_with(wanted))
        return what + "is " + std::string(found) + ", but has to be " + wanted +
               (key && tables_.foreign() == nullptr
                    ? ": with another type, a collation can make two keys equal"
                    : "");
      if (key && tables_.foreign() != nullptr && !probe_.key_type.ends_with(columns_.text(*i, collation)))
        return what + "has the collation " + std::string(columns_.text(*i, collation)) +
               ", but has to have that of " + std::string(tables_.foreign()->key) + "; make it " +
               probe_.key_type;
      if (is_foreign(table) && need.name == tables_.foreign()->owner && length_in(found) < 32)
        return what + "is " + std::string(found) + ", but needs room for 32 letters";
      if (need.primary && columns_.text(*i, index) != "PRI")
        return what + "is not in the primary key, but has to be";
      if (need.unique && columns_.text(*i, index) != "UNI" && columns_.text(*i, index) != "PRI")
        return what + "needs a unique index of its own; without it, two owners could hold one lock";
      if (table == "locks" && need.name == "locked_by" && columns_.text(*i, nullable) == "NO")
        return what + "is NOT NULL, but has to be NULL while the key is free; allow NULL";
    }
    return extra(table, needed);
  }
  // Not to drop the table: there may be jobs in it.  In rows that are there already a column without a
  // default is zero or empty; of a time that would be none.
  std::string remedy_of(std::string_view table, const Column& need) const {
    if (need.primary || is_foreign(table)) return {};
    std::string definition = need.definition;
    if (definition.ends_with("DATETIME(6) NOT NULL")) definition += " DEFAULT '2000-01-01'";
    for (const auto& [column, value] : in_old_jobs)
      if (table == "jobs" && need.name == column) definition += " DEFAULT " + std::string(value);
    return "; run: " + alter(table) + "ADD COLUMN " +
           substitute(definition, [this](std::string_view) { return probe_.key_type; });
  }
  std::string extra(std::string_view table, const std::vector<Column>& needed) const {
    for (std::size_t i = 0; i < columns_.rows.size(); ++i) {
      if (!same(columns_.text(i, in_table), tables_.name_of(table))) continue;
      const std::string column(columns_.text(i, name));
      const bool ours = std::any_of(needed.begin(), needed.end(),
                                    [&](const Column& need) { return same(need.name, column); });
      const auto first =
          std::find_if(needed.begin(), needed.end(), [](const Column& c) { return c.primary; });
      if ((table == "locks" || is_foreign(table)) && first != needed.end() &&
          columns_.text(i, index) == "PRI" && !same(column, first->name))
        return "its primary key contains \"" + column + "\", but has to be \"" + first->name + "\" alone";
      if (!ours && columns_.text(i, nullable) == "NO" && columns_.number(i, demanded) == 1)
        return "its column \"" + column +
               "\" is NOT NULL without a default, but Holdfast inserts rows without it; give it a default, "
               "or allow NULL";
    }
    return {};
  }

  const Tables& tables_;
  const Answer& there_;
  const Answer& columns_;
  ServerProbe& probe_;
};

std::string list_of(const Tables& tables) {
  std::string list;
  for (const auto& some : {tables.lease_tables(), tables.job_tables()})
    for (const std::string_view table : some)
      list += (list.empty() ? "'" : ", '") + tables.name_of(table) + "'";
  return list;
}

// A dump without its data has the table and not the row, and so has an init that was ended in between.
bool has_state_row(Connection& connection, const StoreConfig& config, ServerProbe& probe, Instant until) {
  if (std::find(probe.missing.begin(), probe.missing.end(), "state") != probe.missing.end()) return false;
  if (!probe.wrong.empty()) return true;  // which is said first
  const Answers answers = connection.run(config.tables.sql(Sql::read_state_row), until);
  if (!answers.trouble) return !answers.back().rows.empty();
  if (!was_denied(answers.trouble->code)) throw_failure(statement_error(*answers.trouble, config.name));
  probe.denied = answers.trouble;
  return true;
}

[[noreturn]] void no_table(std::string_view table, const ServerProbe& probe, const StoreConfig& config) {
  throw_failure({Errc::unprepared, "there is no table \"" + config.tables.name_of(table) +
                                       "\" in the database \"" + printable(probe.database) +
                                       "\"; create it with: " + store_command(config.name, "init")});
}

}  // namespace

bool ServerProbe::is(std::string_view setting, std::string_view value) const {
  const auto found = settings.find(setting);
  return found != settings.end() && found->second == value;
}

int ServerProbe::release() const {
  int major = 0, minor = 0;
  const char* const end = version.data() + version.size();
  const auto [dot, error] = std::from_chars(version.data(), end, major);
  if (error == std::errc{} && dot != end) std::from_chars(dot + 1, end, minor);
  return 100 * major + minor;
}

ServerProbe probe_server(Connection& connection, const StoreConfig& config, Instant until) {
  // Another program's times are read and written in the server's zone, as it does; all others are in UTC.
  const std::string zone = config.tables.foreign() != nullptr ? "@@session.time_zone" : "'+00:00'";
  const std::string statements =
      config.tables.sql(Sql::probe, {{"zone", zone}, {"tables", list_of(config.tables)}});
  const Instant asked = BootClock::now();
  const Answers answers = connection.run(statements, until);
  if (answers.trouble) throw_failure(statement_error(*answers.trouble, config.name));
  enum : std::size_t { who = 2, settings, replicates, tables, columns };
  ServerProbe probe{.version = std::string(answers[who].text(0, 1)),
                    .database = std::string(answers[who].text(0, 2)),
                    .now = Micros(answers[who].number(0, 0)),
                    .asked = asked,
                    .answered = BootClock::now()};
  for (std::size_t i = 0; i < answers[settings].rows.size(); ++i)
    probe.settings.emplace(answers[settings].text(i, 0), answers[settings].text(i, 1));
  probe.clock_stands = answers[who].number(0, 3) == 1;
  if (!answers[replicates].rows.empty()) probe.replicates = answers[replicates].number(0, 1) > 0;
  TableCheck(config, answers[tables], answers[columns], probe).run();
  if (!has_state_row(connection, config, probe, until)) probe.missing.emplace_back("state_row");
  return probe;
}

std::string ServerProbe::wait_at_most(Millis patience) const {
  // MySQL has no such word; there a locked row is waited for a second, as `probe` of diagnosis.sql sets it.
  if (!mariadb()) return {};
  const std::string ms = std::to_string(1000 + std::clamp(patience, Millis(1), Millis(900)).count());
  return "SET STATEMENT max_statement_time = 0." + ms.substr(1) + " FOR ";
}

std::string no_state_row(const StoreConfig& config) {
  return "the table \"" + config.tables.name_of("state") + "\" of " + config.name +
         " has lost its only row; create it with: " + store_command(config.name, "init");
}

void require_known(const ServerProbe& probe, const StoreConfig& config) {
  if (probe.table_version.too_new())
    throw_failure({Errc::refused, config.name + ": the table \"" + config.tables.name() + "\"" +
                                      core::newer_tables(probe.table_version.needs)});
}

void require_complete(const ServerProbe& probe, const StoreConfig& config) {
  if (probe.too_old())
    throw_failure({Errc::refused, config.name + " has version " + printable(probe.version) +
                                      ", but leases need MariaDB 10.6 or MySQL 8.0; upgrade the server"});
  if (probe.replicates && !config.accepted().covers("mariadb.replica"))
    throw_failure({Errc::refused, config.name + " is a replica, and its primary does not get the leases that "
                                                "are written here; use the URL of the "
                                                "primary, or add accept=mariadb.replica to this one"});
  if (!probe.is("read_only", "OFF"))
    throw_failure({Errc::refused,
                   config.name + " is read-only, so no lease can be stored; use the URL of the primary"});
  if (probe.logs_statements())
    throw_failure({Errc::refused, config.name +
                                      ": leases do not work with a binary log in the format STATEMENT; set "
                                      "binlog_format = ROW or MIXED on the server"});
  require_known(probe, config);
  if (!probe.wrong.empty()) throw_failure({Errc::refused, config.name + ": " + probe.wrong});
  if (probe.denied) throw_failure(statement_error(*probe.denied, config.name));
  if (probe.missing.empty()) return;
  if (probe.missing.front() == "state_row") throw_failure({Errc::unprepared, no_state_row(config)});
  no_table(probe.missing.front(), probe, config);
}

void require_jobs(const ServerProbe& probe, const StoreConfig& config) {
  if (const std::string layout(config.tables.layout()); !layout.empty())
    throw_failure({Errc::refused, config.name + " cannot keep jobs: with layout=" + layout +
                                      ", the table's collation decides which keys are equal; use the native "
                                      "layout for jobs, without layout=" +
                                      layout});
  if (!probe.wrong_jobs.empty()) throw_failure({Errc::refused, config.name + ": " + probe.wrong_jobs});
  if (!probe.missing_jobs.empty()) no_table(probe.missing_jobs.front(), probe, config);
}

}  // namespace holdfast::mariadb
