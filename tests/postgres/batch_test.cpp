// SPDX-License-Identifier: Apache-2.0
// A batch with a request in it that the tables do not take: the others are answered as if it were not there.
#include <gmock/gmock.h>

#include "tests/postgres/suite.h"
#include "tests/support/together.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;

Request acquire(std::string_view key, std::string_view owner = "ann", std::string_view note = {}) {
  return {.verb = Verb::acquire, .key = {key}, .owner = {owner}, .ttl = 1h, .note = note};
}

// Of many callers at once, those in `bad` are refused because of `why`; all others have their lease.
void expect_refused(StoreConnection& connection, const std::vector<Request>& bad, const char* why) {
  std::vector<std::string> keys;
  for (int i = 0; i < 20; ++i) keys.push_back("good " + std::to_string(i));
  std::vector<Request> requests;
  for (const std::string& key : keys) requests.push_back(acquire(key));
  requests.insert(requests.begin() + 7, bad.begin(), bad.end());
  const auto told = ask_together(connection, requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i < 7 || i >= 7 + bad.size()) {
      ASSERT_TRUE(told[i]) << requests[i].key.text << ": " << told[i].error().detail;
      EXPECT_EQ(told[i]->verdict, Verdict::granted);
      continue;
    }
    ASSERT_FALSE(told[i]) << i;
    EXPECT_EQ(told[i].error().code, Errc::refused) << told[i].error().detail;
    EXPECT_THAT(told[i].error().detail, HasSubstr(why));
  }
}

class Batches : public PostgresTest {
 protected:
  Batches() { make_tables(url()); }
};

TEST_F(Batches, a_key_or_a_holder_that_is_too_long_harms_no_other) {
  psql()->run("ALTER TABLE locks ALTER key TYPE varchar(255), ALTER locked_by TYPE varchar(255)");
  Caller ours(url());
  const std::string longer(256, 'k');
  expect_refused(ours.connection(), {acquire(longer), acquire("k", longer)}, "255 letters");
  EXPECT_EQ(psql()->value("SELECT count(*) FROM locks"), "20");
}

TEST_F(Batches, a_note_with_a_nul_harms_no_other) {
  Caller ours(url());
  expect_refused(ours.connection(), {acquire("bad", "ann", std::string_view("n\0te", 4))}, "22021");
  EXPECT_EQ(psql()->value("SELECT count(*) FROM locks"), "20");
}

TEST_F(Batches, letters_that_a_database_does_not_have_harm_no_other) {
  const LatinDatabase latin;
  Caller ours(latin.url());
  const std::string snow = "\xe2\x98\x83";
  expect_refused(ours.connection(), {acquire(snow), acquire("k", snow), acquire("l", "ann", snow)},
                 "the encoding of the database lacks a character");
  EXPECT_EQ(Psql(latin.url()).value("SELECT count(*) FROM locks"), "20");
}

TEST_F(Batches, a_row_that_a_trigger_refuses_harms_no_other) {
  psql()->run(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "RAISE EXCEPTION 'not this one'; END $$; CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON locks FOR "
      "EACH ROW WHEN (NEW.key = 'bad') EXECUTE FUNCTION refuse()");
  Caller ours(url());
  expect_refused(ours.connection(), {acquire("bad")}, "a trigger on the tables refused the change");
  const auto alone = ours.try_ask(acquire("bad"));
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, Errc::refused) << "and not in doubt: it was undone";
}

TEST_F(Batches, a_row_that_row_security_forbids_harms_no_other) {
  const std::string role = "r_" + random_hex(16);
  psql()->run("CREATE ROLE " + role + " LOGIN PASSWORD 'p'; GRANT USAGE ON SCHEMA " + schema_ + " TO " +
              role + "; GRANT ALL ON ALL TABLES IN SCHEMA " + schema_ + " TO " + role +
              "; GRANT ALL ON ALL SEQUENCES IN SCHEMA " + schema_ + " TO " + role +
              "; ALTER TABLE locks ENABLE ROW LEVEL SECURITY; "
              "CREATE POLICY p ON locks USING (true) WITH CHECK (key <> 'bad')");
  {
    Caller ours(shared_postgres().url(role, "postgres", "p") + "?table=" + schema_ + ".locks");
    expect_refused(ours.connection(), {acquire("bad")}, "row security");
    psql()->run("REVOKE INSERT, UPDATE ON locks FROM " + role);
    const Request batch[] = {acquire("k"), acquire("l"), acquire("m")};
    for (const auto& told : ask_together(ours.connection(), batch))
      EXPECT_EQ(told.error().code, Errc::refused) << "who may not write at all is told so, by each";
  }
  psql()->run("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST_F(Batches, a_key_that_is_too_long_for_the_index_harms_no_other) {
  Caller ours(url());
  const std::string longer = random_hex(8000);  // and does not get shorter when it is compressed
  expect_refused(ours.connection(), {acquire(longer)}, "too long for an index");
}

TEST_F(Batches, a_row_whose_numbers_are_at_their_end_harms_no_other) {
  psql()->run("INSERT INTO locks (key, sequence) VALUES ('last', 9223372036854775807)");
  Caller ours(url());
  expect_refused(ours.connection(), {acquire("last")}, "a number in the tables is too large");
}

TEST_F(Batches, requests_for_one_key_answer_for_themselves_too) {
  Caller ours(url());
  const Request batch[] = {acquire("k", "ann"), acquire("k", "bob", std::string_view("\0", 1)),
                           acquire("k", "eve"), acquire("l", "eve")};
  const auto told = ask_together(ours.connection(), batch);
  EXPECT_EQ(told[0]->verdict, Verdict::granted);
  EXPECT_EQ(told[1].error().code, Errc::refused);
  EXPECT_EQ(told[2]->owner, "ann");
  EXPECT_EQ(told[3]->verdict, Verdict::granted);
}

TEST_F(Batches, a_release_of_what_the_table_does_not_take_harms_no_other) {
  psql()->run("ALTER TABLE locks ADD CHECK (key <> 'bad')");
  Caller ours(url());
  ours.acquire("k", "ann");
  const Request batch[] = {{.verb = Verb::release, .key = {"bad"}, .owner = {"ann"}},
                           {.verb = Verb::release, .key = {"k"}, .owner = {"ann"}}};
  const auto told = ask_together(ours.connection(), batch);
  EXPECT_FALSE(told[0]);
  ASSERT_TRUE(told[1]) << told[1].error().detail;
  EXPECT_EQ(told[1]->verdict, Verdict::released);
}

// One that is acquired later is believed in for longer: if the first is still held when the second is lost,
// it was renewed although the second was not.
TEST_F(Batches, a_lease_whose_row_cannot_be_written_costs_no_other_its_renewal) {
  psql()->run(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "RAISE check_violation; END $$; CREATE TRIGGER refuse BEFORE UPDATE ON locks FOR EACH ROW "
      "WHEN (OLD.key = 'bad') EXECUTE FUNCTION refuse()");
  Client client = open(url());
  const AcquireOptions options{.ttl = 2s};
  const Lease good = client.acquire("good", options), bad = client.acquire("bad", options);
  ASSERT_TRUE(await([&] { return !bad.held(); }));
  EXPECT_TRUE(good.held());
}

}  // namespace
}  // namespace holdfast::test
