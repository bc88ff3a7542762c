// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/findings.h"

#include <algorithm>

#include "base/text.h"
#include "core/findings.h"

namespace holdfast::postgres {
namespace {

constexpr std::int64_t many_dead = 10'000;
constexpr std::int64_t most_filled = 90;

using core::FindingList;

std::string in_a_row(const std::vector<std::string>& texts) {
  std::string row;
  for (const std::string& text : texts) row += (row.empty() ? "" : "; ") + text;
  return row;
}

void look_at_durability(const Server& server, const ServerProbe& probe, FindingList& found) {
  if (!server.fsync) {
    found.danger("postgres.fsync", "fsync is off: a crash of the server's machine can lose leases and tokens",
                 "set fsync = on");
    found.report_at_open();
  }
  if (!server.full_page_writes) {
    found.danger("postgres.full-page-writes",
                 "full_page_writes is off: a crash of the server's machine can damage the tables",
                 "set full_page_writes = on");
    found.report_at_open();
  }
  if (probe.table && probe.unlogged) {
    found.danger("postgres.unlogged", "the lock table is unlogged: a crash of the server empties it",
                 "ALTER TABLE " + probe.tables.quoted() + " SET LOGGED");
    found.report_at_open();
  }
  if (probe.standby)
    found.danger("postgres.recovery", "this server is a standby: no lease can be stored",
                 "use the URL of the primary");
  else if (probe.read_only)
    found.danger("postgres.read-only", "transactions of this user are read-only: no lease can be stored",
                 "ALTER ROLE … SET default_transaction_read_only = off, or use a user that may write");
  if (server.asynchronous > 0)
    found.warn(
        "postgres.standby",
        server.hidden
            ? "processes receive the server's WAL and none of them is named as synchronous: a standby among "
              "them that is promoted may lack the latest leases"
            : "the standbys are asynchronous: one that is promoted may lack the latest leases",
        "name them in synchronous_standby_names");
  if (server.hidden)
    found.note(
        "postgres.unseen",
        "doctor cannot see the state of those that receive the server's WAL, nor whether they confirm: "
        "this user lacks pg_monitor",
        "run doctor as a user who has it");
}

// CockroachDB, Yugabyte.
bool has_several_primaries(std::string_view version) {
  return version.starts_with("CockroachDB") || version.find("-YB-") != std::string_view::npos;
}

void look_at_kind(const Server& server, FindingList& found) {
  if (has_several_primaries(server.version))
    found.warn(
        "postgres.kind",
        "this server is not PostgreSQL but " + printable(server.version) +
            ": it has several primaries, aborts statements that conflict, and Holdfast is not tested there",
        "keep leases in PostgreSQL");
  else if (!server.version.starts_with("PostgreSQL "))
    found.note("postgres.kind", "this server is not PostgreSQL but " + printable(server.version),
               "be careful: Holdfast is not tested there");
}

// What connect() refuses, and what init would make.
void look_at_tables(const ServerProbe& probe, const std::string& init, FindingList& found) {
  const std::string table = "\"" + probe.tables.name() + "\"";
  if (!probe.wrong.empty()) {
    found.danger("postgres.columns", probe.wrong, "change it to what docs/stores/postgres.md describes");
  } else if (probe.table && probe.sequence && !probe.one_row_per_key) {
    found.warn("postgres.tables",
               "the table " + table + " lacks the unique index on \"key\": no client can use it", init);
  } else if (!probe.complete()) {
    found.warn("postgres.tables",
               "the tables for leases (" + table + " and those beside it) are missing or incomplete", init);
  }
  if (!probe.wrong_jobs.empty())
    found.note("postgres.jobs", "jobs do not work: " + probe.wrong_jobs,
               "repair that table; leases work without it");
  else if (probe.complete() && !probe.missing_jobs.empty())
    found.note("postgres.jobs", "the tables for jobs are missing or incomplete; leases work without them",
               init);
}

void look_at_account(const Depth& depth, FindingList& found) {
  if (depth.superuser)
    found.note("postgres.superuser", "this user is a superuser: it may do far more than leases need",
               "use a role that has only the privileges that docs/stores/postgres.md lists");
  if (!depth.grants.empty())
    found.danger("postgres.privileges",
                 "this user lacks privileges that a client needs: no lease can be acquired",
                 printable(in_a_row(depth.grants)));
  if (!depth.before_catalog.empty())
    found.warn(
        "postgres.search-path",
        "the search path has " + printable(depth.before_catalog) +
            " before pg_catalog: a function or operator there is used instead of PostgreSQL's own with the "
            "same name",
        "ALTER ROLE … SET search_path without pg_catalog; PostgreSQL then searches pg_catalog first");
  if (depth.namesakes > 0)
    found.warn("postgres.search-path",
               "every user may create functions in " + printable(depth.writable) +
                   ", which is in the search path, and " + std::to_string(depth.namesakes) +
                   " there have names of PostgreSQL's own",
               "drop them, and REVOKE CREATE ON SCHEMA … FROM PUBLIC");
  else if (!depth.writable.empty())
    found.note(
        "postgres.search-path",
        "every user may create functions in " + printable(depth.writable) + ", which is in the search path",
        "REVOKE CREATE ON SCHEMA … FROM PUBLIC");
}

// Whoever owns a table, or may add a trigger, has their SQL run by everybody who writes there.
void look_at_owners(const Depth& depth, const std::string& init, FindingList& found) {
  if (!depth.strangers.empty())
    found.warn(
        "postgres.owner",
        printable(depth.theirs) + " belongs to " + printable(depth.strangers) +
            ", who is neither the owner of the database nor a superuser nor this user: a trigger of theirs "
            "would run with the rights of everyone who acquires a lease",
        "ALTER … OWNER TO the owner of the database; if the table is not yours, name your own with "
        "?table=SCHEMA.locks; if you trust its owner as yourself, leave it as it is");
  if (!depth.hooks.empty())
    found.warn(
        "postgres.triggers",
        "functions of others run with Holdfast's statements and the rights of this user (triggers, rules, or "
        "functions of defaults, constraints and indexes): " +
            printable(depth.hooks),
        "DROP those that you do not know");
  if (!depth.filtered.empty())
    found.warn("postgres.row-security",
               "row security applies to this user, so leases may be hidden from it or not writable: " +
                   printable(depth.filtered),
               "ALTER TABLE … DISABLE ROW LEVEL SECURITY, or use a role with BYPASSRLS");
  if (!depth.no_tables.empty())
    found.danger(
        "postgres.columns",
        "a view or another object has the name of a table that Holdfast needs: " + printable(depth.no_tables),
        "name another table with ?table=; or, if it is yours, drop it and run: " + init);
}

void look_at_way(const Depth& depth, const ServerProbe& probe, FindingList& found) {
  if (depth.servers > 1)
    found.danger("postgres.several-servers",
                 std::to_string(depth.servers) +
                     " servers answer at this address: one does not know the leases of another",
                 "use the URL of one server, or name several with target_session_attrs=read-write");
  if (!depth.crowded.empty())
    found.warn("postgres.connections",
               "the server refused a further connection, and a client needs up to three: " +
                   printable(depth.crowded),
               "raise the CONNECTION LIMIT of the role or max_connections, or run fewer clients");
  if (depth.far && !(depth.in_tls && depth.verified))
    found.warn("postgres.tls",
               depth.in_tls
                   ? "the server's certificate is not checked: another machine can answer in its place"
                   : "the connection to another machine is not encrypted: others on the network can "
                     "read and change it",
               "add sslmode=verify-full to the URL");
  if (!depth.hears && !probe.pooled)
    found.note("postgres.listen", "a notification did not arrive within two seconds: waiters have to poll",
               "see what blocks NOTIFY: SELECT * FROM pg_locks WHERE locktype = 'object' AND NOT granted");
}

}  // namespace

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
  FindingList found;
  look_at_durability(server, probe, found);
  if (server.isolation != "read committed")
    found.note("postgres.isolation",
               "default_transaction_isolation is " + server.isolation +
                   " for this user: statements that conflict have to be sent again, which is slower",
               "ALTER ROLE … SET default_transaction_isolation = 'read committed'");
  look_at_kind(server, found);
  if (server.queue_fills)
    found.warn("postgres.notify-queue",
               "the server's queue of notifications is filling up, because a session listens inside an open "
               "transaction: "
               "when the queue is full, commits fail",
               "end that transaction");
  if (probe.pooled) {
    found.note("postgres.pooler",
               "a connection pooler is in between: statements are not prepared, and waiters have to poll",
               "use the URL of the server itself, or set PgBouncer's server_login_retry to 1: otherwise it "
               "refuses clients for 15 s after a restart of the server");
    found.report_at_open();
  }
  return found.take();
}

