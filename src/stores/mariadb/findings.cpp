// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/findings.h"

#include <algorithm>

#include "base/text.h"
#include "core/findings.h"
#include "stores/mariadb/layouts.h"

namespace holdfast::mariadb {
namespace {

std::string in_a_row(const std::vector<std::string>& texts) {
  std::string row;
  for (const std::string& text : texts) row += (row.empty() ? "" : "; ") + text;
  return row;
}

// By either of its names: MySQL has changed them.
std::string either(const Depth::Named& named, std::string_view name, std::string_view other) {
  const auto found = named.find(name);
  if (found != named.end()) return found->second;
  const auto second = named.find(other);
  return second == named.end() ? "" : second->second;
}

// Who lacks PROCESS sees only itself; MariaDB counts replicas for everybody.
bool sees_replicas(const Depth& depth) {
  if (depth.status.contains("Slaves_connected")) return true;
  return std::any_of(depth.held.begin(), depth.held.end(), [](std::string_view grant) {
    const std::string_view words = grant.substr(0, grant.find(" ON *.* "));
    return words.size() < grant.size() &&
           (words.starts_with("GRANT ALL PRIVILEGES") || words.find("PROCESS") != std::string_view::npos);
  });
}

bool is_powerful(std::string_view grant) {
  if (grant.find(" ON *.* ") == std::string_view::npos) return false;
  const std::string_view words = grant.substr(0, grant.find(" ON *.* "));
  return words.starts_with("GRANT ALL PRIVILEGES") || words.find("SUPER") != std::string_view::npos;
}

std::string cluster_status(const Depth& depth) { return either(depth.status, "wsrep_cluster_status", ""); }
std::string node_state(const Depth& depth) { return either(depth.status, "wsrep_local_state_comment", ""); }

// Replicas that may be promoted, and do not confirm what they receive.  Each problem hides those after it.
enum class SemiSync : std::uint8_t { works, off, unconfirmed, given_up, after_commit };
SemiSync semi_sync_of(const Depth& depth) {
  if (depth.replicas == 0) return SemiSync::works;
  if (either(depth.settings, "rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled") != "ON")
    return SemiSync::off;
  if (either(depth.status, "Rpl_semi_sync_source_clients", "Rpl_semi_sync_master_clients") == "0")
    return SemiSync::unconfirmed;
  if (either(depth.status, "Rpl_semi_sync_source_status", "Rpl_semi_sync_master_status") == "OFF")
    return SemiSync::given_up;
  return either(depth.settings, "rpl_semi_sync_source_wait_point", "rpl_semi_sync_master_wait_point") ==
                 "AFTER_COMMIT"
             ? SemiSync::after_commit
             : SemiSync::works;
}

constexpr const char* replica_what =
    "this server is a replica: its primary does not know these leases, and replication may overwrite them";

// ---- what every client finds

struct ServerFacts {
  const ServerProbe& probe;
  const StoreConfig& config;
};

constexpr core::FindingRule<ServerFacts> server_rules[] = {
    {.topic = "mariadb.flush-log",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return !f.probe.is("innodb_flush_log_at_trx_commit", "1"); },
     .what = "innodb_flush_log_at_trx_commit is not 1: a crash of the server's machine can lose leases and "
             "tokens",
     .advice = "set innodb_flush_log_at_trx_commit = 1",
     .at_open = true},
    {.topic = "mariadb.sync-binlog",
     .severity = Severity::warning,
     .applies =
         [](const ServerFacts& f) { return f.probe.is("log_bin", "ON") && !f.probe.is("sync_binlog", "1"); },
     .what = "sync_binlog is not 1: after a crash of the server's machine, its replicas may lack the latest "
             "leases",
     .advice = "set sync_binlog = 1",
     .at_open = true},
    {.topic = "mariadb.galera",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return f.probe.is("wsrep_on", "ON"); },
     .what = "this server is a node of a Galera cluster: nodes that cannot reach each other can both grant "
             "the same key",
     .advice = "let all clients use one node",
     .at_open = true},
    {.topic = "mariadb.replica",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return f.probe.replicates; },
     .what = replica_what,
     .advice = "use the URL of the primary",
     .at_open = true},
    {.topic = "mariadb.sysdate",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return f.probe.clock_stands; },
     .what = "sysdate_is_now is on: an acquire that waited for a row may be granted too late",
     .advice = "start the server without sysdate-is-now",
     .at_open = true},
    {.topic = "mariadb.layout",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return f.config.tables.foreign() != nullptr; },
     .what = [](const ServerFacts& f) { return std::string(f.config.tables.foreign()->weakness); },
     .advice = "switch to the native layout once no Java process uses the table",
     .at_open = true},
    // What connect() refuses, but for the tables.
    {.topic = "mariadb.version",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return f.probe.too_old(); },
     .what =
         [](const ServerFacts& f) {
           return name_of(f.probe) + " is too old: leases need MariaDB 10.6 or MySQL 8.0";
         },
     .advice = "upgrade the server",
     .at_open = true,
     .blocks = true},
    {.topic = "mariadb.read-only",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return !f.probe.is("read_only", "OFF"); },
     .what = "the server is read-only: no lease can be stored",
     .advice = "use the URL of the primary",
     .at_open = true,
     .blocks = true},
    {.topic = "mariadb.binlog-format",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return f.probe.logs_statements(); },
     .what = "the binary log has the format STATEMENT, with which leases do not work",
     .advice = "set binlog_format = ROW or MIXED",
     .at_open = true},
};

