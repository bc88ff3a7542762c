// SPDX-License-Identifier: Apache-2.0
// The grants of docs/stores/mariadb.md: a user that has them and no more can do all that a client does.
#include <fstream>
#include <sstream>

#include "tests/mariadb/suite.h"
#include "tests/support/worker.h"

namespace holdfast::test {
namespace {

// The block of the page that grants them to `app`.
std::string block_with(const std::string& words, const std::string& name = "/stores/mariadb.md") {
  std::ifstream file(HOLDFAST_PAGES + name);
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

class Grants : public MariaTest {
 protected:
  Grants() {
    make_tables(url());
    query("CREATE USER " + user_ + "@'%' IDENTIFIED BY ''");
    grant("GRANT SELECT, INSERT, UPDATE ON locks");
  }
  ~Grants() override { query("DROP USER " + user_ + "@'%'"); }
  void grant(const std::string& words, const std::string& page = "/stores/mariadb.md") {
    std::string sql = block_with(words, page);
    replace(sql, "TO app", "TO " + user_);
    query(sql);
  }
  std::string least() const { return server().url(user_, database_); }
  const std::string user_ = "u_" + random_hex(16);
};

TEST_P(Grants, are_enough_for_all_that_clients_do) {
  MariaCaller a(least()), b(least());
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
  // What one has no grant on one does not see.
  for (const std::string& statement : a.store().admin()->plan(soon()).value())
    EXPECT_THAT(statement, ::testing::ContainsRegex("`holdfast_(jobs|ticks)`"));
}

TEST_P(Grants, of_jobs_are_enough_for_all_that_workers_do) {
  grant("GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast_jobs");
  Worker worker(least());
  const JobId id = worker.enqueue("k", {.unique = Unique::loner, .tick_name = "t", .tick = 1}).id;
  const Claimed claimed = worker.claim("w1");
  EXPECT_TRUE(worker.finish(claimed).released);
  EXPECT_TRUE(worker.change(id, JobChange::retry));
  EXPECT_TRUE(worker.change(id, JobChange::remove));
  EXPECT_TRUE(worker.engine().take_tick({.name = "n", .tick = 1}, soon()));
  EXPECT_TRUE(worker.engine().note_success("n", "me", soon()));
  EXPECT_TRUE(worker.engine().purge({.older_than = 0ms}, soon()));
  EXPECT_TRUE(try_store(least()).value()->admin()->plan(soon()).value().empty());
}

TEST_P(Grants, of_darwins_layout_are_enough_for_all_that_clients_do) {
  const std::string darwin = "?layout=darwin";
  make_tables(url() + darwin);
  grant("GRANT SELECT, INSERT, UPDATE, DELETE ON DARWIN_LOCK", "/migrate/darwin.md");
  MariaCaller a(least() + darwin), b(least() + darwin);
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
}

TEST_P(Grants, of_shedlocks_layout_are_enough_for_all_that_clients_do) {
  const std::string shedlock = "?layout=shedlock";
  make_tables(url() + shedlock);
  std::string sql = block_with("GRANT SELECT, INSERT, UPDATE ON shedlock TO", "/migrate/shedlock.md");
  replace(sql, "TO app", "TO " + user_);
  replace(sql, "GRANT USAGE ON SEQUENCE", "-- ");  // PostgreSQL's
  query(sql);
  MariaCaller a(least() + shedlock), b(least() + shedlock);
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
}

TEST_P(Grants, a_missing_one_is_refused_by_what_it_is) {
  MariaCaller ours(least());
  query("REVOKE UPDATE ON locks FROM " + user_);
  const auto reply = ours.try_acquire("k", "ann");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::refused);
  EXPECT_THAT(reply.error().detail,
              ::testing::AllOf(::testing::HasSubstr("privilege"), ::testing::HasSubstr("1142")));
}

TEST_P(Grants, a_purge_needs_more_and_says_so) {
  const auto purge = [&] { return try_store(least()).value()->admin()->purge({.free_for = 0ms}, soon()); };
  MariaCaller ours(least());
  ours.acquire("k", "ann");
  ours.release("k", "ann");
  const auto refused = purge();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused);
  EXPECT_THAT(refused.error().detail, ::testing::HasSubstr("privilege"));
  grant("GRANT DELETE ON locks");
  EXPECT_TRUE(await([&] { return purge().value().keys == 1; }));
}

TEST_P(Grants, init_says_which_privilege_it_lacks) {
  query("DROP TABLE holdfast_log");
  const auto made = try_store(least()).value()->admin()->init(soon());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::refused);
  EXPECT_THAT(made.error().detail, ::testing::HasSubstr("GRANT CREATE"));
}

HOLDFAST_ON_BOTH(Grants);

}  // namespace
}  // namespace holdfast::test
