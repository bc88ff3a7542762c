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
#include "tests/support/scratch.h"

namespace holdfast::test {

using namespace std::chrono_literals;

inline Instant soon() { return BootClock::now() + 20s; }

// One client in this process, with one connection.
class Caller {
 public:
  explicit Caller(std::shared_ptr<Store> store)
      : store_(std::move(store)),
        connection_(store_->connect(soon()).value()),
        listener_(connection_->listener()),
        name_(owner_name(store_->client() + random_hex(16))) {}
  explicit Caller(const std::string& path) : Caller(sqlite::store({.path = path}).value()) {}

  Result<Reply> try_ask(const Request& request, Instant until) {
    Reply reply;
    const Status status = connection_->apply({&request, 1}, {&reply, 1}, until);
    if (!status) return status.error();
    return reply;
  }
  Reply ask(const Request& request) { return try_ask(request, soon()).value(); }

  Reply acquire(std::string_view key, Ttl ttl = 1h, Millis place = 0ms) {
    return acquire_as(name_, key, ttl, place);
  }
  Reply acquire_as(std::string_view owner, std::string_view key, Ttl ttl = 1h, Millis place = 0ms) {
    return ask({.verb = Verb::acquire, .key = {key}, .owner = {owner}, .ttl = ttl, .place = place});
  }
  Reply renew(std::string_view key, Ttl ttl = 1h) {
    return ask({.verb = Verb::renew, .key = {key}, .owner = {name_}, .ttl = ttl});
  }
  Reply release(std::string_view key) { return ask({.verb = Verb::release, .key = {key}, .owner = {name_}}); }
  Reply leave(std::string_view key) {
    return ask({.verb = Verb::release, .key = {key}, .owner = {name_}, .place = 1ms});
  }

  bool granted(std::string_view key) { return acquire(key).verdict == Verdict::granted; }
  bool queues(std::string_view key) { return acquire(key, 1h, 1h).verdict == Verdict::busy; }

  bool is_rung() const {
    pollfd line{listener_->fd(), POLLIN, 0};
    return ::poll(&line, 1, 0) == 1;
  }
  void hear() { (void)listener_->ready().value(); }

  std::vector<LogRow> log(std::string_view key) {
    return connection_->list({.what = Query::What::log, .prefix = key, .exact = true}, soon()).value().log;
  }
  std::vector<LeaseRow> leases() { return connection_->list({}, soon()).value().leases; }

  Store& store() { return *store_; }
  StoreConnection& connection() { return *connection_; }
  const std::string& name() const { return name_; }

 private:
  const std::shared_ptr<Store> store_;
  const std::unique_ptr<StoreConnection> connection_;
  const std::unique_ptr<StoreListener> listener_;
  const std::string name_;
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
