// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/findings.h"

#include <algorithm>

#include "base/text.h"
#include "core/findings.h"

namespace holdfast::mariadb {
namespace {

using core::FindingList;

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

void judge_replica(bool replicates, FindingList& found) {
  if (replicates)
    found.danger("mariadb.replica",
                 "this server is a replica: its primary does not know these leases, and replication may "
                 "overwrite them",
                 "use the URL of the primary");
}

// What connect() refuses, but for the tables.
void judge_refusals(const ServerProbe& probe, FindingList& found) {
  if (probe.too_old())
    found.danger("mariadb.version", name_of(probe) + " is too old: leases need MariaDB 10.6 or MySQL 8.0",
                 "upgrade the server");
  if (!probe.is("read_only", "OFF"))
    found.danger("mariadb.read-only", "the server is read-only: no lease can be stored",
                 "use the URL of the primary");
  if (probe.logs_statements())
    found.danger("mariadb.binlog-format",
                 "the binary log has the format STATEMENT, with which leases do not work",
                 "set binlog_format = ROW or MIXED");
}

const char* topic_of(Flaw flaw) {
  switch (flaw) {
    case Flaw::column: return "mariadb.columns";
    case Flaw::engine: return "mariadb.engine";
    case Flaw::collation: return "mariadb.collation";
  }
  return "";
}

void judge_tables(const Depth& depth, const ServerProbe& probe, const StoreConfig& config,
                  FindingList& found) {
  const std::string init = store_command(config.name, "init");
  if (!probe.wrong.empty())
    found.danger(topic_of(probe.flaw), probe.wrong, "change it to what docs/stores/mariadb.md describes");
  // Who lacks every grant on a table does not see it.
  else if (!probe.missing.empty() && depth.lacks.empty())
    found.warn("mariadb.tables",
               "the tables for leases (\"" + config.tables.name() +
                   "\" and those beside it) are missing or incomplete",
               init);
  if (!probe.wrong_jobs.empty())
    found.note("mariadb.jobs", "jobs do not work: " + probe.wrong_jobs,
               "repair that table; leases work without it");
  else if (probe.missing.empty() && !probe.missing_jobs.empty())
    found.note(
        "mariadb.jobs",
        "the tables for jobs are missing, or this user has no privilege on them; leases work without them",
        init + ", and grant what docs/stores/mariadb.md lists");
  if (!depth.lacks.empty())
    found.danger("mariadb.privileges",
                 "this user lacks privileges that a client needs: no lease can be acquired",
                 printable(in_a_row(depth.lacks)));
}

// Replicas that may be promoted.
void judge_replicas(const Depth& depth, FindingList& found) {
  constexpr const char* topic = "mariadb.semi-sync";
  if (depth.replicas == 0) return;
  const std::string enabled =
      either(depth.settings, "rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled");
  const std::string point =
      either(depth.settings, "rpl_semi_sync_source_wait_point", "rpl_semi_sync_master_wait_point");
  const std::string confirm =
      either(depth.status, "Rpl_semi_sync_source_clients", "Rpl_semi_sync_master_clients");
  const std::string works =
      either(depth.status, "Rpl_semi_sync_source_status", "Rpl_semi_sync_master_status");
  if (enabled != "ON")
    found.warn(topic, "the replicas are asynchronous: one that is promoted may lack the latest leases",
               "switch on semi-synchronous replication (rpl_semi_sync_…), with the wait point AFTER_SYNC");
  else if (confirm == "0")
    found.warn(topic, "no replica confirms what it received: one that is promoted may lack the latest leases",
               "switch on semi-synchronous replication at the replicas too (rpl_semi_sync_…_enabled)");
  else if (works == "OFF")
    found.warn(topic,
               "the replicas were too slow to confirm, so the server no longer waits for them: one that is "
               "promoted may lack the latest leases",
               "check the replicas and the network to them, or raise rpl_semi_sync_…_timeout");
  else if (point == "AFTER_COMMIT")
    found.warn(
        topic,
        "replicas confirm a commit after other clients can see it: a lease that was seen may be gone after "
        "a fail-over",
        "set rpl_semi_sync_…_wait_point = AFTER_SYNC");
}

// MySQL's group replication.
void judge_group(const Depth& depth, FindingList& found) {
  const bool knows_one = !either(depth.settings, "group_replication_group_name", "").empty();
  if (knows_one && depth.in_group &&
      either(depth.settings, "group_replication_single_primary_mode", "") == "OFF")
    found.warn("mariadb.group",
               "several servers of the group accept writes: each uses its own clock, and may not know yet "
               "what another has granted",
               "let all clients use one of them, or give the group one primary "
               "(group_replication_switch_to_single_primary_mode)");
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

}  // namespace

std::vector<Finding> findings_of(const ServerProbe& probe, const StoreConfig& config) {
  FindingList found;
  if (!probe.is("innodb_flush_log_at_trx_commit", "1"))
    found.warn("mariadb.flush-log",
               "innodb_flush_log_at_trx_commit is not 1: a crash of the server's machine can lose leases and "
               "tokens",
               "set innodb_flush_log_at_trx_commit = 1");
  if (probe.is("log_bin", "ON") && !probe.is("sync_binlog", "1"))
    found.warn("mariadb.sync-binlog",
               "sync_binlog is not 1: after a crash of the server's machine, its replicas may lack the "
               "latest leases",
               "set sync_binlog = 1");
  if (probe.is("wsrep_on", "ON"))
    found.warn("mariadb.galera",
               "this server is a node of a Galera cluster: nodes that cannot reach each other can both grant "
               "the same key",
               "let all clients use one node");
  judge_replica(probe.replicates, found);
  if (probe.clock_stands)
    found.warn("mariadb.sysdate",
               "sysdate_is_now is on: an acquire that waited for a row may be granted too late",
               "start the server without sysdate-is-now");
  if (config.tables.darwin())
    found.warn("mariadb.layout",
               "layout=darwin: times are local and in whole seconds, so a Java process can take over a lease "
               "when its time zone changes the clock",
               "switch to the native layout once no Java process uses the table");
  judge_refusals(probe, found);
  found.report_all_at_open();
  return found.take();
}

std::vector<Finding> findings_of(const Depth& depth, const ServerProbe& probe, const StoreConfig& config) {
  FindingList found;
  judge_tables(depth, probe, config, found);
  judge_replica(depth.replicates && !probe.replicates, found);
  judge_replicas(depth, found);
  judge_group(depth, found);
  // MariaDB tells it to everybody.
  if (depth.source_untold && !probe.mariadb())
    found.note("mariadb.unseen",
               "doctor cannot see whether the server is a replica: this user lacks REPLICATION CLIENT",
               "run doctor as a user who has it");
  if (probe.is("log_bin", "ON") && !sees_replicas(depth))
    found.note("mariadb.unseen",
               "doctor cannot see whether the server has replicas that confirm: this user lacks PROCESS",
               "run doctor as a user who has it");
  if (depth.servers > 1)
    found.danger("mariadb.several-servers",
                 std::to_string(depth.servers) +
                     " servers answer at this address: one does not know the leases of another, or not yet",
                 "use the URL of one server, or make the proxy send this user to the primary only");
  if (!depth.crowded.empty())
    found.warn(
        "mariadb.connections",
        "the server refused a further connection, and a client needs up to two: " + printable(depth.crowded),
        "raise MAX_USER_CONNECTIONS of the user or max_connections, or run fewer clients");
  const std::string cluster = either(depth.status, "wsrep_cluster_status", ""),
                    state = either(depth.status, "wsrep_local_state_comment", "");
  if (probe.is("wsrep_on", "ON") && (cluster != "Primary" || state != "Synced"))
    found.warn("mariadb.galera-state",
               "this node of the cluster is not in sync: " + printable(cluster) + ", " + printable(state),
               "use another node until it is");
  if (either(depth.settings, "innodb_snapshot_isolation", "") == "ON")
    found.note(
        "mariadb.snapshot-isolation",
        "innodb_snapshot_isolation is on: leases are not affected, but a transaction of yours that checks a "
        "token at REPEATABLE READ may fail with error 1020",
        "check tokens at READ COMMITTED");
  if (std::any_of(depth.held.begin(), depth.held.end(), is_powerful))
    found.note("mariadb.superuser",
               "this user has all privileges on all databases: far more than leases need",
               "use a user that has only the privileges that docs/stores/mariadb.md lists");
  return found.take();
}

std::string name_of(const ServerProbe& probe) {
  return (probe.mariadb() ? "MariaDB " : "MySQL ") +
         printable(probe.version.substr(0, probe.version.find('-')));
}

}  // namespace holdfast::mariadb
