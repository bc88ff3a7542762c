// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <libpq-fe.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "base/fd.h"
#include "bench/raw_postgres.h"
#include "bench/subject.h"
#include "bench/workload.h"
#include "tests/support/servers/postgres_server.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

// What a commit cannot do without: a page to the disk.
class Disk {
 public:
  explicit Disk(const std::string& folder)
      : file_(::open((folder + "/disk").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (!file_) throw std::runtime_error("cannot write in " + folder);
    write_page();
  }
  void write_page() {
    if (pwrite(file_.get(), page_.data(), page_.size(), 0) < 0 || fdatasync(file_.get()) != 0)
      throw std::runtime_error("cannot write to the disk");
  }

 private:
  const Fd file_;
  const std::array<char, 8192> page_ = {};
};

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

  std::vector<Rival> rivals(std::vector<std::string>&) override {
    const auto raw = std::make_shared<RawPostgres>(url());
    const auto disk = std::make_shared<Disk>(server_.folder());
    return {{"advisory locks", Role::floor,
             [raw](double seconds) { return rate_of(seconds, [&] { raw->advisory_pair(1); }); }},
            {"twice SELECT 1", Role::floor,
             [raw](double seconds) { return rate_of(seconds, [&] { raw->ask(), raw->ask(); }); }},
            {"twice fdatasync", Role::floor, [disk](double seconds) {
               return rate_of(seconds, [&] { disk->write_page(), disk->write_page(); });
             }}};
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
