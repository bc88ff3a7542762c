// SPDX-License-Identifier: Apache-2.0
// layout=shedlock: JVMs with ShedLock and ours on one table, both ways round.
#include "tests/mariadb/suite.h"
#include "tests/support/shedlock_sql.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;

// 1213 and 1205: ShedLock takes them for a lock that somebody else has.
int run_as_jvm(Stranger& connection, const std::string& sql) {
  try {
    return static_cast<int>(connection.run(sql));
  } catch (const std::runtime_error& error) {
    for (const char* passing : {"Duplicate entry", "Deadlock", "Lock wait timeout"})
      if (std::string_view(error.what()).find(passing) != std::string_view::npos) return -1;
    throw;
  }
}

class ShedLockLayout : public MariaTest, public ShedLockTable<ShedLockLayout> {
 public:
  ShedLockLayout() { make_tables(shedlock()); }

  MariaCaller ours() const { return MariaCaller(shedlock()); }
  std::shared_ptr<Store> store() const { return try_store(shedlock()).value(); }
  std::string value(const std::string& sql) const { return query(sql); }
  static std::string utc() { return "UTC_TIMESTAMP(3)"; }
  Jvm jvm(const std::string& host, std::optional<Millis> ahead = std::nullopt) const {
    const std::shared_ptr<Stranger> connection = stranger();
    return {[=](const std::string& sql) { return run_as_jvm(*connection, sql); }, ShedLockOn::mysql, host,
            ahead};
  }

 protected:
  std::string shedlock() const { return url() + "?layout=shedlock"; }
  Error refused(const std::string& table) const {
    const auto made = try_store(shedlock() + "&table=" + table).value()->admin()->init(soon());
    EXPECT_FALSE(made);
    return made ? Error{Errc::busy, ""} : made.error();
  }
};

HOLDFAST_SHEDLOCK_SCENES_ON_SQL(TEST_P, ShedLockLayout)

TEST_P(ShedLockLayout, a_table_that_is_there_is_used_with_its_collation) {
  query(
      "CREATE TABLE old_lock (name VARCHAR(20) NOT NULL PRIMARY KEY, lock_until DATETIME(3) NOT NULL, "
      "locked_at DATETIME(6) NOT NULL, locked_by VARCHAR(100) NOT NULL) ENGINE=InnoDB DEFAULT "
      "CHARSET=latin1 COLLATE latin1_swedish_ci");
  const std::string url = shedlock() + "&table=old_lock";
  for (const std::string& statement : try_store(url).value()->admin()->plan(soon()).value())
    EXPECT_THAT(statement, HasSubstr("old_lock_holdfast_")) << "only tables of ours";
  make_tables(url);
  MariaCaller ours(url);
  EXPECT_EQ(ours.acquire("Name", "\xe2\x98\x83").verdict, Verdict::granted);
  EXPECT_EQ(ours.acquire("name", "bob").verdict, Verdict::busy) << "one lock, as for ShedLock";
  EXPECT_THAT(query("SELECT locked_by FROM old_lock"), ::testing::StartsWith("??? holdfast-"));
  const auto longer = ours.try_acquire("a name of 21 letters.", "a");
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().detail, HasSubstr("20 letters"));
}

TEST_P(ShedLockLayout, a_table_that_is_not_shedlocks_is_refused_by_what_is_wrong) {
  const std::string rest = ", locked_by VARCHAR(255) NOT NULL) ENGINE=InnoDB";
  query(
      "CREATE TABLE coarse (name VARCHAR(64) NOT NULL PRIMARY KEY, lock_until DATETIME NOT NULL, locked_at "
      "TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)" +
      rest);
  query(
      "CREATE TABLE twice (name VARCHAR(64) NOT NULL, lock_until DATETIME(3) NOT NULL, locked_at DATETIME(3) "
      "NOT NULL" +
      rest);
  query(
      "CREATE TABLE tenants (tenant INT NOT NULL DEFAULT 0, name VARCHAR(64) NOT NULL, lock_until "
      "DATETIME(3) "
      "NOT NULL, locked_at DATETIME(3) NOT NULL, locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name, "
      "tenant)) "
      "ENGINE=InnoDB");
  query(
      "CREATE TABLE narrow (name VARCHAR(64) NOT NULL PRIMARY KEY, lock_until DATETIME(3) NOT NULL, "
      "locked_at "
      "DATETIME(3) NOT NULL, locked_by VARCHAR(31) NOT NULL) ENGINE=InnoDB");
  query("CREATE TABLE less (name VARCHAR(64) NOT NULL PRIMARY KEY) ENGINE=InnoDB");
  EXPECT_THAT(refused("coarse").detail, HasSubstr("timestamp(3) or datetime(3)"));
  EXPECT_THAT(refused("twice").detail, HasSubstr("\"name\" is not in the primary key"));
  EXPECT_THAT(refused("tenants").detail, HasSubstr("has to be \"name\" alone"));
  EXPECT_THAT(refused("narrow").detail, HasSubstr("32 letters"));
  EXPECT_THAT(refused("less").detail, HasSubstr("\"lock_until\""));
  EXPECT_EQ(refused("less").code, Errc::refused);
}

// A TIMESTAMP is kept in UTC, and ShedLock's UTC goes through the zone of the session on its way there.
TEST_P(ShedLockLayout, leases_are_as_long_for_both_in_every_zone) {
  for (const std::string zone : {"-05:00", "+05:30"}) {
    const MariaServer own({.lines = {"default_time_zone='" + zone + "'"}, .mysql = mysql(), .fsync = false});
    const std::string there = own.url() + "?layout=shedlock";
    make_tables(there);
    MariaCaller ours(there);
    Stranger connection(own, "app");
    Jvm jvm([&](const std::string& sql) { return run_as_jvm(connection, sql); }, ShedLockOn::mysql, "web1");
    ASSERT_TRUE(jvm.lock("theirs"));
    const Reply theirs = ours.acquire("theirs", "bob");
    EXPECT_EQ(theirs.verdict, Verdict::busy) << zone;
    EXPECT_GT(theirs.remaining, 9min) << zone;
    EXPECT_LE(theirs.remaining, 10min) << zone;
    const Reply mine = ours.acquire("ours", "ann", 10min);
    EXPECT_FALSE(jvm.lock("ours")) << zone;
    EXPECT_EQ(own.query("SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), lock_until) BETWEEN 540 AND 602 FROM "
                        "shedlock WHERE name = 'ours'",
                        "app"),
              "1")
        << zone;
    EXPECT_EQ(ours.renew("ours", "ann", mine.token, 10min).verdict, Verdict::granted) << zone;
    for (const auto& lease : ours.list({}).leases) {
      EXPECT_GT(lease.remaining, 9min) << zone;
      EXPECT_LE(lease.remaining, 10min) << zone;
    }
  }
}

HOLDFAST_ON_BOTH(ShedLockLayout);

}  // namespace
}  // namespace holdfast::test
