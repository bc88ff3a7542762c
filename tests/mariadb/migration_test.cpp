// SPDX-License-Identifier: Apache-2.0
// Tables of 0.1.0, as tests/fixtures has them: used as they are, migrated beside processes that use them, or
// refused where only a newer Holdfast can use them.
#include <fstream>
#include <iterator>

#include "tests/mariadb/granted_user.h"
#include "tests/mariadb/suite.h"
#include "tests/support/migration_scenes.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Migration : public MariaTest {
 protected:
  Migration() {
    std::ifstream file(HOLDFAST_FIXTURES "/0.1.0/mariadb.sql");
    query({std::istreambuf_iterator<char>(file), {}});
  }

 public:
  MariaCaller ours() const { return MariaCaller(url()); }
  std::shared_ptr<Store> store() const { return try_store(url()).value(); }
  std::unique_ptr<StoreAdmin> admin() const { return store()->admin(); }
  std::string value(const std::string& sql) const { return query(sql); }
  std::string rows() const {
    return query("SELECT `key`, locked_by, locked_at, locked_until, sequence FROM locks ORDER BY 1") + "\n" +
           query("SELECT * FROM holdfast_waiters") + "\n" + query("SELECT * FROM holdfast_facts") + "\n" +
           query("SELECT * FROM holdfast_log") + "\n" +
           query("SELECT one, purged_token FROM holdfast_state") + "\n" +
           query("SELECT * FROM holdfast_jobs ORDER BY id") + "\n" + query("SELECT * FROM holdfast_ticks");
  }
  std::string columns_of(const std::string& table) const {
    return query(
        "SELECT GROUP_CONCAT(COLUMN_NAME) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() "
        "AND "
        "TABLE_NAME = '" +
        table + "'");
  }
};

HOLDFAST_MIGRATION_SCENES_ON_SERVER(TEST_P, Migration)

TEST_P(Migration, a_user_who_may_not_alter_them_cannot_migrate_and_goes_on) {
  GrantedUser user(server(), database_);
  user.grant("GRANT SELECT, INSERT, UPDATE ON locks");
  user.grant("GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast_jobs");
  MigrationScenes(*this).a_user_who_may_not_alter_them_cannot_migrate_and_goes_on(user.url());
}

TEST_P(Migration, tables_of_before_are_used_as_they_are) {
  MariaCaller ours(url());
  EXPECT_EQ(ours.acquire("k", "eve").verdict, Verdict::granted);
  EXPECT_EQ(ours.row("k").ttl, std::nullopt);
  EXPECT_EQ(ours.renew("k", "eve").verdict, Verdict::granted);
  EXPECT_EQ(ours.release("k", "eve").verdict, Verdict::released);
  const Request batch[] = {{.verb = Verb::acquire, .key = {"k"}, .owner = {"ann"}, .ttl = 1h},
                           {.verb = Verb::acquire, .key = {"new"}, .owner = {"ann"}, .ttl = 1h}};
  Reply replies[2];
  ASSERT_TRUE(ours.connection().apply(batch, replies, soon()));
  EXPECT_EQ(replies[0].verdict, Verdict::granted);
  EXPECT_EQ(replies[1].verdict, Verdict::granted);
  Worker worker(url());
  EXPECT_EQ(worker.claim("w").job.name, "Wait");
}

TEST_P(Migration, one_that_was_ended_in_between_is_completed) {
  query("ALTER TABLE locks ADD COLUMN ttl_ms BIGINT, ADD COLUMN ttl_until DATETIME(6)");
  make_tables(url());
  EXPECT_THAT(columns_of("holdfast_state"), HasSubstr("version"));
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
}

TEST_P(Migration, an_open_transaction_puts_it_off) {
  const auto reader = stranger();
  reader->run("START TRANSACTION");
  reader->run("SELECT 1 FROM locks");
  const auto made = admin()->init(BootClock::now() + 2s);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::unavailable);
  EXPECT_THAT(made.error().detail, HasSubstr("in use by an open transaction"));
  EXPECT_EQ(MariaCaller(url()).acquire("k", "eve").verdict, Verdict::granted);
  reader->run("COMMIT");
  make_tables(url());
  EXPECT_THAT(columns_of("locks"), HasSubstr("ttl_ms"));
}

HOLDFAST_ON_BOTH(Migration);

}  // namespace
}  // namespace holdfast::test
