// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/findings.h"

#include <algorithm>

#include "base/text.h"
#include "core/findings.h"

namespace holdfast::postgres {
namespace {

constexpr std::int64_t many_dead = 10'000;
constexpr std::int64_t most_filled = 90;

// CockroachDB, Yugabyte.
bool has_several_primaries(std::string_view version) {
  return version.starts_with("CockroachDB") || version.find("-YB-") != std::string_view::npos;
}

std::string in_a_row(const std::vector<std::string>& texts) {
  std::string row;
  for (const std::string& text : texts) row += (row.empty() ? "" : "; ") + text;
  return row;
}

// ---- what every client finds

struct ServerFacts {
  const Server& server;
  const ServerProbe& probe;
};

constexpr core::FindingRule<ServerFacts> server_rules[] = {
    {.topic = "postgres.fsync",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return !f.server.fsync; },
     .what = "fsync is off: a crash of the server's machine can lose leases and tokens",
     .advice = "set fsync = on",
     .at_open = true},
    {.topic = "postgres.full-page-writes",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return !f.server.full_page_writes; },
     .what = "full_page_writes is off: a crash of the server's machine can damage the tables",
     .advice = "set full_page_writes = on",
     .at_open = true},
    {.topic = "postgres.unlogged",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return f.probe.table && f.probe.unlogged; },
     .what = "the lock table is unlogged: a crash of the server empties it",
     .advice = [](const ServerFacts& f) { return "ALTER TABLE " + f.probe.tables.quoted() + " SET LOGGED"; },
     .at_open = true},
    {.topic = "postgres.recovery",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return f.probe.standby; },
     .what = "this server is a standby: no lease can be stored",
     .advice = "use the URL of the primary",
     .blocks = true},
    {.topic = "postgres.read-only",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return f.probe.read_only && !f.probe.standby; },
     .what = "transactions of this user are read-only: no lease can be stored",
     .advice = "ALTER ROLE … SET default_transaction_read_only = off, or use a user that may write",
     .blocks = true},
    {.topic = "postgres.standby",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return f.server.asynchronous > 0 && !f.server.hidden; },
     .what = "the standbys are asynchronous: one that is promoted may lack the latest leases",
     .advice = "name them in synchronous_standby_names"},
    {.topic = "postgres.standby",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return f.server.asynchronous > 0 && f.server.hidden; },
     .what = "processes receive the server's WAL and none of them is named as synchronous: a standby among "
             "them that is promoted may lack the latest leases",
     .advice = "name them in synchronous_standby_names"},
    {.topic = "postgres.unseen",
     .severity = Severity::note,
     .applies = [](const ServerFacts& f) { return f.server.hidden; },
     .what = "doctor cannot see the state of those that receive the server's WAL, nor whether they confirm: "
             "this user lacks pg_monitor",
     .advice = "run doctor as a user who has it"},
    {.topic = "postgres.isolation",
     .severity = Severity::note,
     .applies = [](const ServerFacts& f) { return f.server.isolation != "read committed"; },
     .what =
         [](const ServerFacts& f) {
           return "default_transaction_isolation is " + f.server.isolation +
                  " for this user: statements that conflict have to be sent again, which is slower";
         },
     .advice = "ALTER ROLE … SET default_transaction_isolation = 'read committed'"},
    {.topic = "postgres.kind",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return has_several_primaries(f.server.version); },
     .what =
         [](const ServerFacts& f) {
           return "this server is not PostgreSQL but " + printable(f.server.version) +
                  ": it has several primaries, aborts statements that conflict, and Holdfast is not tested "
                  "there";
         },
     .advice = "keep leases in PostgreSQL"},
    {.topic = "postgres.kind",
     .severity = Severity::note,
     .applies =
         [](const ServerFacts& f) {
           return !f.server.version.starts_with("PostgreSQL ") && !has_several_primaries(f.server.version);
         },
     .what =
         [](const ServerFacts& f) {
           return "this server is not PostgreSQL but " + printable(f.server.version);
         },
     .advice = "be careful: Holdfast is not tested there"},
    {.topic = "postgres.notify-queue",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return f.server.queue_fills; },
     .what = "the server's queue of notifications is filling up, because a session listens inside an open "
             "transaction: when the queue is full, commits fail",
     .advice = "end that transaction"},
    {.topic = "postgres.layout",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return f.probe.tables.beside_shedlock(); },
     .what =
         "layout=shedlock: a JVM whose clock is ahead, or that unlocks without looking whose the lock is, "
         "can take over a lease",
     .advice = "switch to the native layout once no Java process uses the table",
     .at_open = true},
    {.topic = "postgres.pooler",
     .severity = Severity::note,
     .applies = [](const ServerFacts& f) { return f.probe.pooled; },
     .what = "a connection pooler is in between: statements are not prepared, and waiters have to poll",
     .advice = "use the URL of the server itself, or set PgBouncer's server_login_retry to 1: otherwise it "
               "refuses clients for 15 s after a restart of the server",
     .at_open = true},
};

// ---- what a diagnosis finds besides

struct DepthFacts {
  const Depth& depth;
  const ServerProbe& probe;
  std::string init;  // the command that makes the tables
};

