// SPDX-License-Identifier: Apache-2.0
// raw_sqlite.h - leases by hand on SQLite's C interface: two or three prepared statements, no more.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bench/subject.h"

struct sqlite3;
struct sqlite3_stmt;

namespace holdfast::bench {

class RawSqlite final : public ByHand {
 public:
  enum class How {
    same_statements,  // the text of our own; REQUIRES: a Client has made the file
    returning,        // what one would write: a table of one's own, and RETURNING for the token
  };
  // `durable`: a commit waits for the disk.
  RawSqlite(const std::string& path, How how, bool durable = false);
  ~RawSqlite() override;
  RawSqlite(const RawSqlite&) = delete;
  RawSqlite& operator=(const RawSqlite&) = delete;

  void acquire_and_release(const std::string& key, const std::string& owner) override;
  // Two transactions.
  void acquire_and_release_all(const std::vector<std::string>& keys, const std::string& owner) override;
  std::int64_t acquire(const std::string& key, const std::string& owner);
  void release(const std::string& key, const std::string& owner, std::int64_t token);

  struct Held {
    std::string key;
    std::int64_t token;
  };
  // All in one transaction.  REQUIRES: same_statements.
  void renew(const std::vector<Held>& leases, const std::string& owner);

  // Whether somebody has the key, by one SELECT.  REQUIRES: same_statements.
  bool is_held(const std::string& key) override;
  void ask() override;

 private:
  sqlite3_stmt* prepare(const std::string& sql);
  void exec(const char* sql);
  void must(bool good) const;
  std::int64_t run(sqlite3_stmt* statement);

  const How how_;
  sqlite3* db_ = nullptr;
  std::vector<sqlite3_stmt*> statements_;
  sqlite3_stmt *acquire_ = nullptr, *release_ = nullptr, *renew_ = nullptr, *lookup_ = nullptr,
               *ask_ = nullptr;
  std::int64_t told_ = 0;
};

}  // namespace holdfast::bench
