// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>

#include <stdexcept>

#include "bench/job_copies.h"
#include "bench/pipe_wire.h"
#include "bench/raw_sqlite.h"
#include "bench/sql_keys.h"
#include "bench/subject.h"
#include "bench/workload.h"
#include "tests/support/scratch.h"

namespace holdfast::bench {
namespace {

class SqliteSubject final : public Subject {
 public:
  SqliteSubject() { make_ready(url()); }

  const Naming& naming() const override { return naming_; }
  std::string url() const override { return "sqlite:" + path(); }
  std::unique_ptr<ByHand> by_hand() override {
    return std::make_unique<RawSqlite>(path(), RawSqlite::How::same_statements);
  }
  // A lease need not survive a power cut, a job must.
  std::unique_ptr<ByHand> by_hand_durably() override {
    return std::make_unique<RawSqlite>(path(), RawSqlite::How::same_statements, true);
  }
  std::unique_ptr<Wire> wire() override { return std::make_unique<PipeWire>(); }

  std::unique_ptr<KeysByHand> keys_by_hand(const std::string& locks) override {
    SqlWords words{.key = "key",
                   .name = "printf('free-%07d', n.i)",
                   .numbers =
                       [](std::uint64_t from, std::uint64_t to) {
                         return "(WITH RECURSIVE r(i) AS (SELECT " + std::to_string(from) +
                                " UNION ALL SELECT i + 1 FROM r WHERE i < " + std::to_string(to) +
                                ") SELECT i FROM r) AS n";
                       },
                   .tidy = ""};
    sqlite3* db = nullptr;
    sqlite3_open(path().c_str(), &db);
    return std::make_unique<SqlKeys>(
        locks, std::move(words),
        [closing = std::shared_ptr<sqlite3>(db, sqlite3_close)](const std::string& sql) {
          std::size_t rows = 0;
          const auto count = [](void* into, int, char**, char**) {
            return ++*static_cast<std::size_t*>(into), 0;
          };
          if (sqlite3_exec(closing.get(), sql.c_str(), count, &rows, nullptr) != SQLITE_OK)
            throw std::runtime_error(std::string("by hand: ") + sqlite3_errmsg(closing.get()));
          return rows;
        });
  }

  std::vector<Rival> rivals(std::vector<std::string>&) override {
    const auto raw = std::make_shared<RawSqlite>(folder_.path() + "/raw.db", RawSqlite::How::returning);
    return {{"by hand with RETURNING", Role::reference, [raw](double seconds) {
               return rate_of(seconds, [&] { raw->acquire_and_release("key", "somebody"); });
             }}};
  }

  bool copy_jobs(const std::string& locks, std::uint64_t count) override {
    sqlite3* db = nullptr;
    std::string answer;
    const auto run = [&](const std::string& sql) {
      const auto keep = [](void* into, int, char** fields, char**) {
        *static_cast<std::string*>(into) = fields[0];
        return 0;
      };
      if (sqlite3_exec(db, sql.c_str(), keep, &answer, nullptr) != SQLITE_OK)
        throw std::runtime_error(std::string("copying jobs: ") + sqlite3_errmsg(db));
    };
    sqlite3_open(path().c_str(), &db);
    const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> closing(db, sqlite3_close);
    const std::string table = jobs_beside(locks);
    run("SELECT group_concat('\"' || name || '\"') FROM pragma_table_info('" + table +
        "') WHERE name <> 'id'");
    const std::string columns = answer;
    copy_rows(table, columns, count, run, [&] {
      run("SELECT count(*) FROM " + table + " WHERE state = 'queued'");
      return std::stoull(answer);
    });
    return true;
  }

 private:
  std::string path() const { return folder_.path() + "/ours.db"; }

  const test::Scratch folder_;
  const Naming naming_{.store = std::string("SQLite ") + sqlite3_libversion(),
                       .by_hand = "the same statements by hand",
                       .batch = "64 in a transaction by hand",
                       .question = "",
                       .wire = "a byte through a pipe"};
};

}  // namespace

SubjectKind sqlite_subject() {
  return {"sqlite", [] { return std::string(); }, [] { return std::make_unique<SqliteSubject>(); }};
}

}  // namespace holdfast::bench
