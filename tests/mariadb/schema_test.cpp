// SPDX-License-Identifier: Apache-2.0
// The tables: made, completed, or refused with what to do; and what is one key in them.
#include <sstream>
#include <thread>

#include "tests/mariadb/suite.h"

namespace holdfast::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Schema : public MariaTest {
 protected:
  std::unique_ptr<StoreAdmin> admin() const { return try_store(url()).value()->admin(); }
  std::string tables() const {
    return query("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()");
  }
};

TEST_P(Schema, connecting_creates_nothing_and_names_the_command_that_does) {
  const Error error = refused(url());
  EXPECT_EQ(error.code, Errc::unprepared);
  EXPECT_THAT(error.detail,
              AllOf(HasSubstr("no table \"locks\""), HasSubstr("database \"" + database_ + "\""),
                    HasSubstr(std::string("holdfast --store ") + (mysql() ? "mysql" : "mariadb") +
                              "://app@127.0.0.1"),
                    HasSubstr(" init")));
  EXPECT_EQ(tables(), "0");
}

TEST_P(Schema, a_plan_changes_nothing_and_is_what_init_does) {
  const auto plan = admin()->plan(soon()).value();
  EXPECT_EQ(tables(), "0");
  EXPECT_EQ(admin()->init(soon()).value(), plan);
  EXPECT_EQ(tables(), "7");
  EXPECT_TRUE(admin()->plan(soon()).value().empty());
}

TEST_P(Schema, a_plan_can_be_run_by_hand) {
  for (const std::string& statement : admin()->plan(soon()).value()) query(statement);
  EXPECT_EQ(MariaCaller(url()).acquire("k", "ann").verdict, Verdict::granted);
}

TEST_P(Schema, what_is_missing_is_completed) {
  make_tables(url());
  query("DROP TABLE holdfast_log, holdfast_state");
  EXPECT_THAT(refused(url()).detail, HasSubstr("holdfast_log"));
  make_tables(url());
  EXPECT_EQ(MariaCaller(url()).acquire("k", "ann").verdict, Verdict::granted);
}

// A dump without data, or a plan whose last line nobody ran.
TEST_P(Schema, a_state_without_its_row_is_refused_and_completed) {
  make_tables(url());
  MariaCaller ours(url());
  ours.acquire("known", "ann");
  query("DELETE FROM holdfast_state");
  EXPECT_THAT(refused(url()).detail, AllOf(HasSubstr("holdfast_state"), HasSubstr(" init")));
  const Request batch[] = {{.verb = Verb::acquire, .key = {"new"}, .owner = {"ann"}, .ttl = 1h},
                           {.verb = Verb::acquire, .key = {"other"}, .owner = {"ann"}, .ttl = 1h}};
  Reply replies[2];
  for (const std::size_t size : {1u, 2u}) {
    const Status status = ours.connection().apply({batch, size}, {replies, size}, soon());
    ASSERT_FALSE(status) << "of a connection that was there before";
    // A single statement only sees that there is no number for the new row.
    EXPECT_EQ(status.error().code, size == 1 ? Errc::refused : Errc::unprepared) << status.error().detail;
  }
  EXPECT_EQ(ours.release("known", "ann").verdict, Verdict::released) << "which needs nothing of it";
  EXPECT_EQ(admin()->plan(soon()).value().size(), 1u);
  make_tables(url());
  EXPECT_EQ(ours.acquire("new", "ann").verdict, Verdict::granted);
}

TEST_P(Schema, many_may_init_at_once) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      const auto made = admin()->init(soon());
      EXPECT_TRUE(made) << made.error().detail;
    });
  }
  threads.clear();
  EXPECT_EQ(query("SELECT COUNT(*) FROM holdfast_state"), "1");
}

TEST_P(Schema, another_engine_than_innodb_is_refused_and_left_alone) {
  make_tables(url());
  query("ALTER TABLE locks ENGINE=MyISAM");
  EXPECT_THAT(refused(url()).detail, AllOf(HasSubstr("\"locks\""), HasSubstr("MyISAM"), HasSubstr("InnoDB")));
  const auto made = admin()->init(soon());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::refused);
}

TEST_P(Schema, a_key_that_a_collation_folds_is_refused) {
  make_tables(url());
  query("ALTER TABLE locks MODIFY `key` VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL");
  EXPECT_THAT(refused(url()).detail,
              AllOf(HasSubstr("\"key\" is varchar(255)"), HasSubstr("varbinary"),
                    HasSubstr("; if it belongs to another program, name another table with ?table=")));
}

