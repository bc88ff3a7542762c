// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/probe.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "stores/mariadb/sql/probe.sql.h"
#include "stores/mariadb/sql/schema.sql.h"
#include "stores/mariadb/words.h"

namespace holdfast::mariadb {
namespace {

// As sql/schema.sql makes them.  "key": what the layout says.
struct NeededColumn {
  std::string_view table, column, type;
  bool primary = false, unique = false;
};
constexpr NeededColumn needed_columns[] = {
    {"locks", "key", "key", true},
    {"locks", "locked_by", "varbinary"},
    {"locks", "locked_at", "datetime(6)"},
    {"locks", "locked_until", "datetime(6)"},
    {"locks", "sequence", "bigint"},
    {"waiters", "key", "key", true},
    {"waiters", "client", "varbinary", true},
    {"waiters", "waiter", "varbinary"},
    {"waiters", "ticket", "bigint"},
    {"waiters", "until", "datetime(6)"},
    {"facts", "key", "key", true},
    {"facts", "token", "bigint"},
    {"facts", "detached", "tinyint"},
    {"facts", "note", "varbinary"},
    {"log", "id", "bigint", true},
    {"log", "at", "datetime(6)"},
    {"log", "key", "key"},
    {"log", "event", "varbinary"},
    {"log", "holder", "varbinary"},
    {"log", "token", "bigint"},
    {"log", "by", "varbinary"},
    {"log", "reason", "varbinary"},
    {"state", "one", "tinyint", true},
    {"state", "purged_token", "bigint"},
    {"jobs", "id", "bigint", true},
    {"jobs", "name", "varbinary"},
    {"jobs", "queue", "varbinary"},
    {"jobs", "args", "longblob"},
    {"jobs", "key", "varbinary"},
    {"jobs", "priority", "int"},
    {"jobs", "state", "varbinary"},
    {"jobs", "enqueued_at", "datetime(6)"},
    {"jobs", "run_at", "datetime(6)"},
    {"jobs", "due_at", "datetime(6)"},
    {"jobs", "started_at", "datetime(6)"},
    {"jobs", "finished_at", "datetime(6)"},
    {"jobs", "attempt", "int"},
    {"jobs", "crashes", "int"},
    {"jobs", "max_attempts", "int"},
    {"jobs", "lock_ttl_ms", "bigint"},
    {"jobs", "lock_fixed", "tinyint"},
    {"jobs", "lock_limit", "int"},
    {"jobs", "on_conflict", "varbinary"},
    {"jobs", "uniqueness", "varbinary"},
    {"jobs", "parked", "tinyint"},
    {"jobs", "holder", "varbinary"},
    {"jobs", "lock_key", "varbinary"},
    {"jobs", "lock_token", "bigint"},
    {"jobs", "duplicates", "bigint"},
    {"jobs", "error", "longblob"},
    {"jobs", "trail", "blob"},
    {"jobs", "slot", "varbinary", false, true},
    {"jobs", "ready_priority", "int"},
    {"jobs", "aside_until", "datetime(6)"},
    {"jobs", "claim_until", "datetime(6)"},
    {"jobs", "waits_for", "varbinary"},
    {"jobs", "over_at", "datetime(6)"},
    {"ticks", "name", "varbinary", true},
    {"ticks", "tick", "bigint"},
    {"ticks", "job", "bigint"},
    {"ticks", "taken_by", "varbinary"},
    {"ticks", "taken_at", "datetime(6)"},
    {"ticks", "success_at", "datetime(6)"},
    {"ticks", "until", "datetime(6)"},
    {"darwin", "processName", "varchar", false, true},
    {"darwin", "leaseUntil", "datetime"},
    {"darwin", "unlockKey", "varchar"},
};

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

// As schema.sql has it: "`by` VARBINARY(512) NOT NULL".
std::string definition_of(const NeededColumn& need) {
  const std::string column(need.column);
  const std::size_t table = schema_sql.find("CREATE TABLE IF NOT EXISTS {" + std::string(need.table) + "} (");
  const std::size_t from = std::min(schema_sql.find("\n  " + column + " ", table),
                                    schema_sql.find("\n  `" + column + "` ", table)) +
                           3;
  const std::string_view line = schema_sql.substr(from, schema_sql.find('\n', from) - from);
  return std::string(line.substr(0, line.size() - (line.ends_with(',') ? 1 : 0)));
}

// What is there, and what is to be thought of it.
class Look {
 public:
  Look(const StoreConfig& config, const Answer& tables, const Answer& columns, ServerProbe& probe)
      : tables_(config.tables), there_(tables), columns_(columns), probe_(probe) {}

