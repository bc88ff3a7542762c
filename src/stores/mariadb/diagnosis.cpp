// SPDX-License-Identifier: Apache-2.0
// A thorough look at a server, and at the way to it.

#include <algorithm>
#include <set>

#include "core/findings.h"
#include "stores/mariadb/admin.h"
#include "stores/mariadb/findings.h"
#include "stores/mariadb/sql.h"

namespace holdfast::mariadb {
namespace {

constexpr int questions = 20;   // on one connection: a proxy hands them to whoever is free
constexpr int connections = 4;  // besides: an address may lead to several servers in turn

// What a client needs, as docs/stores/mariadb.md grants it, and a column that it writes.
struct Need {
  std::string_view table;
  std::vector<std::string_view> privileges;
  std::string_view column;
};
const std::vector<Need>& needed() {
  static const std::vector<Need> all = {
      {"darwin", {"SELECT", "INSERT", "UPDATE", "DELETE"}, "unlockKey"},
      {"shedlock", {"SELECT", "INSERT", "UPDATE"}, "locked_by"},
      {"locks", {"SELECT", "INSERT", "UPDATE"}, "locked_by"},
      {"waiters", {"SELECT", "INSERT", "UPDATE", "DELETE"}, "waiter"},
      {"facts", {"SELECT", "INSERT", "UPDATE"}, "note"},
      {"log", {"SELECT", "INSERT"}, ""},
      {"state", {"SELECT"}, ""},
  };
  return all;
}

Sql statement_that_needs(std::string_view privilege) {
  if (privilege == "SELECT") return Sql::may_select;
  if (privilege == "INSERT") return Sql::may_insert;
  return privilege == "DELETE" ? Sql::may_delete : Sql::may_update;
}

class Diagnosing {
 public:
  Diagnosing(const StoreConfig& config, Instant until)
      : config_(config),
        until_(until),
        enough_(core::repeat_until(BootClock::now(), until)),
        connection_(config, until),
        probe_(probe_server(connection_, config, until)) {}

  Diagnosis run() {
    depth_.settings = pairs(Sql::replication_settings);
    // Who may not see the members takes one that knows its group for one of them.
    if (const Answer group = ask(Sql::count_group_members); !group.rows.empty())
      depth_.in_group = group.number(0, 0) > 0;
    depth_.status = pairs(Sql::replication_status);
    read_replication();
    const Answer grants = ask(Sql::show_grants);
    for (std::size_t i = 0; i < grants.rows.size(); ++i) depth_.held.emplace_back(grants.text(i, 0));
    read_privileges();
    read_servers();
    Diagnosis diagnosis{.server = name_of(probe_), .findings = findings_of(probe_, config_)};
    for (Finding& finding : findings_of(depth_, probe_, config_))
      diagnosis.findings.push_back(std::move(finding));
    diagnosis.grade = grade_of(Grade::B, diagnosis.findings);
    core::mark_accepted(diagnosis.findings, config_.accepted());
    return diagnosis;
  }

 private:
  // Who may not ask is answered nothing.
  Answer ask(Sql question) {
    const Answers answers = connection_.run(config_.tables.sql(question), until_);
    return answers.trouble || answers.each.empty() ? Answer{} : answers.back();
  }

  Depth::Named pairs(Sql question) {
    Depth::Named named;
    const Answer answer = ask(question);
    for (std::size_t i = 0; i < answer.rows.size(); ++i) named.emplace(answer.text(i, 0), answer.text(i, 1));
    return named;
  }

  void read_source() {
    constexpr std::size_t receives = 10, applies = 11;  // columns of either
    for (const Sql question : {Sql::replica_status, Sql::slave_status}) {
      const Answers answers = connection_.run(config_.tables.sql(question), until_);
      depth_.source_untold = answers.trouble || answers.each.empty();
      if (depth_.source_untold) continue;
      for (const Answer::Row& row : answers.back().rows) {
        if (row.size() <= applies) continue;
        depth_.replicates = depth_.replicates || row[receives] != "No" || row[applies] != "No";
      }
      return;
    }
  }

  void read_replication() {
    read_source();
    const Answer replicas = ask(Sql::count_replicas);
    if (!replicas.rows.empty()) depth_.replicas = replicas.number(0, 0);
    // MariaDB tells it to everybody.
    if (const auto told = depth_.status.find("Slaves_connected");
        told != depth_.status.end() && told->second != "0")
      depth_.replicas = std::max<std::int64_t>(depth_.replicas, 1);
  }

  void read_privileges() {
    const auto tables = config_.tables.lease_tables();
    const Answer self = ask(Sql::account);
    const std::string account = self.rows.empty() ? "…" : std::string(self.text(0, 0));
    for (const Need& need : needed()) {
      if (std::find(tables.begin(), tables.end(), need.table) == tables.end()) continue;
      const std::string table = "`" + config_.tables.name_of(need.table) + "`";
      std::string lacks;
      for (const std::string_view privilege : denied(need, table))
        lacks += (lacks.empty() ? "" : ", ") + std::string(privilege);
      if (!lacks.empty()) depth_.lacks.push_back("GRANT " + lacks + " ON " + table + " TO " + account);
    }
  }

  // All are tried at once, as the server may be far away; at the first that fails it stops, and we go on
  // behind it.
  std::vector<std::string_view> denied(const Need& need, const std::string& table) {
    std::vector<std::string_view> found;
    for (std::size_t next = 0; next < need.privileges.size();) {
      std::string all;
      for (std::size_t i = next; i < need.privileges.size(); ++i)
        all += config_.tables.sql(statement_that_needs(need.privileges[i]),
                                  {{"table", table}, {"column", std::string(need.column)}});
      const Answers answers = connection_.run(all, until_);
      if (!answers.trouble) break;
      next += answers.each.size();
      if (was_denied(answers.trouble->code)) found.push_back(need.privileges[next]);
      ++next;
    }
    return found;
  }

  void read_servers() {
    std::set<std::string> servers;
    const std::string who = config_.tables.sql(Sql::server_identity);
    const auto meet = [&](Connection& connection) {
      const Answers answers = connection.run(who, until_);
      if (answers.trouble) throw_failure(statement_error(*answers.trouble, config_.name));
      servers.emplace(answers.back().text(0, 0));
    };
    const auto in_time = [&] { return BootClock::now() < enough_; };
    for (int i = 0; i < questions && (i == 0 || in_time()); ++i) meet(connection_);
    try {
      for (int i = 0; i < connections && in_time(); ++i) {
        Connection another(config_, until_);
        meet(another);
      }
    } catch (const Failure& failure) {
      depth_.crowded = failure.error().detail;
    }
    depth_.servers = servers.size();
  }

  const StoreConfig& config_;
  const Instant until_;
  const Instant enough_;  // then nothing is asked again only to be sure
  Connection connection_;
  const ServerProbe probe_;
  Depth depth_;
};

}  // namespace

// On connections of its own.  Changes nothing.
Result<Diagnosis> MariaStoreAdmin::diagnose(Instant until) {
  try {
    return Diagnosing(*config_, until).run();
  } catch (const Failure& failure) {
    return undone(failure.error());
  }
}

}  // namespace holdfast::mariadb
