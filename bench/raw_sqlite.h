// SPDX-License-Identifier: Apache-2.0
// raw_sqlite.h - what one would write by hand for a lease in SQLite: two prepared statements, no more.
#pragma once
#include <string>

struct sqlite3;
struct sqlite3_stmt;

namespace holdfast::bench {

class RawSqlite {
 public:
  explicit RawSqlite(const std::string& path);
  ~RawSqlite();
  RawSqlite(const RawSqlite&) = delete;
  RawSqlite& operator=(const RawSqlite&) = delete;

  void acquire_and_release(const std::string& key, const std::string& holder);

 private:
  sqlite3* db_ = nullptr;
  sqlite3_stmt* acquire_ = nullptr;
  sqlite3_stmt* release_ = nullptr;
};

}  // namespace holdfast::bench