TEST_P(Schema, a_column_that_is_missing_or_of_another_type_is_named) {
  for (const auto& [change, name] :
       {std::pair("ALTER TABLE locks MODIFY locked_until DATETIME", "locked_until"),
        std::pair("ALTER TABLE locks DROP COLUMN sequence", "sequence"),
        std::pair("ALTER TABLE locks MODIFY locked_by VARBINARY(512) NOT NULL", "locked_by"),
        std::pair("ALTER TABLE locks DROP PRIMARY KEY", "key"),
        std::pair("ALTER TABLE locks ADD COLUMN created DATETIME NOT NULL", "created"),
        std::pair("ALTER TABLE holdfast_waiters DROP COLUMN ticket", "ticket")}) {
    make_tables(url());
    query(change);
    EXPECT_THAT(refused(url()).detail, HasSubstr("\"" + std::string(name) + "\"")) << change;
    query("DROP TABLE locks, holdfast_waiters");
  }
}

// The advice is run as it stands.
TEST_P(Schema, a_missing_column_can_be_added_where_there_are_rows) {
  make_tables(url());
  MariaCaller ours(url());
  ours.acquire("k", "ann");
  ours.acquire("k", "bob", 1h, 1h);
  try_store(url()).value()->jobs(soon()).value()->enqueue({.name = "Job", .key = "j"}, soon()).value();
  query(
      "INSERT INTO holdfast_facts VALUES ('f', 1, 0, 'n'); INSERT INTO holdfast_log (at, `key`, event, "
      "holder, "
      "token, `by`, reason) VALUES (NOW(6), 'k', 'broken', 'ann', 1, 'bob', '')");
  std::istringstream columns(query(
      "SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND "
      "COLUMN_KEY <> 'PRI' AND TABLE_NAME <> 'holdfast_ticks'"));
  int tried = 0;
  for (std::string table, column; columns >> table >> column; ++tried) {
    query("ALTER TABLE " + table + " DROP COLUMN `" + column + "`");
    const auto said = admin()->plan(soon());
    ASSERT_FALSE(said) << table << " " << column;
    const std::string what = said.error().detail;
    const std::size_t from = what.find("ALTER TABLE");
    ASSERT_NE(from, std::string::npos) << what;
    query(what.substr(from, what.find(';', from) - from) +
          (column == "slot" ? ", ADD UNIQUE KEY slot (slot)" : ""));
    EXPECT_EQ(query("SELECT COUNT(*) FROM " + table), "1") << column;
  }
  EXPECT_GT(tried, 40);
  EXPECT_EQ(MariaCaller(url()).acquire("new", "ann").verdict, Verdict::granted);
}

TEST_P(Schema, a_narrow_column_refuses_by_name_what_it_cannot_take) {
  make_tables(url());
  query("ALTER TABLE locks MODIFY `key` VARBINARY(10) NOT NULL");
  MariaCaller ours(url());
  EXPECT_EQ(ours.acquire("0123456789", "ann").verdict, Verdict::granted);
  const auto reply = ours.try_acquire("0123456789a", "ann");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::refused);
  EXPECT_THAT(reply.error().detail, AllOf(HasSubstr("0123456789a"), HasSubstr("10 bytes")));
}

TEST_P(Schema, keys_and_holders_are_compared_byte_by_byte) {
  make_tables(url());
  MariaCaller ours(url());
  const std::string odd = "a'b\\c\"d`e\n;--\xc3\xa4";
  for (const std::string& key : {std::string("Job"), std::string("job"), std::string("job "),
                                 std::string("j\xc3\xb6"
                                             "b"),
                                 std::string("jo\xcc\x88"
                                             "b"),
                                 odd, std::string(512, 'k')}) {
    EXPECT_EQ(ours.acquire(key, "ann").verdict, Verdict::granted) << key;
    EXPECT_EQ(ours.acquire(key, "Ann").verdict, Verdict::busy) << key;
    EXPECT_EQ(ours.acquire(key, "ann ").verdict, Verdict::busy) << key;
    EXPECT_EQ(ours.renew(key, "ANN").verdict, Verdict::lost) << key;
  }
  const Page page = ours.list({.prefix = "job"});
  ASSERT_EQ(page.leases.size(), 2u);
  EXPECT_EQ(page.leases[1].key, "job ");
  EXPECT_EQ(ours.acquire("owner", odd).verdict, Verdict::granted);
  EXPECT_EQ(ours.renew("owner", odd).owner, odd);
}

TEST_P(Schema, two_tables_are_apart) {
  make_tables(url());
  make_tables(url() + "?table=orders");
  EXPECT_EQ(MariaCaller(url()).acquire("k", "ann").verdict, Verdict::granted);
  MariaCaller other(url() + "?table=orders");
  EXPECT_EQ(other.acquire("k", "bob").verdict, Verdict::granted);
  EXPECT_EQ(query("SELECT COUNT(*) FROM orders_holdfast_waiters"), "0");
  EXPECT_FALSE(try_store(url() + "?table=a-b"));
  EXPECT_FALSE(try_store(url() + "?table=holdfast_log"));
}

HOLDFAST_ON_BOTH(Schema);

}  // namespace
}  // namespace holdfast::test
