// SPDX-License-Identifier: Apache-2.0
// Databases that are almost ours: tables that were tampered with, torn files, logs and journals of others.
#include <filesystem>

#include "tests/sqlite/suite.h"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

class Hostile : public SqliteTest {
 protected:
  void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  // A database with leases, all of it in the file itself.
  std::string real_database() {
    {
      SqliteCaller here(path_);
      for (int i = 0; i < 200; ++i) here.acquire("key " + std::to_string(i), "me");
    }
    RawDatabase(path_).ask("PRAGMA wal_checkpoint(TRUNCATE)");
    return bytes_of(path_);
  }
  Result<std::unique_ptr<StoreConnection>> open(const std::string& table = "locks") {
    return sqlite::store({.path = path_, .table = table}).value()->connect(soon());
  }
  void expect_refused(const std::string& word, const std::string& table = "locks") {
    const auto connection = open(table);
    ASSERT_FALSE(connection) << word;
    EXPECT_EQ(connection.error().code, Errc::refused) << connection.error().detail;
    EXPECT_NE(connection.error().detail.find(word), std::string::npos) << connection.error().detail;
    EXPECT_NE(connection.error().detail.find(path_), std::string::npos) << connection.error().detail;
  }
  // It may still be usable in part, but nothing goes wrong, and the file is not created again.
  void expect_refused_or_whole(const std::string& what) {
    SCOPED_TRACE(what);
    const std::string before = bytes_of(path_);
    const auto connection = open();
    if (!connection) {
      EXPECT_EQ(connection.error().code, Errc::refused) << connection.error().detail;
      EXPECT_EQ(bytes_of(path_), before) << "left alone";
      return;
    }
    const auto page = (*connection)->list({}, soon());
    EXPECT_TRUE(page ? page->leases.size() == 200u : page.error().code == Errc::refused);
  }
};

TEST_F(Hostile, tables_that_are_not_exactly_ours_are_refused) {
  const struct {
    const char* sql;
    const char* word;
  } table[] = {
      {"CREATE TRIGGER t AFTER INSERT ON locks BEGIN DELETE FROM holdfast_log; END",
       "'t' on its table 'locks'"},
      {"CREATE TABLE mine(a); CREATE TRIGGER t AFTER INSERT ON mine BEGIN DELETE FROM locks; END",
       "create, 't'"},
      {"CREATE VIEW v AS SELECT * FROM locks", "create, 'v'"},
      {"CREATE INDEX i ON locks(locked_by)", "'i' on its table 'locks'"},
      {"CREATE UNIQUE INDEX i ON holdfast_log(key)", "'i' on its table 'holdfast_log'"},
      {"ALTER TABLE locks ADD COLUMN more TEXT",
       "'locks' differs from the one that this version of Holdfast creates"},
      {"ALTER TABLE holdfast_facts RENAME COLUMN note TO notes", "'holdfast_facts' differs from the one"},
      {"DROP TABLE holdfast_log", "lacks the table 'holdfast_log'"},
      {"DROP TABLE holdfast_state; CREATE TABLE holdfast_state(boot_id, time_namespace, swept_from, "
       "swept_to, "
       "swept_at)",
       "'holdfast_state' differs from the one"},
      {"DROP TABLE locks; CREATE TABLE locks (key TEXT PRIMARY KEY, locked_by TEXT, locked_at INTEGER, "
       "locked_until INTEGER, sequence INTEGER NOT NULL CHECK (sequence < 5)) WITHOUT ROWID",
       "'locks' differs from the one"},
      {"DROP TABLE locks; CREATE TABLE locks (key TEXT PRIMARY KEY, locked_by TEXT DEFAULT (randomblob(9)), "
       "locked_at INTEGER, locked_until INTEGER, sequence INTEGER NOT NULL) WITHOUT ROWID",
       "'locks' differs from the one"},
      {"DROP TABLE locks; CREATE VIEW locks AS SELECT * FROM holdfast_log", "'locks' differs from the one"},
      {"PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES ('table', 'x', 'x', 0, 'CREATE TRIGGER "
       "x "
       "AFTER INSERT ON locks BEGIN DELETE FROM locks; END')",
       path_.c_str()},
      {"CREATE VIRTUAL TABLE f USING fts5(x)", "create, 'f'"},
      {"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE locks(x)' WHERE name = "
       "'locks'",
       path_.c_str()},
  };
  for (const auto& row : table) {
    SCOPED_TRACE(row.sql);
    for (const char* const suffix : {"", "-wal", "-shm"}) fs::remove(path_ + suffix);
    ASSERT_TRUE(open());
    RawDatabase(path_).ask(row.sql);
    expect_refused(row.word);
  }
}

