// SPDX-License-Identifier: Apache-2.0
#include <libpq-fe.h>

#include "bench/disk.h"
#include "bench/job_copies.h"
#include "bench/raw_postgres.h"
#include "bench/sql_keys.h"
#include "bench/subject.h"
#include "bench/workload.h"
#include "tests/support/servers/postgres_server.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

// With the durability that PostgreSQL has if nobody changes it: every commit waits for the disk.
class PostgresSubject final : public Subject {
 public:
  PostgresSubject() : server_({.lines = {"max_connections = 500"}}), watching_(connect_postgres(url())) {
    make_ready(url());
    const std::string version = PQparameterStatus(watching_.get(), "server_version");
    naming_.store = "PostgreSQL " + version.substr(0, version.find(' '));
  }

  const Naming& naming() const override { return naming_; }
  std::string url() const override { return server_.url(); }
  std::unique_ptr<ByHand> by_hand() override { return std::make_unique<RawPostgres>(url()); }
  std::unique_ptr<Wire> wire() override { return std::make_unique<NotifyWire>(url()); }

  std::unique_ptr<KeysByHand> keys_by_hand(const std::string& locks) override {
    SqlWords words{.key = "key",
                   .name = "'free-' || lpad(n.i::text, 7, '0')",
                   .numbers =
                       [](std::uint64_t from, std::uint64_t to) {
                         return "generate_series(" + std::to_string(from) + ", " + std::to_string(to) +
                                ") AS n(i)";
                       },
                   .tidy = "VACUUM ANALYZE " + locks};
    return std::make_unique<SqlKeys>(
        locks, std::move(words),
        [connection = std::make_shared<Connection>(connect_postgres(url()))](const std::string& sql) {
          return static_cast<std::size_t>(PQntuples(run_sql(connection->get(), sql).get()));
        });
  }

  std::vector<Rival> rivals(std::vector<std::string>&) override {
    const auto raw = std::make_shared<RawPostgres>(url());
    return {{"advisory locks", Role::floor,
             [raw](double seconds) { return rate_of(seconds, [&] { raw->advisory_pair(1); }); }},
            {"twice SELECT 1", Role::floor,
             [raw](double seconds) { return rate_of(seconds, [&] { raw->ask(), raw->ask(); }); }},
            twice_to_disk(server_.folder())};
  }

  bool copy_jobs(const std::string& locks, std::uint64_t count) override {
    const Connection connection = connect_postgres(url());
    const auto run = [&](const std::string& sql) { return run_sql(connection.get(), sql); };
    const auto ask = [&](const std::string& sql) { return std::string(PQgetvalue(run(sql).get(), 0, 0)); };
    const std::string table = jobs_beside(locks);
    const std::string columns =
        ask("SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute WHERE attrelid = '" + table +
            "'::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'id'");
    copy_rows(table, columns, count, run,
              [&] { return std::stoull(ask("SELECT count(*) FROM " + table + " WHERE state = 'queued'")); });
    run("VACUUM ANALYZE " + table);  // as the server would by itself, a minute later
    return true;
  }

  // Transactions; one of ours is one.
  std::optional<double> served() override {
    const Rows rows = run_sql(watching_.get(),
                              "SELECT xact_commit + xact_rollback FROM pg_stat_database"
                              " WHERE datname = current_database()");
    return std::stod(PQgetvalue(rows.get(), 0, 0)) - ++questions_;
  }
  // A server process that fell idle tells its numbers after ten seconds.
  Millis lag() const override { return 10'500ms; }

 private:
  test::PostgresServer server_;
  const Connection watching_;
  double questions_ = 0;
  Naming naming_{.store = {},
                 .by_hand = "prepared statements by hand",
                 .batch = "64 in a statement by hand",
                 .question = "SELECT 1",
                 .wire = "NOTIFY to LISTEN"};
};

}  // namespace

SubjectKind postgres_subject() {
  return {"postgres", test::postgres_missing, [] { return std::make_unique<PostgresSubject>(); }};
}

}  // namespace holdfast::bench
