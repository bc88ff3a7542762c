// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/findings.h"

#include <algorithm>

#include "base/text.h"
#include "core/found.h"

namespace holdfast::postgres {
namespace {

constexpr std::int64_t many_dead = 10'000;
constexpr std::int64_t most_filled = 90;

using core::Found;

std::string in_a_row(const std::vector<std::string>& texts) {
  std::string row;
  for (const std::string& text : texts) row += (row.empty() ? "" : "; ") + text;
  return row;
}

void look_at_durability(const Server& server, const ServerProbe& probe, Found& found) {
  if (!server.fsync) {
    found.danger("postgres.fsync", "fsync is off: a crash of the server's machine can lose leases and tokens",
                 "set fsync = on");
    found.tell();
  }
  if (!server.full_page_writes) {
    found.danger("postgres.full-page-writes",
                 "full_page_writes is off: a crash of the server's machine can damage the tables",
                 "set full_page_writes = on");
    found.tell();
  }
  if (probe.table && probe.unlogged) {
    found.danger("postgres.unlogged", "the lock table is unlogged: a crash of the server empties it",
                 "ALTER TABLE … SET LOGGED");
    found.tell();
  }
  if (probe.standby)
    found.danger("postgres.recovery", "this is a standby: nothing can be written down here",
                 "name the primary");
  else if (probe.read_only)
    found.danger("postgres.read-only",
                 "transactions of this user are read-only: no lease can be written down",
                 "ALTER ROLE … SET default_transaction_read_only = off, or name a user that may write");
  if (server.asynchronous > 0)
    found.warn("postgres.standby",
               server.hidden
                   ? "there are receivers of its log, and none is named as synchronous: a standby among "
                     "them that is promoted may not have the last leases"
                   : "its standbys are asynchronous: one that is promoted may not have the last "
                     "leases",
               "name them in synchronous_standby_names");
  if (server.hidden)
    found.note("postgres.unseen",
               "how the receivers of its log are, and whether they confirm, was not told: this user lacks "
               "pg_monitor",
               "ask again as a user who has it");
}

// CockroachDB, Yugabyte.
bool has_several_primaries(std::string_view version) {
  return version.starts_with("CockroachDB") || version.find("-YB-") != std::string_view::npos;
}

void look_at_kind(const Server& server, Found& found) {
  if (has_several_primaries(server.version))
    found.warn("postgres.kind",
               "this is not PostgreSQL itself but " + printable(server.version) +
                   ": it has several primaries, ends statements that meet, and was not tried",
               "keep leases in PostgreSQL itself");
  else if (!server.version.starts_with("PostgreSQL "))
    found.note("postgres.kind", "this is not PostgreSQL itself but " + printable(server.version),
               "watch it: no test of ours has run there");
}

// What connect() refuses, and what init would make.
void look_at_tables(const ServerProbe& probe, Found& found) {
  const std::string table = "\"" + probe.tables.name() + "\"";
  const std::string init = "holdfast init";
  if (!probe.wrong.empty()) {
    found.danger("postgres.columns", probe.wrong, "make it as docs/stores/postgres.md describes it");
  } else if (probe.table && probe.sequence && !probe.one_row_per_key) {
    found.warn("postgres.tables",
               "the table " + table + " lacks its unique index on \"key\": no client uses it", init);
  } else if (!probe.complete()) {
    found.warn("postgres.tables",
               "what keeps leases is not there, or not all of it (" + table + " and what lies beside it)",
               init);
  }
  if (!probe.wrong_jobs.empty())
    found.note("postgres.jobs", "no jobs are kept: " + probe.wrong_jobs,
               "mend that table; leases do without");
  else if (probe.complete() && !probe.missing_jobs.empty())
    found.note("postgres.jobs", "the tables of jobs are not there, or not all of them; leases do without",
               init);
}

void look_at_account(const Depth& depth, Found& found) {
  if (depth.superuser)
    found.note("postgres.superuser", "this user is a superuser: it may do far more than leases need",
               "use a role that has the grants of docs/stores/postgres.md and no more");
  if (!depth.grants.empty())
    found.danger("postgres.privileges", "this user lacks what a client needs: no lease can be taken",
                 printable(in_a_row(depth.grants)));
  if (!depth.before_catalog.empty())
    found.warn(
        "postgres.search-path",
        "the search path names " + printable(depth.before_catalog) +
            " before pg_catalog: what is called there as a function or an operator of PostgreSQL's own is "
            "taken in its place",
        "ALTER ROLE … SET search_path, without pg_catalog: then it comes first");
  if (depth.namesakes > 0)
    found.warn("postgres.search-path",
               "everybody may make functions in " + printable(depth.writable) +
                   ", which is in the search path, and " + std::to_string(depth.namesakes) +
                   " there are called as PostgreSQL's own",
               "drop them, and REVOKE CREATE ON SCHEMA … FROM PUBLIC");
  else if (!depth.writable.empty())
    found.note(
        "postgres.search-path",
        "everybody may make functions in " + printable(depth.writable) + ", which is in the search path",
        "REVOKE CREATE ON SCHEMA … FROM PUBLIC");
}

// Whoever owns a table, or may add a trigger, has their SQL run by everybody who writes there.
void look_at_owners(const Depth& depth, Found& found) {
  if (!depth.strangers.empty())
    found.warn("postgres.owner",
               printable(depth.theirs) + " belongs to " + printable(depth.strangers) +
                   ", who is neither the owner of the database nor a superuser nor this user: with a "
                   "trigger there, an owner runs SQL as whoever takes a lease",
               "ALTER … OWNER TO the owner of the database; if it is not yours, name your own with "
               "?table=SCHEMA.locks; if you trust its owner as yourself, leave it as it is");
  if (!depth.hooks.empty())
    found.warn("postgres.triggers",
               "triggers, rules, or functions of defaults, constraints and indexes run with our statements, "
               "as this user: " +
                   printable(depth.hooks),
               "DROP what is not yours; know what the others do");
  if (!depth.filtered.empty())
    found.warn("postgres.row-security",
               "row security applies to this user: it may not see every lease, or not be let to write one: " +
                   printable(depth.filtered),
               "ALTER TABLE … DISABLE ROW LEVEL SECURITY, or a role with BYPASSRLS");
  if (!depth.no_tables.empty())
    found.danger(
        "postgres.columns",
        "a view or another object stands where a table of ours should be: " + printable(depth.no_tables),
        "if it is yours, drop it and run `holdfast init`; otherwise name another table with ?table=");
}

void look_at_way(const Depth& depth, const ServerProbe& probe, Found& found) {
  if (depth.servers > 1)
    found.danger("postgres.several-servers",
                 std::to_string(depth.servers) +
                     " servers answer by this one address: a lease of one is not known to the other",
                 "name one server, or several with target_session_attrs=read-write");
  if (!depth.crowded.empty())
    found.warn(
        "postgres.connections",
        "no further connection was let in, and a client needs up to three: " + printable(depth.crowded),
        "a higher CONNECTION LIMIT of the role, or max_connections, or fewer clients");
  if (depth.far && !(depth.in_tls && depth.verified))
    found.warn("postgres.tls",
               depth.in_tls
                   ? "the server did not have to prove its name: somebody else can answer in its place"
                   : "the connection to another machine is not encrypted: whoever is on the line can "
                     "read and change it",
               "sslmode=verify-full");
  if (!depth.hears && !probe.pooled)
    found.note("postgres.listen", "a notification did not arrive within two seconds: waiters poll",
               "see who holds up NOTIFY: SELECT * FROM pg_locks WHERE locktype = 'object' AND NOT granted");
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
  Found found;
  look_at_durability(server, probe, found);
  if (server.isolation != "read committed")
    found.note("postgres.isolation",
               "default_transaction_isolation is " + server.isolation +
                   " for this user: statements that meet are sent again; read committed is faster",
               "ALTER ROLE … SET default_transaction_isolation = 'read committed'");
  look_at_kind(server, found);
  if (server.queue_fills)
    found.warn(
        "postgres.notify-queue",
        "the queue of notifications is filling up, as somebody listens inside a transaction: when it is "
        "full, commits fail",
        "end that transaction");
  if (probe.pooled) {
    found.note("postgres.pooler",
               "there is a connection pooler in between: statements are not prepared, and waiters poll",
               "name the server itself; or set PgBouncer's server_login_retry to 1: otherwise it keeps "
               "clients out for 15 s after a restart of the server");
    found.tell();
  }
  return found.take();
}

std::vector<Finding> findings_of(const Depth& depth, const ServerProbe& probe) {
  Found found;
  look_at_tables(probe, found);
  look_at_account(depth, found);
  look_at_owners(depth, found);
  look_at_way(depth, probe, found);
  if (depth.synchronous_commit != "on" && depth.synchronous_commit != "remote_apply")
    found.note(
        "postgres.synchronous-commit",
        "synchronous_commit is " + printable(depth.synchronous_commit) +
            " for this user: leases are committed durably all the same, other things it writes are not",
        "ALTER ROLE … SET synchronous_commit = on");
  if (!depth.unlogged.empty())
    found.danger(
        "postgres.unlogged",
        "a crash of the server empties what lies beside the lock table: " + printable(depth.unlogged),
        "ALTER TABLE … SET LOGGED");
  if (depth.several_primaries)
    found.warn("postgres.kind", "BDR is installed: several primaries can grant one key at once",
               "keep leases in a database that has one primary");
  if (depth.aurora)
    found.note("postgres.kind", "this is Amazon Aurora: its storage is its own",
               "watch it: no test of ours has run there");
  if (depth.dead >= many_dead && depth.dead / 4 > depth.live)
    found.note("postgres.bloat",
               std::to_string(depth.dead) + " dead rows in the lock table: it is slower than it need be",
               "VACUUM it, and end transactions that stay open for hours");
  if (probe.table && depth.fillfactor > most_filled)
    found.note("postgres.fillfactor",
               "pages of the lock table are filled to the brim: a renewal has to find room on another one",
               "ALTER TABLE … SET (fillfactor = 70)");
  return found.take();
}

std::string name_in(std::string_view version) {
  const std::size_t first = version.find(' ');
  if (first == std::string_view::npos) return printable(version);
  const std::string_view rest = version.substr(first + 1);
  return printable(version.substr(0, first + 1 + std::min(rest.find_first_of(" ,"), rest.size())));
}

}  // namespace holdfast::postgres