TEST_F(Hostile, what_a_file_says_of_itself_is_shown_escaped) {
  for (const std::string sql :
       {"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE \x1b[31m' WHERE name = 'locks'",
        "CREATE VIEW \"v\x1b[31m\" AS SELECT 1"}) {
    for (const char* const suffix : {"", "-wal", "-shm"}) fs::remove(path_ + suffix);
    ASSERT_TRUE(open());
    RawDatabase(path_).ask(sql);
    const auto connection = open();
    ASSERT_FALSE(connection);
    EXPECT_EQ(connection.error().detail.find('\x1b'), std::string::npos);
    EXPECT_NE(connection.error().detail.find("\\x1b"), std::string::npos) << connection.error().detail;
  }
}

TEST_F(Hostile, other_plain_tables_are_left_alone) {
  ASSERT_TRUE(open());
  RawDatabase(path_).ask(
      "CREATE TABLE data(id INTEGER PRIMARY KEY, worth TEXT UNIQUE); CREATE INDEX by_worth ON data(worth); "
      "INSERT INTO data VALUES (1, 'kept')");
  EXPECT_TRUE(open());
  EXPECT_EQ(RawDatabase(path_).ask("SELECT worth FROM data"), "kept");
}

TEST_F(Hostile, one_lock_table_that_was_tampered_with_does_not_spoil_another) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(open("jobs"));
  RawDatabase(path_).ask("ALTER TABLE jobs_holdfast_waiters ADD COLUMN more");
  EXPECT_TRUE(open());
  expect_refused("'jobs_holdfast_waiters'", "jobs");
}

TEST_F(Hostile, a_torn_file_is_refused_and_left_alone) {
  const std::string whole = real_database();
  ASSERT_GT(whole.size(), 5 * 4096u);
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{50}, std::size_t{99}, std::size_t{100}, std::size_t{512},
        std::size_t{4096}, std::size_t{4097}, whole.size() / 2, whole.size() - 4096}) {
    write(path_, whole.substr(0, size));
    SCOPED_TRACE(size);
    const auto connection = open();
    ASSERT_FALSE(connection);
    EXPECT_EQ(connection.error().code, Errc::refused) << connection.error().detail;
    EXPECT_EQ(bytes_of(path_), whole.substr(0, size));
  }
  write(path_, whole);
  EXPECT_TRUE(open());
}

TEST_F(Hostile, a_page_of_nothing_or_of_anything_is_refused_and_left_alone) {
  const std::string whole = real_database();
  std::string bytes = whole;
  std::fill_n(bytes.begin(), 4096, '\0');
  write(path_, bytes);
  expect_refused("not a Holdfast database");
  EXPECT_EQ(bytes_of(path_), bytes);
  Jitter random(7);
  for (std::size_t page = 0; page < whole.size() / 4096; ++page) {
    for (const bool zero : {true, false}) {
      bytes = whole;
      // The header stays: it identifies the file as Holdfast's.
      for (std::size_t i = page * 4096 + (page == 0 ? 100 : 0); i < (page + 1) * 4096; ++i)
        bytes[i] = zero ? '\0' : static_cast<char>(random.below(256));
      write(path_, bytes);
      expect_refused_or_whole("page " + std::to_string(page) + (zero ? " of nothing" : " of anything"));
    }
  }
}