  void look() {
    probe_.key_type = key_type();
    for (const std::string_view word : tables_.words()) {
      const bool first = probe_.wrong.empty();
      look_at(word, probe_.missing, probe_.wrong);
      if (first && !probe_.wrong.empty()) probe_.flaw = flaw_of(word);
    }
    for (const std::string_view word : tables_.job_words())
      look_at(word, probe_.missing_jobs, probe_.wrong_jobs);
    probe_.longest_key = length_in(type_of("locks", "key"));
    probe_.longest_owner = length_in(type_of("locks", "locked_by"));
  }

 private:
  enum Column : std::size_t { table, name, type, index, collation, nullable, demanded };

  void look_at(std::string_view word, std::vector<std::string>& missing, std::string& wrong) const {
    const std::string engine = engine_of(tables_.called(word));
    if (engine.empty()) {
      missing.emplace_back(word);
    } else if (wrong.empty()) {
      const std::string what =
          engine == "InnoDB"
              ? what_is_wrong(word)
              : "its engine is " + engine +
                    ", but leases need InnoDB, which locks rows and survives a crash; run: " + alter(word) +
                    "ENGINE=InnoDB";
      if (!what.empty())
        wrong =
            "the table \"" + tables_.called(word) + "\" cannot be used: " + what +
            (word == "locks" ? "; if it belongs to another program, name another table with ?table=" : "");
    }
  }
  std::string alter(std::string_view word) const { return "ALTER TABLE `" + tables_.called(word) + "` "; }
  Flaw flaw_of(std::string_view word) const {
    if (engine_of(tables_.called(word)) != "InnoDB") return Flaw::engine;
    const auto key = find(word, "key");
    if (!key || columns_.text(*key, collation).empty()) return Flaw::column;
    const bool as_meant = tables_.darwin() && probe_.key_type.ends_with(columns_.text(*key, collation));
    return as_meant ? Flaw::column : Flaw::collation;
  }
  static bool same(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
  }
  std::string engine_of(const std::string& called) const {
    for (std::size_t i = 0; i < there_.rows.size(); ++i)
      if (same(there_.text(i, 0), called)) return std::string(there_.text(i, 1));
    return {};
  }
  // None: it is not there.
  std::optional<std::size_t> find(std::string_view word, std::string_view column) const {
    const std::string called = tables_.called(word);
    for (std::size_t i = 0; i < columns_.rows.size(); ++i)
      if (same(columns_.text(i, table), called) && same(columns_.text(i, name), column)) return i;
    return std::nullopt;
  }
  std::string_view type_of(std::string_view word, std::string_view column) const {
    const auto i = find(word, column);
    return i ? columns_.text(*i, type) : std::string_view();
  }
  // In Darwin's table `Name`, `name` and `Name ` are one lock; so they have to be in ours.
  std::string key_type() const {
    if (!tables_.darwin()) return "VARBINARY(512)";
    const auto i = find("darwin", "processName");
    const std::string folds =
        i ? std::string(columns_.text(*i, collation)) : probe_.settings["collation_database"];
    return "VARCHAR(255) CHARACTER SET " + folds.substr(0, folds.find('_')) + " COLLATE " + folds;
  }
  std::string what_is_wrong(std::string_view word) const {
    for (const NeededColumn& need : needed_columns) {
      if (need.table != word) continue;
      const bool key = need.type == "key";
      const std::string_view wanted = !key ? need.type : tables_.darwin() ? "varchar" : "varbinary";
      const auto i = find(word, need.column);
      const std::string what = "its column \"" + std::string(need.column) + "\" ";
      if (!i) return what + "of type " + std::string(wanted) + " is missing" + remedy_of(need);
      const std::string_view found = columns_.text(*i, type);
      if (!found.starts_with(wanted))
        return what + "is " + std::string(found) + ", but has to be " + std::string(wanted) +
               (key && !tables_.darwin() ? ": with another type, a collation can make two keys equal" : "");
      if (key && tables_.darwin() && !probe_.key_type.ends_with(columns_.text(*i, collation)))
        return what + "has the collation " + std::string(columns_.text(*i, collation)) +
               ", but has to have that of processName; make it " + probe_.key_type;
      if (need.primary && columns_.text(*i, index) != "PRI")
        return what + "is not in the primary key, but has to be";
      if (need.unique && columns_.text(*i, index) != "UNI" && columns_.text(*i, index) != "PRI")
        return what + "needs a unique index of its own; without it, two owners could hold one lock";
      if (need.column == "locked_by" && columns_.text(*i, nullable) == "NO")
        return what + "is NOT NULL, but has to be NULL while the key is free; allow NULL";
    }
    return extra(word);
  }
  // Not to drop the table: there may be jobs in it.  In rows that are there already a column without a
  // default is zero or empty; of a time that would be none.
  std::string remedy_of(const NeededColumn& need) const {
    if (need.primary || need.table == "darwin") return {};
    std::string definition = definition_of(need);
    if (definition.ends_with("DATETIME(6) NOT NULL")) definition += " DEFAULT '2000-01-01'";
    for (const auto& [column, value] : in_old_jobs)
      if (need.table == "jobs" && need.column == column) definition += " DEFAULT " + std::string(value);
    return "; run: " + alter(need.table) + "ADD COLUMN " + with(definition, {{"key_type", probe_.key_type}});
  }
  std::string extra(std::string_view word) const {
    for (std::size_t i = 0; i < columns_.rows.size(); ++i) {
      if (!same(columns_.text(i, table), tables_.called(word))) continue;
      const std::string column(columns_.text(i, name));
      const bool ours = std::any_of(
          std::begin(needed_columns), std::end(needed_columns),
          [&](const NeededColumn& need) { return need.table == word && same(need.column, column); });
      if (word == "locks" && columns_.text(i, index) == "PRI" && !same(column, "key"))
        return "its primary key contains \"" + column + "\", but has to be \"key\" alone";
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
  for (const auto& words : {tables.words(), tables.job_words()})
    for (const std::string_view word : words)
      list += (list.empty() ? "'" : ", '") + tables.called(word) + "'";
  return list;
}

// A dump without its data has the table and not the row, and so has an init that was ended in between.
bool has_state_row(Connection& connection, const StoreConfig& config, ServerProbe& probe, Instant until) {
  if (std::find(probe.missing.begin(), probe.missing.end(), "state") != probe.missing.end()) return false;
  if (!probe.wrong.empty()) return true;  // which is said first
  const Answers answers = connection.run(config.tables.expand("SELECT 1 FROM {state} WHERE one = 1"), until);
  if (!answers.trouble) return !answers.back().rows.empty();
  if (!was_denied(answers.trouble->code)) throw_failure(statement_error(*answers.trouble, config.name));
  probe.denied = answers.trouble;
  return true;
}

[[noreturn]] void no_table(std::string_view word, const ServerProbe& probe, const StoreConfig& config) {
  throw_failure({Errc::unprepared, "there is no table \"" + config.tables.called(word) +
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
  // Darwin's times are in the server's zone, so that session keeps it; all others are in UTC.
  const std::string text = with(
      config.tables.expand(probe_sql),
      {{"zone", config.tables.darwin() ? "" : ", time_zone = '+00:00'"}, {"tables", list_of(config.tables)}});
  const Instant asked = BootClock::now();
  const Answers answers = connection.run(text, until);
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
  Look(config, answers[tables], answers[columns], probe).look();
  if (!has_state_row(connection, config, probe, until)) probe.missing.emplace_back("state_row");
  return probe;
}

std::string no_state_row(const StoreConfig& config) {
  return "the table \"" + config.tables.called("state") + "\" of " + config.name +
         " has lost its only row; create it with: " + store_command(config.name, "init");
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
  if (!probe.wrong.empty()) throw_failure({Errc::refused, config.name + ": " + probe.wrong});
  if (probe.denied) throw_failure(statement_error(*probe.denied, config.name));
  if (probe.missing.empty()) return;
  if (probe.missing.front() == "state_row") throw_failure({Errc::unprepared, no_state_row(config)});
  no_table(probe.missing.front(), probe, config);
}

void require_jobs(const ServerProbe& probe, const StoreConfig& config) {
  if (config.tables.darwin())
    throw_failure({Errc::refused, config.name + " cannot keep jobs: with layout=darwin, the table's "
                                                "collation decides which keys are equal; use the "
                                                "native layout for jobs, without layout=darwin"});
  if (!probe.wrong_jobs.empty()) throw_failure({Errc::refused, config.name + ": " + probe.wrong_jobs});
  if (!probe.missing_jobs.empty()) no_table(probe.missing_jobs.front(), probe, config);
}

}  // namespace holdfast::mariadb
