// SPDX-License-Identifier: Apache-2.0
// What SQLite's codes mean to a caller: above all, whether anything can have been applied.
#include "stores/sqlite/fault.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cerrno>

namespace holdfast::sqlite {
namespace {

Errc meaning(int code, During during = During::work, int system_errno = 0) {
  const Error error = to_error({code, system_errno, "SQLite's words"}, during, "/a/leases.db");
  EXPECT_NE(error.detail.find("/a/leases.db"), std::string::npos) << error.detail;
  return error.code;
}

TEST(Faults, a_busy_file_means_that_nothing_was_done) {
  for (const int code :
       {SQLITE_BUSY, SQLITE_BUSY_SNAPSHOT, SQLITE_BUSY_RECOVERY, SQLITE_LOCKED, SQLITE_PROTOCOL}) {
    EXPECT_EQ(meaning(code), Errc::unavailable);
    EXPECT_EQ(meaning(code, During::commit), Errc::unavailable);
  }
}

TEST(Faults, a_write_that_fails_in_its_commit_is_in_doubt) {
  for (const int code :
       {SQLITE_IOERR, SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC, SQLITE_INTERRUPT, SQLITE_NOMEM}) {
    EXPECT_EQ(meaning(code, During::begin), Errc::unavailable);
    EXPECT_EQ(meaning(code, During::work), Errc::unavailable);
    EXPECT_EQ(meaning(code, During::commit), Errc::in_doubt);
  }
}

TEST(Faults, a_commit_for_which_there_was_no_room_has_done_nothing) {
  EXPECT_EQ(meaning(SQLITE_FULL, During::commit), Errc::unavailable);
  EXPECT_EQ(meaning(SQLITE_IOERR_WRITE, During::commit, EDQUOT), Errc::unavailable);
  for (const int code : {SQLITE_IOERR_FSYNC, SQLITE_IOERR_SHMSIZE}) {
    EXPECT_EQ(meaning(code, During::commit, ENOSPC), Errc::in_doubt) << "the log has been written";
  }
}

TEST(Faults, what_waiting_does_not_mend_is_refused) {
  for (const int code :
       {SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH, SQLITE_NOTADB, SQLITE_CORRUPT, SQLITE_ERROR}) {
    EXPECT_EQ(meaning(code), Errc::refused);
  }
}

TEST(Faults, a_file_that_cannot_be_opened_depends_on_why) {
  EXPECT_EQ(meaning(SQLITE_CANTOPEN, During::work, EACCES), Errc::refused);
  EXPECT_EQ(meaning(SQLITE_CANTOPEN, During::work, EROFS), Errc::refused);
  EXPECT_EQ(meaning(SQLITE_CANTOPEN_SYMLINK), Errc::refused);
  EXPECT_EQ(meaning(SQLITE_CANTOPEN, During::work, EMFILE), Errc::unavailable);
}

}  // namespace
}  // namespace holdfast::sqlite