TEST_F(Hostile, a_log_of_garbage_does_no_harm) {
  (void)real_database();
  write(path_ + "-wal", std::string(50'000, 'x'));
  fs::remove(path_ + "-shm");
  const auto connection = open();
  ASSERT_TRUE(connection) << connection.error().detail;
  EXPECT_EQ((*connection)->list({}, soon()).value().leases.size(), 200u);
}

TEST_F(Hostile, a_log_of_another_program_is_refused_and_left_alone) {
  const std::string whole = real_database(), other = scratch_.path() + "/other.db";
  {
    RawDatabase foreign(other);
    foreign.ask("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE users(name)");
    write(path_ + "-wal", bytes_of(other + "-wal"));
  }
  fs::remove(path_ + "-shm");
  const std::string log = bytes_of(path_ + "-wal");
  expect_refused("not a Holdfast database");
  EXPECT_EQ(bytes_of(path_), whole);
  EXPECT_EQ(bytes_of(path_ + "-wal"), log);
}

TEST_F(Hostile, a_newer_version_that_is_only_in_the_log_is_refused) {
  (void)real_database();
  RawDatabase newer(path_);
  newer.ask("PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = 99");
  expect_refused("newer Holdfast");
}

// What SQLite writes into a journal while `sql` runs, as a process leaves it that dies before it is done.
std::string journal_of(const std::string& path, const std::string& sql) {
  RawDatabase database(path);
  database.ask("PRAGMA synchronous = OFF; PRAGMA cache_size = 1; BEGIN; " + sql);
  const std::string journal = bytes_of(path + "-journal");
  database.ask("ROLLBACK");
  EXPECT_FALSE(journal.empty());
  return journal;
}

TEST_F(Hostile, a_hot_journal_of_another_database_is_refused_and_not_played_back) {
  const std::string whole = real_database(), other = scratch_.path() + "/other.db";
  RawDatabase(other).ask("CREATE TABLE users(name); INSERT INTO users VALUES ('me')");
  for (const bool empty_before : {true, false}) {
    const std::string journal =
        empty_before ? journal_of(scratch_.path() + "/new.db", "CREATE TABLE t(a)")
                     : journal_of(other, "UPDATE users SET name = 'you'; PRAGMA user_version = 3");
    write(path_ + "-journal", journal);
    expect_refused("-journal is not of this database");
    EXPECT_EQ(bytes_of(path_), whole);
    EXPECT_EQ(bytes_of(path_ + "-journal"), journal);
  }
  fs::remove(path_ + "-journal");
  EXPECT_TRUE(open());
}

TEST_F(Hostile, a_journal_of_garbage_does_no_harm) {
  (void)real_database();
  write(path_ + "-journal", std::string(10'000, 'x'));
  const auto connection = open();
  ASSERT_TRUE(connection) << connection.error().detail;
  EXPECT_EQ((*connection)->list({}, soon()).value().leases.size(), 200u);
}

TEST_F(Hostile, a_process_that_died_while_switching_to_wal_is_no_hindrance) {
  (void)real_database();
  RawDatabase(path_).ask("PRAGMA journal_mode = DELETE");
  const std::string journal = journal_of(path_, "PRAGMA user_version = 1");
  RawDatabase(path_).ask("PRAGMA journal_mode = WAL");
  write(path_ + "-journal", journal);
  const auto connection = open();
  ASSERT_TRUE(connection) << connection.error().detail;
  EXPECT_EQ((*connection)->list({}, soon()).value().leases.size(), 200u);
  EXPECT_FALSE(fs::exists(path_ + "-journal")) << "it was played back";
}

TEST_F(Hostile, a_file_that_takes_long_to_read_ends_with_the_time_of_the_call) {
  SqliteCaller here(path_);
  RawDatabase(path_).ask(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) "
      "INSERT INTO holdfast_log(at, key, event, holder, token, by, reason) SELECT i, 'k', '', '', i, '', '' "
      "FROM n");
  const auto page =
      here.connection().list({.what = Query::What::log, .prefix = "nothing"}, BootClock::now() + 20ms);
  ASSERT_FALSE(page) << "a million rows were read in 20 ms";
  EXPECT_EQ(page.error().code, Errc::unavailable);
  EXPECT_NE(page.error().detail.find("time"), std::string::npos) << page.error().detail;
  EXPECT_TRUE(here.granted("k")) << "and goes on";
}

TEST_F(Hostile, a_start_of_tokens_that_cannot_rise_is_refused) {
  { SqliteCaller here(path_); }
  for (const char* const number : {"9223372036854775807", "-1", "9e99"}) {
    RawDatabase(path_).ask(std::string("UPDATE holdfast_state SET purged_token = ") + number);
    expect_refused("token");
  }
  RawDatabase(path_).ask("UPDATE holdfast_state SET purged_token = 9223372036854775000");
  EXPECT_EQ(to_number(SqliteCaller(path_).acquire("k").token), 9223372036854775001u);
}

TEST_F(Hostile, a_damaged_row_harms_no_other_request_of_its_batch) {
  SqliteCaller here(path_);
  here.acquire("damaged");
  RawDatabase(path_).ask("UPDATE locks SET sequence = -5 WHERE key = 'damaged'");
  const auto connection = open().value();
  const auto acquire_of = [](std::string_view key) {
    return Request{.verb = Verb::acquire, .key = {key}, .owner = {"me"}, .ttl = 1h};
  };
  const Request requests[] = {acquire_of("a"), acquire_of("damaged"), acquire_of("b")};
  Reply replies[3];
  ASSERT_TRUE(connection->apply(requests, replies, soon()));
  EXPECT_EQ(replies[0].verdict, Verdict::granted);
  ASSERT_TRUE(replies[1].error);
  EXPECT_EQ(replies[1].error->code, Errc::refused);
  EXPECT_EQ(replies[2].verdict, Verdict::granted);
}

TEST_F(Hostile, a_token_that_cannot_rise_is_refused) {
  SqliteCaller here(path_);
  constexpr const char* replace =
      "REPLACE INTO locks (key, locked_by, locked_at, locked_until, sequence) VALUES ('k', NULL, 0, 0, ";
  for (const char* const last : {"9223372036854775807", "-1", "1e300"}) {
    RawDatabase(path_).ask(std::string(replace) + last + ")");
    const auto reply =
        here.try_ask({.verb = Verb::acquire, .key = {"k"}, .owner = {here.name()}, .ttl = 1h}, soon());
    ASSERT_FALSE(reply) << last;
    EXPECT_EQ(reply.error().code, Errc::refused);
    EXPECT_NE(reply.error().detail.find("token"), std::string::npos) << reply.error().detail;
  }
  RawDatabase(path_).ask(std::string(replace) + "9223372036854775805)");
  EXPECT_EQ(to_number(here.acquire("k").token), 9223372036854775806u);
}

}  // namespace
}  // namespace holdfast::test
