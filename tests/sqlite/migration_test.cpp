// SPDX-License-Identifier: Apache-2.0
// A file of 0.1.0, as tests/fixtures has it: used as it is, migrated beside connections that use it.
#include <gmock/gmock.h>

#include "stores/sqlite/probe.h"
#include "tests/sqlite/jobs_suite.h"
#include "tests/support/migration_scenes.h"

namespace holdfast::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

void replace_all(std::string& text, const std::string& word, const std::string& by) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
}

class Migration : public SqliteTest {
 protected:
  Migration() {
    const sqlite::Machine machine = sqlite::this_machine().value();
    std::string script = bytes_of(HOLDFAST_FIXTURES "/0.1.0/sqlite.sql");
    replace_all(script, "BOOT_ID", machine.boot_id);
    replace_all(script, "TIME_NAMESPACE", std::to_string(machine.time_namespace));
    replace_all(script, "BOOTTIME", std::to_string(machine.boottime().count()));
    RawDatabase(path_).ask(script);
  }

 public:
  Caller ours() const { return Caller(store_at(path_)); }
  std::shared_ptr<Store> store() const { return store_at(path_); }
  std::unique_ptr<StoreAdmin> admin() const { return store_at(path_)->admin(); }
  // All rows, without what the migration adds.
  std::string rows() const {
    RawDatabase raw(path_);
    return raw.ask("SELECT json_array(key, locked_by, locked_at, locked_until, sequence) FROM locks") + "\n" +
           raw.ask("SELECT json_array(key, client, waiter, ticket, until) FROM holdfast_waiters") + "\n" +
           raw.ask("SELECT json_array(key, token, client, detached, note) FROM holdfast_facts") + "\n" +
           raw.ask("SELECT json_array(at, key, event, holder, token, by, reason) FROM holdfast_log") + "\n" +
           raw.ask("SELECT json_array(boot_id, time_namespace, purged_token) FROM holdfast_state") + "\n" +
           raw.ask(
               "SELECT json_array(id, name, key, state, due_at, holder, lock, token, claim_until, slot) "
               "FROM holdfast_jobs") +
           "\n" + raw.ask("SELECT json_array(name, tick, taken_at) FROM holdfast_ticks");
  }
  std::string schema() const { return RawDatabase(path_).ask("SELECT sql FROM sqlite_schema"); }
  std::string version() const { return RawDatabase(path_).ask("PRAGMA user_version"); }
};

HOLDFAST_MIGRATION_SCENES(TEST_F, Migration)

TEST_F(Migration, a_file_of_0_1_0_is_migrated_and_nothing_is_lost) {
  const std::string before = rows();
  ASSERT_THAT(before, AllOf(HasSubstr("\"held\""), HasSubstr("\"carl\""), HasSubstr("\"nightly\"")));
  const auto plan = admin()->plan(soon()).value();
  EXPECT_THAT(plan, ::testing::ElementsAre(HasSubstr("user_version = 3"), HasSubstr("ADD COLUMN ttl_ms"),
                                           HasSubstr("ADD COLUMN ttl_until")));
  EXPECT_EQ(version(), "2") << "a plan changes nothing";
  EXPECT_EQ(admin()->init(soon()).value(), plan);
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
  EXPECT_EQ(rows(), before);
  EXPECT_EQ(version(), "3");
}

TEST_F(Migration, a_migrated_lock_table_is_that_of_a_new_file) {
  (void)admin()->init(soon()).value();
  const std::string other = scratch_.path() + "/new.db";
  { SqliteCaller here(other); }
  const std::string locks = "SELECT sql FROM sqlite_schema WHERE name = 'locks'";
  EXPECT_EQ(RawDatabase(path_).ask(locks), RawDatabase(other).ask(locks));
}

TEST_F(Migration, a_plan_can_be_run_by_hand) {
  for (const std::string& statement : admin()->plan(soon()).value()) RawDatabase(path_).ask(statement);
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
  EXPECT_TRUE(SqliteCaller(path_).granted("k"));
}

TEST_F(Migration, the_plan_of_a_second_lock_table_leaves_the_file_as_it_is) {
  (void)admin()->init(soon()).value();
  const auto other = sqlite::store({.path = path_, .table = "other"}).value()->admin();
  const auto plan = other->plan(soon()).value();
  EXPECT_THAT(plan, AllOf(Not(IsEmpty()), ::testing::Each(Not(HasSubstr("PRAGMA")))));
  EXPECT_EQ(other->init(soon()).value(), plan);
  EXPECT_THAT(other->plan(soon()).value(), IsEmpty());
}

TEST_F(Migration, a_file_of_before_is_used_as_it_is) {
  {
    SqliteCaller here(path_);
    EXPECT_TRUE(here.granted("k"));
    EXPECT_EQ(here.row("k").ttl, std::nullopt);
    EXPECT_EQ(here.renew("k").verdict, Verdict::granted);
    EXPECT_EQ(here.acquire("held", "ann", 2h).verdict, Verdict::granted);
    EXPECT_EQ(here.release("k").verdict, Verdict::released);
    EXPECT_EQ(Worker(store_at(path_)).claim().job.name, "Wait");
    SqliteCaller beside(sqlite::store({.path = path_, .table = "other"}).value());
    EXPECT_TRUE(beside.granted("k"));
    EXPECT_EQ(beside.row("k").ttl, Millis(1h)) << "a new lock table has all columns";
  }
  EXPECT_EQ(version(), "2") << "so that 0.1.0 can go on with its own";
}

TEST_F(Migration, columns_that_a_newer_version_has_added_do_no_harm) {
  (void)admin()->init(soon()).value();
  RawDatabase(path_).ask("ALTER TABLE locks ADD COLUMN weight INTEGER");
  EXPECT_FALSE(store_at(path_)->connect(soon())) << "no version of ours has it";
  RawDatabase(path_).ask("PRAGMA user_version = " + std::to_string(4 << 16 | 3));
  SqliteCaller here(path_);
  EXPECT_TRUE(here.granted("k"));
  EXPECT_EQ(here.row("k").ttl, Millis(1h));
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
}

TEST_F(Migration, columns_that_could_refuse_or_compute_are_refused) {
  (void)admin()->init(soon()).value();
  RawDatabase(path_).ask("PRAGMA user_version = " + std::to_string(4 << 16 | 3));
  for (const char* column : {"weight INTEGER CHECK (weight < 1)", "weight INTEGER NOT NULL DEFAULT 1",
                             "weight INTEGER AS (sequence)", "weight BLOB", "\"a b\" INTEGER"}) {
    RawDatabase(path_).ask(std::string("ALTER TABLE locks ADD COLUMN ") + column);
    const auto connected = store_at(path_)->connect(soon());
    ASSERT_FALSE(connected) << column;
    EXPECT_EQ(connected.error().code, Errc::refused);
    EXPECT_THAT(connected.error().detail, HasSubstr("table 'locks'"));
    RawDatabase(path_).ask(std::string("ALTER TABLE locks DROP COLUMN ") +
                           (column[0] == '"' ? "\"a b\"" : "weight"));
  }
  EXPECT_TRUE(SqliteCaller(path_).granted("k")) << schema();
}

}  // namespace
}  // namespace holdfast::test
