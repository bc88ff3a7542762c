// SPDX-License-Identifier: Apache-2.0
// The grants of docs/stores/postgres.md: a role that has them and no more can do all that a client does.
#include <gmock/gmock.h>

#include "holdfast/holdfast.h"
#include "tests/postgres/granted_role.h"
#include "tests/postgres/jobs_suite.h"
#include "tests/support/findings.h"

namespace holdfast::test {
namespace {

class Grants : public PostgresTest {
 protected:
  Grants() {
    make_tables(url());
    role_.grant("GRANT SELECT, INSERT, UPDATE ON locks");
  }
  std::string least() const { return role_.url("?table=" + schema_ + ".locks"); }
  const GrantedRole role_{schema_};
};

TEST_F(Grants, are_enough_for_all_that_clients_do) {
  use_all_of_leases<Caller>(least());
  Caller ours(least());
  EXPECT_TRUE(ours.listener());
  EXPECT_TRUE(ours.store().admin()->plan(soon()).value().empty());
}

TEST_F(Grants, of_jobs_are_enough_for_all_that_workers_do) {
  role_.grant("GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast_jobs");
  use_all_of_jobs(least());
}

TEST_F(Grants, of_shedlocks_layout_are_enough_for_all_that_clients_do) {
  const std::string table = "?layout=shedlock&table=" + schema_ + ".shedlock";
  make_tables(shared_postgres().url() + table);
  role_.grant("GRANT SELECT, INSERT, UPDATE ON shedlock TO", "/migrate/shedlock.md");
  use_all_of_leases<Caller>(role_.url(table));
  const auto admin = try_store(role_.url(table)).value()->admin();
  EXPECT_TRUE(admin->plan(soon()).value().empty());
  psql()->run("REVOKE INSERT, UPDATE ON shedlock FROM " + role_.name());
  const Diagnosis diagnosis = admin->diagnose(soon()).value();
  EXPECT_THAT(
      the(diagnosis, "postgres.privileges").advice,
      ::testing::AllOf(::testing::HasSubstr("GRANT INSERT, UPDATE ON"), ::testing::HasSubstr("shedlock\"")));
  EXPECT_EQ(the(diagnosis, "postgres.layout").severity, Severity::warning);
}

TEST_F(Grants, do_not_let_a_client_forget_tokens) {
  Psql psql(role_.url());
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
  role_.grant("GRANT DELETE ON locks");
  Caller ours(least());
  ours.acquire("k", "ann");
  ours.release("k", "ann");
  EXPECT_TRUE(await([&] { return purge().value().keys == 1; }));
}

}  // namespace
}  // namespace holdfast::test