// ---- what a diagnosis finds besides

struct DepthFacts {
  const Depth& depth;
  const ServerProbe& probe;
  const StoreConfig& config;

  std::string init() const { return store_command(config.name, "init"); }
  bool wrong(Flaw flaw) const { return !probe.wrong.empty() && probe.flaw == flaw; }
};

std::string wrong_table(const DepthFacts& f) { return f.probe.wrong; }
constexpr const char* change_table = "change it to what docs/stores/mariadb.md describes";

constexpr core::FindingRule<DepthFacts> depth_rules[] = {
    {.topic = "mariadb.columns",
     .severity = Severity::danger,
     .applies = [](const DepthFacts& f) { return f.wrong(Flaw::column); },
     .what = wrong_table,
     .advice = change_table,
     .blocks = true},
    {.topic = "mariadb.engine",
     .severity = Severity::danger,
     .applies = [](const DepthFacts& f) { return f.wrong(Flaw::engine); },
     .what = wrong_table,
     .advice = change_table},
    {.topic = "mariadb.collation",
     .severity = Severity::danger,
     .applies = [](const DepthFacts& f) { return f.wrong(Flaw::collation); },
     .what = wrong_table,
     .advice = change_table},
    // A user who lacks every grant on a table does not see it.
    {.topic = "mariadb.tables",
     .severity = Severity::warning,
     .applies =
         [](const DepthFacts& f) {
           return f.probe.wrong.empty() && !f.probe.missing.empty() && f.depth.lacks.empty();
         },
     .what =
         [](const DepthFacts& f) {
           return "the tables for leases (\"" + f.config.tables.name() +
                  "\" and those beside it) are missing or incomplete";
         },
     .advice = [](const DepthFacts& f) { return f.init(); },
     .blocks = true},
    {.topic = "mariadb.jobs",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return !f.probe.wrong_jobs.empty(); },
     .what = [](const DepthFacts& f) { return "jobs do not work: " + f.probe.wrong_jobs; },
     .advice = "repair that table; leases work without it"},
    {.topic = "mariadb.jobs",
     .severity = Severity::note,
     .applies =
         [](const DepthFacts& f) {
           return f.probe.wrong_jobs.empty() && f.probe.missing.empty() && !f.probe.missing_jobs.empty();
         },
     .what = "the tables for jobs are missing, or this user has no privilege on them; leases work without "
             "them",
     .advice =
         [](const DepthFacts& f) { return f.init() + ", and grant what docs/stores/mariadb.md lists"; }},
    {.topic = "mariadb.privileges",
     .severity = Severity::danger,
     .applies = [](const DepthFacts& f) { return !f.depth.lacks.empty(); },
     .what = "this user lacks privileges that a client needs: no lease can be acquired",
     .advice = [](const DepthFacts& f) { return printable(in_a_row(f.depth.lacks)); },
     .blocks = true},
    // Other servers of the same database.
    {.topic = "mariadb.replica",
     .severity = Severity::danger,
     .applies = [](const DepthFacts& f) { return f.depth.replicates && !f.probe.replicates; },
     .what = replica_what,
     .advice = "use the URL of the primary"},
    {.topic = "mariadb.semi-sync",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return semi_sync_of(f.depth) == SemiSync::off; },
     .what = "the replicas are asynchronous: one that is promoted may lack the latest leases",
     .advice = "switch on semi-synchronous replication (rpl_semi_sync_…), with the wait point AFTER_SYNC"},
    {.topic = "mariadb.semi-sync",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return semi_sync_of(f.depth) == SemiSync::unconfirmed; },
     .what = "no replica confirms what it received: one that is promoted may lack the latest leases",
     .advice = "switch on semi-synchronous replication at the replicas too (rpl_semi_sync_…_enabled)"},
    {.topic = "mariadb.semi-sync",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return semi_sync_of(f.depth) == SemiSync::given_up; },
     .what = "the replicas were too slow to confirm, so the server no longer waits for them: one that is "
             "promoted may lack the latest leases",
     .advice = "check the replicas and the network to them, or raise rpl_semi_sync_…_timeout"},
    {.topic = "mariadb.semi-sync",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return semi_sync_of(f.depth) == SemiSync::after_commit; },
     .what = "replicas confirm a commit after other clients can see it: a lease that was seen may be gone "
             "after a fail-over",
     .advice = "set rpl_semi_sync_…_wait_point = AFTER_SYNC"},
    {.topic = "mariadb.group",
     .severity = Severity::warning,
     .applies =
         [](const DepthFacts& f) {
           return !either(f.depth.settings, "group_replication_group_name", "").empty() && f.depth.in_group &&
                  either(f.depth.settings, "group_replication_single_primary_mode", "") == "OFF";
         },
     .what = "several servers of the group accept writes: each uses its own clock, and may not know yet what "
             "another has granted",
     .advice = "let all clients use one of them, or give the group one primary "
               "(group_replication_switch_to_single_primary_mode)"},
    // MariaDB shows it to everybody.
    {.topic = "mariadb.unseen",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return f.depth.source_untold && !f.probe.mariadb(); },
     .what = "doctor cannot see whether the server is a replica: this user lacks REPLICATION CLIENT",
     .advice = "run doctor as a user who has it"},
    {.topic = "mariadb.unseen",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return f.probe.is("log_bin", "ON") && !sees_replicas(f.depth); },
     .what = "doctor cannot see whether the server has replicas that confirm: this user lacks PROCESS",
     .advice = "run doctor as a user who has it"},
    {.topic = "mariadb.several-servers",
     .severity = Severity::danger,
     .applies = [](const DepthFacts& f) { return f.depth.servers > 1; },
     .what =
         [](const DepthFacts& f) {
           return std::to_string(f.depth.servers) +
                  " servers answer at this address: one does not know the leases of another, or not yet";
         },
     .advice = "use the URL of one server, or make the proxy send this user to the primary only"},
    {.topic = "mariadb.connections",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return !f.depth.crowded.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "the server refused a further connection, and a client needs up to two: " +
                  printable(f.depth.crowded);
         },
     .advice = "raise MAX_USER_CONNECTIONS of the user or max_connections, or run fewer clients"},
    {.topic = "mariadb.galera-state",
     .severity = Severity::warning,
     .applies =
         [](const DepthFacts& f) {
           return f.probe.is("wsrep_on", "ON") &&
                  (cluster_status(f.depth) != "Primary" || node_state(f.depth) != "Synced");
         },
     .what =
         [](const DepthFacts& f) {
           return "this node of the cluster is not in sync: " + printable(cluster_status(f.depth)) + ", " +
                  printable(node_state(f.depth));
         },
     .advice = "use another node until it is"},
    {.topic = "mariadb.snapshot-isolation",
     .severity = Severity::note,
     .applies =
         [](const DepthFacts& f) {
           return either(f.depth.settings, "innodb_snapshot_isolation", "") == "ON";
         },
     .what = "innodb_snapshot_isolation is on: leases are not affected, but a transaction of yours that "
             "checks a token at REPEATABLE READ may fail with error 1020",
     .advice = "check tokens at READ COMMITTED"},
    {.topic = "mariadb.superuser",
     .severity = Severity::note,
     .applies =
         [](const DepthFacts& f) {
           return std::any_of(f.depth.held.begin(), f.depth.held.end(), is_powerful);
         },
     .what = "this user has all privileges on all databases: far more than leases need",
     .advice = "use a user that has only the privileges that docs/stores/mariadb.md lists"},
};

}  // namespace

std::vector<std::string_view> finding_topics() { return core::topics_of(server_rules, depth_rules); }

std::vector<Finding> findings_of(const ServerProbe& probe, const StoreConfig& config) {
  return core::judged(server_rules, {probe, config});
}

std::vector<Finding> findings_of(const Depth& depth, const ServerProbe& probe, const StoreConfig& config) {
  return core::judged(depth_rules, {depth, probe, config});
}

std::string name_of(const ServerProbe& probe) {
  return (probe.mariadb() ? "MariaDB " : "MySQL ") +
         printable(probe.version.substr(0, probe.version.find('-')));
}

}  // namespace holdfast::mariadb
