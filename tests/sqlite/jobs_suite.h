// SPDX-License-Identifier: Apache-2.0
// jobs_suite.h - short words for the tests of jobs in SQLite, beyond what tests/engines asks of every store.
#pragma once
#include <string>
#include <vector>

#include "tests/sqlite/suite.h"

namespace holdfast::test {

using EnqueueOutcome = EnqueueReply::What;
using Got = Claimed::What;

// One client in this process, with one connection for jobs.
class Worker {
 public:
  explicit Worker(std::shared_ptr<Store> store)
      : store_(std::move(store)), engine_(store_->jobs(soon()).value()) {}
  explicit Worker(const std::string& path) : Worker(sqlite::store({.path = path}).value()) {}

  static NewJob named(std::string_view key, NewJob job = {}) {
    job.name = "Job";
    job.key = key;
    return job;
  }
  static NewJob loner(std::string_view key, NewJob job = {}) {
    job.unique = Unique::loner;
    return named(key, job);
  }

  EnqueueReply enqueue(const NewJob& job) { return engine_->enqueue(job, soon()).value(); }
  Claimed claim(std::string_view owner = "w", Millis ttl = 1h, std::vector<std::string> queues = {"default"},
                int max_crashes = 1000) {
    return engine_
        ->claim({.queues = queues, .owner = {owner}, .ttl = ttl, .max_crashes = max_crashes}, soon())
        .value();
  }
  Finished finish(const Claimed& claimed, JobState to = JobState::done) {
    return engine_
        ->finish({.id = claimed.job.id,
                  .owner = {claimed.job.owner},
                  .to = to,
                  .lock = {claimed.job.lock},
                  .token = claimed.job.token},
                 soon())
        .value();
  }
  std::vector<JobRow> list(const JobQuery& query = {}) { return engine_->list(query, soon()).value(); }

  JobEngine& engine() { return *engine_; }
  Store& store() { return *store_; }

 private:
  const std::shared_ptr<Store> store_;
  const std::unique_ptr<JobEngine> engine_;
};

// The connections that are opened in this process while it lives: what SQLite knows of them.
class Opened {
 public:
  Opened() {
    all().clear();
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(&Opened::note));
  }
  ~Opened() { sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(&Opened::note)); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  sqlite3* first() const { return all().at(0); }

 private:
  static std::vector<sqlite3*>& all() {
    static std::vector<sqlite3*> opened;
    return opened;
  }
  static int note(sqlite3* db, char**, const void*) {
    all().push_back(db);
    return SQLITE_OK;
  }
};

inline std::string ask(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  std::string answer;
  if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0) != nullptr)
    answer = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
  sqlite3_finalize(statement);
  return answer;
}

}  // namespace holdfast::test
