// SPDX-License-Identifier: Apache-2.0
// The grants of docs/stores/mariadb.md: a user that has them and no more can do all that a client does.
#include "tests/mariadb/granted_user.h"
#include "tests/mariadb/suite.h"
#include "tests/support/worker.h"

namespace holdfast::test {
namespace {

class Grants : public MariaTest {
 protected:
  Grants() {
    make_tables(url());
    user_.grant("GRANT SELECT, INSERT, UPDATE ON locks");
  }
  std::string least() const { return user_.url(); }
  const GrantedUser user_{server(), database_};
};

TEST_P(Grants, are_enough_for_all_that_clients_do) {
  use_all_of_leases<MariaCaller>(least());
  // What one has no grant on one does not see.
  for (const std::string& statement : try_store(least()).value()->admin()->plan(soon()).value())
    EXPECT_THAT(statement, ::testing::ContainsRegex("`holdfast_(jobs|ticks)`"));
}

TEST_P(Grants, of_jobs_are_enough_for_all_that_workers_do) {
  user_.grant("GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast_jobs");
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
  make_tables(url() + "?layout=darwin");
  user_.grant("GRANT SELECT, INSERT, UPDATE, DELETE ON DARWIN_LOCK", "/migrate/darwin.md");
  use_all_of_leases<MariaCaller>(user_.url("?layout=darwin"));
}

TEST_P(Grants, of_shedlocks_layout_are_enough_for_all_that_clients_do) {
  make_tables(url() + "?layout=shedlock");
  user_.grant("GRANT SELECT, INSERT, UPDATE ON shedlock TO", "/migrate/shedlock.md");
  use_all_of_leases<MariaCaller>(user_.url("?layout=shedlock"));
}

TEST_P(Grants, a_missing_one_is_refused_by_what_it_is) {
  MariaCaller ours(least());
  query("REVOKE UPDATE ON locks FROM " + user_.name());
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
  user_.grant("GRANT DELETE ON locks");
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