std::string quoted_table(const DepthFacts& f) { return "\"" + f.probe.tables.name() + "\""; }
bool lacks_unique_index(const DepthFacts& f) {
  return f.probe.wrong.empty() && f.probe.table && f.probe.sequence && !f.probe.one_row_per_key;
}

constexpr core::FindingRule<DepthFacts> depth_rules[] = {
    // What connect() refuses, and what init would make.
    {.topic = "postgres.columns",
     .severity = Severity::danger,
     .applies = [](const DepthFacts& f) { return !f.probe.wrong.empty(); },
     .what = [](const DepthFacts& f) { return f.probe.wrong; },
     .advice = "change it to what docs/stores/postgres.md describes",
     .blocks = true},
    {.topic = "postgres.tables",
     .severity = Severity::warning,
     .applies = lacks_unique_index,
     .what =
         [](const DepthFacts& f) {
           return "the table " + quoted_table(f) + " lacks the unique index on \"key\": no client can use it";
         },
     .advice = [](const DepthFacts& f) { return f.init; },
     .blocks = true},
    {.topic = "postgres.tables",
     .severity = Severity::warning,
     .applies =
         [](const DepthFacts& f) {
           return f.probe.wrong.empty() && !f.probe.complete() && !lacks_unique_index(f);
         },
     .what =
         [](const DepthFacts& f) {
           return "the tables for leases (" + quoted_table(f) +
                  " and those beside it) are missing or incomplete";
         },
     .advice = [](const DepthFacts& f) { return f.init; },
     .blocks = true},
    {.topic = "postgres.jobs",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return !f.probe.wrong_jobs.empty(); },
     .what = [](const DepthFacts& f) { return "jobs do not work: " + f.probe.wrong_jobs; },
     .advice = "repair that table; leases work without it"},
    {.topic = "postgres.jobs",
     .severity = Severity::note,
     .applies =
         [](const DepthFacts& f) {
           return f.probe.wrong_jobs.empty() && f.probe.complete() && !f.probe.missing_jobs.empty();
         },
     .what = "the tables for jobs are missing or incomplete; leases work without them",
     .advice = [](const DepthFacts& f) { return f.init; }},
    // The account.
    {.topic = "postgres.superuser",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return f.depth.superuser; },
     .what = "this user is a superuser: it may do far more than leases need",
     .advice = "use a role that has only the privileges that docs/stores/postgres.md lists"},
    {.topic = "postgres.privileges",
     .severity = Severity::danger,
     .applies = [](const DepthFacts& f) { return !f.depth.grants.empty(); },
     .what = "this user lacks privileges that a client needs: no lease can be acquired",
     .advice = [](const DepthFacts& f) { return printable(in_a_row(f.depth.grants)); },
     .blocks = true},
    {.topic = "postgres.search-path",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return !f.depth.before_catalog.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "the search path has " + printable(f.depth.before_catalog) +
                  " before pg_catalog: a function or operator there is used instead of PostgreSQL's own with "
                  "the "
                  "same name";
         },
     .advice = "ALTER ROLE … SET search_path without pg_catalog; PostgreSQL then searches pg_catalog first"},
    {.topic = "postgres.search-path",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return f.depth.namesakes > 0; },
     .what =
         [](const DepthFacts& f) {
           return "every user may create functions in " + printable(f.depth.writable) +
                  ", which is in the search path, and " + std::to_string(f.depth.namesakes) +
                  " there have names of PostgreSQL's own";
         },
     .advice = "drop them, and REVOKE CREATE ON SCHEMA … FROM PUBLIC"},
    {.topic = "postgres.search-path",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return f.depth.namesakes <= 0 && !f.depth.writable.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "every user may create functions in " + printable(f.depth.writable) +
                  ", which is in the search path";
         },
     .advice = "REVOKE CREATE ON SCHEMA … FROM PUBLIC"},
    // Who owns a table, or may add a trigger to it, has SQL run by everybody who writes there.
    {.topic = "postgres.owner",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return !f.depth.strangers.empty(); },
     .what =
         [](const DepthFacts& f) {
           return printable(f.depth.theirs) + " belongs to " + printable(f.depth.strangers) +
                  ", who is neither the owner of the database nor a superuser nor this user: a trigger of "
                  "theirs "
                  "would run with the rights of everyone who acquires a lease";
         },
     .advice = "ALTER … OWNER TO the owner of the database; if the table is not yours, name your own with "
               "?table=SCHEMA.locks; if you trust its owner as yourself, leave it as it is"},
    {.topic = "postgres.triggers",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return !f.depth.hooks.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "functions of others run with Holdfast's statements and the rights of this user (triggers, "
                  "rules, or functions of defaults, constraints and indexes): " +
                  printable(f.depth.hooks);
         },
     .advice = "DROP those that you do not know"},
    {.topic = "postgres.row-security",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return !f.depth.filtered.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "row security applies to this user, so leases may be hidden from it or not writable: " +
                  printable(f.depth.filtered);
         },
     .advice = "ALTER TABLE … DISABLE ROW LEVEL SECURITY, or use a role with BYPASSRLS"},
    {.topic = "postgres.columns",
     .severity = Severity::danger,
     .applies = [](const DepthFacts& f) { return !f.depth.no_tables.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "a view or another object has the name of a table that Holdfast needs: " +
                  printable(f.depth.no_tables);
         },
     .advice =
         [](const DepthFacts& f) {
           return "name another table with ?table=; or, if it is yours, drop it and run: " + f.init;
         },
     .blocks = true},
    // The way to the server.
    {.topic = "postgres.several-servers",
     .severity = Severity::danger,
     .applies = [](const DepthFacts& f) { return f.depth.servers > 1; },
     .what =
         [](const DepthFacts& f) {
           return std::to_string(f.depth.servers) +
                  " servers answer at this address: one does not know the leases of another";
         },
     .advice = "use the URL of one server, or name several with target_session_attrs=read-write"},
    {.topic = "postgres.connections",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return !f.depth.crowded.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "the server refused a further connection, and a client needs up to three: " +
                  printable(f.depth.crowded);
         },
     .advice = "raise the CONNECTION LIMIT of the role or max_connections, or run fewer clients"},
    {.topic = "postgres.tls",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return f.depth.far && f.depth.in_tls && !f.depth.verified; },
     .what = "the server's certificate is not checked: another machine can answer in its place",
     .advice = "add sslmode=verify-full to the URL"},
    {.topic = "postgres.tls",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return f.depth.far && !f.depth.in_tls; },
     .what = "the connection to another machine is not encrypted: others on the network can read and change "
             "it",
     .advice = "add sslmode=verify-full to the URL"},
    {.topic = "postgres.listen",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return !f.depth.hears && !f.probe.pooled; },
     .what = "a notification did not arrive within two seconds: waiters have to poll",
     .advice = "see what blocks NOTIFY: SELECT * FROM pg_locks WHERE locktype = 'object' AND NOT granted"},
    // How it stores leases.
    {.topic = "postgres.synchronous-commit",
     .severity = Severity::note,
     .applies =
         [](const DepthFacts& f) {
           return f.depth.synchronous_commit != "on" && f.depth.synchronous_commit != "remote_apply";
         },
     .what =
         [](const DepthFacts& f) {
           return "synchronous_commit is " + printable(f.depth.synchronous_commit) +
                  " for this user: its leases are committed durably nevertheless, but its other writes are "
                  "not";
         },
     .advice = "ALTER ROLE … SET synchronous_commit = on"},
    {.topic = "postgres.unlogged",
     .severity = Severity::danger,
     .applies = [](const DepthFacts& f) { return !f.depth.unlogged.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "tables that leases need are unlogged, so a crash of the server empties them: " +
                  printable(f.depth.unlogged);
         },
     .advice = "ALTER TABLE … SET LOGGED, for each of them"},
    {.topic = "postgres.kind",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return f.depth.several_primaries; },
     .what = "BDR is installed: several primaries can grant the same key at once",
     .advice = "keep leases in a database that has one primary"},
    {.topic = "postgres.kind",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return f.depth.aurora; },
     .what = "this server is Amazon Aurora, which has its own storage",
     .advice = "be careful: Holdfast is not tested there"},
    {.topic = "postgres.bloat",
     .severity = Severity::note,
     .applies =
         [](const DepthFacts& f) { return f.depth.dead >= many_dead && f.depth.dead / 4 > f.depth.live; },
     .what =
         [](const DepthFacts& f) {
           return "the lock table has " + std::to_string(f.depth.dead) + " dead rows, which make it slower";
         },
     .advice = "VACUUM it, and end transactions that stay open for hours"},
    {.topic = "postgres.fillfactor",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return f.probe.table && f.depth.fillfactor > most_filled; },
     .what = "the pages of the lock table are filled completely: each renewal has to write to another page",
     .advice =
         [](const DepthFacts& f) {
           return "ALTER TABLE " + f.probe.tables.quoted() + " SET (fillfactor = 70)";
         }},
};

}  // namespace

std::vector<std::string_view> finding_topics() { return core::topics_of(server_rules, depth_rules); }

Server server_in(const Answer& answer) {
  return {.fsync = answer.text(0, 0) != "off",
          .full_page_writes = answer.text(0, 1) != "off",
          .isolation = std::string(answer.text(0, 2)),
          .version = std::string(answer.text(0, 3)),
          .asynchronous = answer.number(0, 4),
          .hidden = answer.flag(0, 5),
          .queue_fills = answer.flag(0, 6)};
}

std::vector<Finding> findings_of(const Server& server, const ServerProbe& probe) {
  return core::judged(server_rules, {server, probe});
}

std::vector<Finding> findings_of(const Depth& depth, const ServerProbe& probe, const std::string& store) {
  return core::judged(depth_rules, {depth, probe, store_command(store, "init")});
}

std::string name_in(std::string_view version) {
  const std::size_t first = version.find(' ');
  if (first == std::string_view::npos) return printable(version);
  const std::string_view rest = version.substr(first + 1);
  return printable(version.substr(0, first + 1 + std::min(rest.find_first_of(" ,"), rest.size())));
}

}  // namespace holdfast::postgres
