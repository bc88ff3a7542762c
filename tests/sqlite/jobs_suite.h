// SPDX-License-Identifier: Apache-2.0
// jobs_suite.h - what the tests of jobs in SQLite ask of SQLite itself.
#pragma once
#include <string>
#include <vector>

#include "tests/sqlite/suite.h"
#include "tests/support/worker.h"

namespace holdfast::test {

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
