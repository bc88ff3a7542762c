// SPDX-License-Identifier: Apache-2.0
// A batch with a request in it that the tables do not take: the others are answered as if it were not there.
#include "tests/mariadb/darwin_suite.h"
#include "tests/support/together.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;

Request acquire(std::string_view key, std::string_view owner = "ann") {
  return {.verb = Verb::acquire, .key = {key}, .owner = {owner}, .ttl = 1h};
}

// Of many callers at once, those in `bad` are refused because of `why`; all others have their lease.
void expect_refused(StoreConnection& connection, const std::vector<Request>& bad, const char* why) {
  std::vector<std::string> keys;
  for (int i = 0; i < 12; ++i) keys.push_back("good " + std::to_string(i));
  std::vector<Request> requests;
  for (const std::string& key : keys) requests.push_back(acquire(key));
  requests.insert(requests.begin() + 5, bad.begin(), bad.end());
  const auto told = ask_together(connection, requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i < 5 || i >= 5 + bad.size()) {
      ASSERT_TRUE(told[i]) << requests[i].key.text << ": " << told[i].error().detail;
      EXPECT_EQ(told[i]->verdict, Verdict::granted);
      continue;
    }
    ASSERT_FALSE(told[i]) << i;
    EXPECT_EQ(told[i].error().code, Errc::refused) << told[i].error().detail;
    EXPECT_THAT(told[i].error().detail, HasSubstr(why));
  }
}

class Batches : public DarwinTable {
 protected:
  Batches() { make_tables(url()); }
};

TEST_P(Batches, a_key_or_a_holder_that_is_too_long_harms_no_other) {
  query("ALTER TABLE locks MODIFY `key` VARBINARY(255) NOT NULL, MODIFY locked_by VARBINARY(255)");
  MariaCaller ours(url());
  const std::string longer(256, 'k');
  expect_refused(ours.connection(), {acquire(longer), acquire("k", longer)}, "255 bytes");
}

TEST_P(Batches, a_row_that_the_table_does_not_take_harms_no_other) {
  query("ALTER TABLE locks ADD CHECK (`key` <> 'bad')");
  MariaCaller ours(url());
  expect_refused(ours.connection(), {acquire("bad")},
                 "the tables are not as this version of Holdfast creates them");
}

TEST_P(Batches, a_row_that_a_trigger_refuses_harms_no_other) {
  for (const std::string verb : {"INSERT", "UPDATE"})
    query("CREATE TRIGGER refuse_" + verb + " BEFORE " + verb +
          " ON locks FOR EACH ROW BEGIN IF NEW.`key` = 'bad' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = "
          "'not this one'; END IF; END");
  MariaCaller ours(url());
  expect_refused(ours.connection(), {acquire("bad")}, "a trigger on the tables refused the change");
}

TEST_P(Batches, a_key_that_is_too_long_for_darwin_harms_no_other) {
  MariaCaller ours(darwin());
  const std::string longer(256, 'k');
  expect_refused(ours.connection(), {acquire(longer)}, "255 letters");
}

TEST_P(Batches, letters_that_darwins_table_does_not_have_harm_no_other) {
  query(
      "CREATE TABLE OLD_LOCK (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, processName VARCHAR(255) NOT NULL, "
      "leaseUntil DATETIME NOT NULL, unlockKey VARCHAR(255) NOT NULL, UNIQUE KEY u (processName)) "
      "ENGINE=InnoDB DEFAULT CHARSET=latin1");
  const std::string old = darwin() + "&table=OLD_LOCK";
  make_tables(old);
  MariaCaller ours(old);
  expect_refused(ours.connection(), {acquire("\xe2\x98\x83")}, "lacks a character");
}

HOLDFAST_ON_BOTH(Batches);

}  // namespace
}  // namespace holdfast::test