std::vector<Finding> findings_of(const Depth& depth, const ServerProbe& probe, const std::string& store) {
  FindingList found;
  const std::string init = store_command(store, "init");
  look_at_tables(probe, init, found);
  look_at_account(depth, found);
  look_at_owners(depth, init, found);
  look_at_way(depth, probe, found);
  if (depth.synchronous_commit != "on" && depth.synchronous_commit != "remote_apply")
    found.note(
        "postgres.synchronous-commit",
        "synchronous_commit is " + printable(depth.synchronous_commit) +
            " for this user: its leases are committed durably nevertheless, but its other writes are not",
        "ALTER ROLE … SET synchronous_commit = on");
  if (!depth.unlogged.empty())
    found.danger("postgres.unlogged",
                 "tables beside the lock table are unlogged, so a crash of the server empties them: " +
                     printable(depth.unlogged),
                 "ALTER TABLE … SET LOGGED, for each of them");
  if (depth.several_primaries)
    found.warn("postgres.kind", "BDR is installed: several primaries can grant the same key at once",
               "keep leases in a database that has one primary");
  if (depth.aurora)
    found.note("postgres.kind", "this server is Amazon Aurora, which has its own storage",
               "be careful: Holdfast is not tested there");
  if (depth.dead >= many_dead && depth.dead / 4 > depth.live)
    found.note("postgres.bloat",
               "the lock table has " + std::to_string(depth.dead) + " dead rows, which make it slower",
               "VACUUM it, and end transactions that stay open for hours");
  if (probe.table && depth.fillfactor > most_filled)
    found.note("postgres.fillfactor",
               "the pages of the lock table are filled completely: each renewal has to write to another page",
               "ALTER TABLE " + probe.tables.quoted() + " SET (fillfactor = 70)");
  return found.take();
}

std::string name_in(std::string_view version) {
  const std::size_t first = version.find(' ');
  if (first == std::string_view::npos) return printable(version);
  const std::string_view rest = version.substr(first + 1);
  return printable(version.substr(0, first + 1 + std::min(rest.find_first_of(" ,"), rest.size())));
}

}  // namespace holdfast::postgres
