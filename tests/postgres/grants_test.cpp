// SPDX-License-Identifier: Apache-2.0
// The grants of docs/stores/postgres.md: a role that has them and no more can do all that a client does.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "holdfast/holdfast.h"
#include "tests/postgres/jobs_suite.h"
#include "tests/support/findings.h"

namespace holdfast::test {
namespace {

// The block of the page that grants them to `app`.
std::string block_with(const std::string& words, const std::string& of_page = "/stores/postgres.md") {
  std::ifstream file(HOLDFAST_PAGES + of_page);
  std::stringstream page;
  page << file.rdbuf();
  const std::string text = page.str();
  const std::size_t at = text.find(words);
  if (at == std::string::npos) throw std::runtime_error("the page has no " + words);
  const std::size_t from = text.find('\n', text.rfind("```sql", at)) + 1;
  return text.substr(from, text.find("```", from) - from);
}

void replace(std::string& text, const std::string& word, const std::string& by) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
}

class Grants : public PostgresTest {
 protected:
  Grants() {
    make_tables(url());
    shared_postgres().execute("CREATE ROLE " + role_ + " LOGIN PASSWORD 'p'; GRANT USAGE ON SCHEMA " +
                              schema_ + " TO " + role_);
    grant("GRANT SELECT, INSERT, UPDATE ON locks");
  }
  ~Grants() override { shared_postgres().execute("DROP OWNED BY " + role_ + "; DROP ROLE " + role_); }
  void grant(const std::string& words) {
    std::string sql = block_with(words);
    replace(sql, "TO app", "TO " + role_);
    psql()->run(sql);
  }
  std::string least() const {
    return shared_postgres().url(role_, "postgres", "p") + "?table=" + schema_ + ".locks";
  }
  const std::string role_ = "r_" + random_hex(16);
};

TEST_F(Grants, are_enough_for_all_that_clients_do) {
  Caller a(least()), b(least());
  const Reply mine = a.acquire("k", "ann");
  EXPECT_EQ(a.renew("k", "ann", mine.token).verdict, Verdict::granted);
  EXPECT_EQ(b.acquire("k", "bob", 1h, 1h).verdict, Verdict::busy);
  EXPECT_EQ(b.acquire("k", "bob", 1h, 1h).verdict, Verdict::busy);
  EXPECT_EQ(a.release("k", "ann", mine.token).verdict, Verdict::released);
  const Reply theirs = b.ask(
      {.verb = Verb::acquire, .key = {"k"}, .owner = {"bob"}, .ttl = 1h, .detached = true, .note = "n"});
  EXPECT_EQ(theirs.verdict, Verdict::granted);
  EXPECT_EQ(a.evict("k", theirs.token).verdict, Verdict::released);
  a.acquire("short", "ann", 1ms);
  EXPECT_TRUE(await([&] { return b.acquire("short", "bob").verdict == Verdict::granted; }));
  for (const auto what : {Query::What::leases, Query::What::places, Query::What::log})
    EXPECT_TRUE(a.connection().list({.what = what}, soon()));
  EXPECT_TRUE(a.connection().examine(soon()));
  EXPECT_TRUE(a.listener());
  EXPECT_TRUE(a.store().admin()->plan(soon()).value().empty());
}

TEST_F(Grants, of_jobs_are_enough_for_all_that_workers_do) {
  grant("GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast_jobs");
  use_all_of_jobs(least());
}

TEST_F(Grants, of_shedlocks_layout_are_enough_for_all_that_clients_do) {
  const std::string table = "?layout=shedlock&table=" + schema_ + ".shedlock";
  make_tables(shared_postgres().url() + table);
  std::string sql = block_with("GRANT SELECT, INSERT, UPDATE ON shedlock TO", "/migrate/shedlock.md");
  replace(sql, "TO app", "TO " + role_);
  psql()->run(sql);
  const std::string url = shared_postgres().url(role_, "postgres", "p") + table;
  Caller a(url), b(url);
  const Reply mine = a.acquire("k", "ann");
  EXPECT_EQ(a.renew("k", "ann", mine.token).verdict, Verdict::granted);
  EXPECT_EQ(b.acquire("k", "bob", 1h, 1h).verdict, Verdict::busy);
  EXPECT_EQ(a.release("k", "ann", mine.token).verdict, Verdict::released);
  const Reply theirs = b.ask({.verb = Verb::acquire, .key = {"k"}, .owner = {"bob"}, .ttl = 1h, .note = "n"});
  EXPECT_EQ(theirs.verdict, Verdict::granted);
  EXPECT_EQ(a.evict("k", theirs.token).verdict, Verdict::released);
  for (const auto what : {Query::What::leases, Query::What::places, Query::What::log})
    EXPECT_TRUE(a.connection().list({.what = what}, soon()));
  EXPECT_TRUE(a.connection().examine(soon()));
  EXPECT_TRUE(a.store().admin()->plan(soon()).value().empty());
  psql()->run("REVOKE INSERT, UPDATE ON shedlock FROM " + role_);
  const Diagnosis diagnosis = a.store().admin()->diagnose(soon()).value();
  EXPECT_THAT(
      the(diagnosis, "postgres.privileges").advice,
      ::testing::AllOf(::testing::HasSubstr("GRANT INSERT, UPDATE ON"), ::testing::HasSubstr("shedlock\"")));
  EXPECT_EQ(the(diagnosis, "postgres.layout").severity, Severity::warning);
}

TEST_F(Grants, do_not_let_a_client_forget_tokens) {
  Psql psql(shared_postgres().url(role_, "postgres", "p"));
  for (const char* sql : {"DELETE FROM locks", "TRUNCATE locks", "DELETE FROM holdfast_log",
                          "DROP TABLE locks", "UPDATE holdfast_log SET by = 'nobody'"}) {
    EXPECT_THROW(psql.run("SET search_path = " + schema_ + "; " + sql), std::runtime_error) << sql;
  }
}

TEST_F(Grants, a_purge_needs_more_and_says_so) {
  const auto purge = [&] { return try_store(least()).value()->admin()->purge({.free_for = 0ms}, soon()); };
  const auto refused = purge();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused);
  EXPECT_THAT(refused.error().detail, ::testing::HasSubstr("privilege"));
  grant("GRANT DELETE ON locks");
  Caller ours(least());
  ours.acquire("k", "ann");
  ours.release("k", "ann");
  EXPECT_TRUE(await([&] { return purge().value().keys == 1; }));
}

}  // namespace
}  // namespace holdfast::test
