// SPDX-License-Identifier: Apache-2.0
// suite.h - short words for the tests of what only the SQLite store does.
#pragma once
#include <gtest/gtest.h>
#include <poll.h>
#include <sqlite3.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "base/process.h"
#include "base/random.h"
#include "base/time.h"
#include "holdfast/sqlite.h"
#include "stores/sqlite/store.h"
#include "tests/processes/process.h"
#include "tests/support/await.h"
#include "tests/support/caller.h"
#include "tests/support/scratch.h"

namespace holdfast::test {

using namespace std::chrono_literals;

inline std::shared_ptr<Store> store_at(const std::string& path) {
  return sqlite::store({.path = path}).value();
}

// One client in this process, with a listener.  Unless another owner is named, it asks by a name of its own.
class SqliteCaller : public Caller {
 public:
  explicit SqliteCaller(std::shared_ptr<Store> store) : Caller(std::move(store)) {}
  explicit SqliteCaller(const std::string& path) : SqliteCaller(store_at(path)) {}

  using Caller::acquire, Caller::renew, Caller::release;
  Reply acquire(std::string_view key, Ttl ttl = 1h, Millis place = 0ms) {
    return acquire(key, name_, ttl, place);
  }
  Reply renew(std::string_view key, Ttl ttl = 1h) { return renew(key, name_, no_token, ttl); }
  Reply release(std::string_view key) { return release(key, name_); }

  bool granted(std::string_view key) { return acquire(key).verdict == Verdict::granted; }
  bool queues(std::string_view key) { return acquire(key, 1h, 1h).verdict == Verdict::busy; }

  bool is_rung() const {
    pollfd line{listener_->fd(), POLLIN, 0};
    return ::poll(&line, 1, 0) == 1;
  }
  void hear() { (void)listener_->ready().value(); }

  std::vector<LogRow> log(std::string_view key) {
    return list({.what = Query::What::log, .prefix = key, .exact = true}).log;
  }
  std::vector<LeaseRow> leases() { return list({}).leases; }

  const std::string& name() const { return name_; }

 private:
  const std::unique_ptr<StoreListener> listener_ = listener();
  const std::string name_ = owner_name(store().client() + random_hex(16));
};

// SQLite without us.
class RawDatabase {
 public:
  explicit RawDatabase(const std::string& path) { EXPECT_EQ(sqlite3_open(path.c_str(), &db_), SQLITE_OK); }
  ~RawDatabase() { sqlite3_close(db_); }
  RawDatabase(const RawDatabase&) = delete;
  RawDatabase& operator=(const RawDatabase&) = delete;

  // The first column of every row, line by line.
  std::string ask(const std::string& sql) {
    std::string answer;
    const auto add = [](void* out, int, char** columns, char**) {
      *static_cast<std::string*>(out) += std::string(columns[0] != nullptr ? columns[0] : "NULL") + "\n";
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), add, &answer, nullptr), SQLITE_OK)
        << sql << ": " << sqlite3_errmsg(db_);
    if (!answer.empty()) answer.pop_back();
    return answer;
  }

  // How SQLite would run it.
  std::string plan(const std::string& sql) {
    std::string answer;
    const auto add = [](void* out, int, char** columns, char**) {
      *static_cast<std::string*>(out) += std::string(columns[3]) + "\n";
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(db_, ("EXPLAIN QUERY PLAN " + sql).c_str(), add, &answer, nullptr), SQLITE_OK)
        << sql << ": " << sqlite3_errmsg(db_);
    return answer;
  }

  sqlite3* raw() const { return db_; }

 private:
  sqlite3* db_ = nullptr;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class SqliteTest : public ::testing::Test {
 protected:
  const Scratch scratch_;
  const std::string path_ = scratch_.path() + "/leases.db";
  const std::string url_ = "sqlite:" + path_;
};

}  // namespace holdfast::test
