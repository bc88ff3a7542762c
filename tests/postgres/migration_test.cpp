// SPDX-License-Identifier: Apache-2.0
// Tables of 0.1.0, as tests/fixtures has them: used as they are, migrated beside processes that use them, or
// refused where only a newer Holdfast can use them.
#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/postgres/granted_role.h"
#include "tests/postgres/jobs_suite.h"
#include "tests/support/migration_scenes.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Migration : public PostgresTest {
 protected:
  Migration() {
    std::ifstream file(HOLDFAST_FIXTURES "/0.1.0/postgres.sql");
    psql()->run({std::istreambuf_iterator<char>(file), {}});
  }

 public:
  Caller ours() const { return Caller(url()); }
  std::shared_ptr<Store> store() const { return try_store(url()).value(); }
  std::unique_ptr<StoreAdmin> admin() const { return store()->admin(); }
  std::string value(const std::string& sql) const { return psql()->value(sql); }
  std::string rows() const {
    std::string rows;
    for (const char* table : {"locks", "holdfast_waiters", "holdfast_facts", "holdfast_log", "holdfast_state",
                              "holdfast_jobs", "holdfast_ticks"})
      rows += psql()->value(
                  std::string("SELECT string_agg(r.row, chr(10) ORDER BY r.row) FROM (SELECT (to_jsonb(t) - "
                              "'{ttl_ms,ttl_until,version,needs}'::text[])::text AS row FROM ") +
                  table + " AS t) AS r") +
              "\n";
    return rows;
  }
  std::string columns_of(const std::string& table) const {
    return psql()->value(
        "SELECT string_agg(column_name, ' ' ORDER BY ordinal_position) FROM information_schema.columns WHERE "
        "table_schema = $1 AND table_name = $2",
        {schema_, table});
  }
};

HOLDFAST_MIGRATION_SCENES_ON_SERVER(TEST_F, Migration)

TEST_F(Migration, a_user_who_may_not_alter_them_cannot_migrate_and_goes_on) {
  GrantedRole role(schema_);
  role.grant("GRANT SELECT, INSERT, UPDATE ON locks");
  role.grant("GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast_jobs");
  MigrationScenes(*this).a_user_who_may_not_alter_them_cannot_migrate_and_goes_on(
      role.url("?table=" + schema_ + ".locks"));
}

TEST_F(Migration, tables_of_before_are_used_as_they_are) {
  Caller ours(url());
  EXPECT_EQ(ours.acquire("mine", "eve").verdict, Verdict::granted);
  EXPECT_EQ(ours.row("mine").ttl, std::nullopt);
  EXPECT_EQ(ours.renew("mine", "eve").verdict, Verdict::granted);
  EXPECT_EQ(ours.release("mine", "eve").verdict, Verdict::released);
  EXPECT_EQ(ours.acquire("mine", "eve").verdict, Verdict::granted);
  psql()->run("DELETE FROM holdfast_jobs");
  use_all_of_jobs(url());
}

TEST_F(Migration, a_lease_that_ruby_takes_has_no_ttl) {
  make_tables(url());
  Caller ours(url());
  ours.acquire("k", "eve", 1h);
  ours.release("k", "eve");
  psql()->run(
      "UPDATE locks SET locked_by = 'ruby', locked_at = now() AT TIME ZONE 'UTC', locked_until = "
      "(now() AT TIME ZONE 'UTC') + interval '5s', sequence = sequence + 1 WHERE key = 'k'");
  EXPECT_EQ(ours.row("k").ttl, std::nullopt);
}

TEST_F(Migration, a_lock_table_that_init_did_not_make_is_not_changed) {
  psql()->run("UPDATE holdfast_state SET made = false");
  EXPECT_THAT(admin()->init(soon()).value(), ::testing::ElementsAre(HasSubstr("holdfast_state")));
  EXPECT_THAT(columns_of("locks"), Not(HasSubstr("ttl_ms")));
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
  EXPECT_EQ(Caller(url()).acquire("k", "eve").verdict, Verdict::granted);
}

TEST_F(Migration, an_open_transaction_puts_it_off_and_nobody_waits_behind_it_for_long) {
  const auto reader = psql();
  reader->run("BEGIN; SELECT 1 FROM locks");
  std::atomic<bool> over = false;
  std::jthread init([&] {
    const auto made = admin()->init(BootClock::now() + 1s);
    over = true;
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Errc::unavailable);
    EXPECT_THAT(made.error().detail, HasSubstr("in use by an open transaction"));
  });
  Caller ours(url());
  for (int i = 0; !over; ++i)
    ASSERT_EQ(ours.acquire("k" + std::to_string(i), "eve").verdict, Verdict::granted);
  init.join();
  EXPECT_THAT(columns_of("holdfast_state"), Not(HasSubstr("version"))) << "all of it or nothing";
  reader->run("COMMIT");
  make_tables(url());
  EXPECT_THAT(columns_of("locks"), HasSubstr("ttl_ms"));
}

}  // namespace
}  // namespace holdfast::test
