// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "bench/disk.h"
#include "bench/job_copies.h"
#include "bench/raw_mariadb.h"
#include "bench/sql_keys.h"
#include "bench/subject.h"
#include "bench/workload.h"
#include "tests/support/servers/maria_server.h"

namespace holdfast::bench {
namespace {

using MariaRows = std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)>;

// A statement with all that it returns; null: nothing.
MariaRows run_sql(MYSQL* connection, const std::string& sql) {
  if (mysql_query(connection, sql.c_str()) != 0)
    throw std::runtime_error(std::string("by hand: ") + mysql_error(connection));
  return {mysql_store_result(connection), mysql_free_result};
}

// With the durability that MariaDB has if nobody changes it: every commit waits for the disk.
class MariaSubject final : public Subject {
 public:
  MariaSubject()
      : server_({.lines = {"max_connections = 500"}}),
        watching_(connect_mariadb(server_.port())),
        questions_(watching_.get(),
                   "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS"
                   " WHERE VARIABLE_NAME = 'QUESTIONS'") {
    make_ready(url());
    const std::string version = mysql_get_server_info(watching_.get());
    naming_.store = "MariaDB " + version.substr(0, version.find('-'));
  }

  const Naming& naming() const override { return naming_; }
  std::string url() const override { return server_.url(); }
  std::unique_ptr<ByHand> by_hand() override { return std::make_unique<RawMaria>(server_.port()); }
  std::unique_ptr<Wire> wire() override { return std::make_unique<NamedLockWire>(server_.port()); }

  std::unique_ptr<KeysByHand> keys_by_hand(const std::string& locks) override {
    SqlWords words{.key = "`key`",
                   .name = "CONCAT('free-', LPAD(n.i, 7, '0'))",
                   .numbers =
                       [](std::uint64_t from, std::uint64_t to) {
                         return "(SELECT seq AS i FROM seq_" + std::to_string(from) + "_to_" +
                                std::to_string(to) + ") AS n";
                       },
                   .tidy = "ANALYZE TABLE " + locks};
    return std::make_unique<SqlKeys>(locks, std::move(words),
                                     [connection = std::make_shared<MariaConnection>(connect_mariadb(
                                          server_.port()))](const std::string& sql) -> std::size_t {
                                       const MariaRows rows = run_sql(connection->get(), sql);
                                       return rows == nullptr ? 0 : mysql_num_rows(rows.get());
                                     });
  }

  std::vector<Rival> rivals(std::vector<std::string>&) override {
    const auto raw = std::make_shared<RawMaria>(server_.port());
    return {{"GET_LOCK + RELEASE_LOCK", Role::floor,
             [raw](double seconds) { return rate_of(seconds, [&] { raw->named_pair("pair"); }); }},
            {"twice SELECT 1", Role::floor,
             [raw](double seconds) { return rate_of(seconds, [&] { raw->ask(), raw->ask(); }); }},
            twice_to_disk(server_.folder())};
  }

  bool copy_jobs(const std::string& locks, std::uint64_t count) override {
    const MariaConnection connection = connect_mariadb(server_.port());
    const auto ask = [&](const std::string& sql) {
      const MariaRows rows = run_sql(connection.get(), sql);
      return rows == nullptr ? std::string() : std::string(mysql_fetch_row(rows.get())[0]);
    };
    const std::string table = jobs_beside(locks);
    const std::string columns =
        ask("SELECT GROUP_CONCAT(CONCAT('`', COLUMN_NAME, '`')) FROM information_schema.COLUMNS"
            " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '" +
            table + "' AND COLUMN_NAME <> 'id'");
    copy_rows(table, columns, count, ask,
              [&] { return std::stoull(ask("SELECT COUNT(*) FROM " + table + " WHERE state = 'queued'")); });
    ask("ANALYZE TABLE " + table);
    return true;
  }

  // Statements; several can travel in one text, and each counts.
  std::optional<double> served() override {
    questions_.run({});
    return std::stod(std::string(questions_.field(0))) - ++asked_;
  }

 private:
  test::MariaServer server_;
  const MariaConnection watching_;
  MariaStatement questions_;
  double asked_ = 0;
  Naming naming_{.store = {},
                 .by_hand = "prepared statements by hand",
                 .batch = "64 in a statement by hand",
                 .question = "SELECT 1",
                 .wire = "RELEASE_LOCK to GET_LOCK"};
};

}  // namespace

SubjectKind mariadb_subject() {
  return {"mariadb", test::mariadb_missing, [] { return std::make_unique<MariaSubject>(); }};
}

}  // namespace holdfast::bench
