// SPDX-License-Identifier: Apache-2.0
// Behind PgBouncer in transaction mode; and what is found of servers that are not PostgreSQL itself.
#include <gmock/gmock.h>

#include <thread>

#include "holdfast/holdfast.h"
#include "stores/postgres/findings.h"
#include "tests/postgres/suite.h"
#include "tests/support/findings.h"
#include "tests/support/servers/pgbouncer.h"

namespace holdfast::test {
namespace {

class Pooler : public PostgresTest {
 protected:
  Pooler() { make_tables(url()); }
  std::string pooled() const { return bouncer_.url() + "?table=" + schema_ + ".locks"; }
  const PgBouncer bouncer_{shared_postgres(), {"default_pool_size = 2"}};
};

TEST_F(Pooler, it_is_noticed_and_reported) {
  Caller ours(pooled());
  const Traits traits = ours.examine();
  EXPECT_FALSE(traits.push);
  EXPECT_THAT(found(traits), ::testing::Contains(::testing::HasSubstr("pooler")));
  EXPECT_EQ(told(traits).size(), 1u);
  ASSERT_NE(about(traits, "postgres.pooler"), nullptr);
  EXPECT_THAT(about(traits, "postgres.pooler")->advice, ::testing::HasSubstr("server_login_retry"));
  EXPECT_FALSE(ours.listener());
  EXPECT_TRUE(Caller(url()).examine().push);
}

TEST_F(Pooler, all_verbs_work_again_and_again) {
  Caller a(pooled()), b(pooled()), c(pooled());
  for (int i = 0; i < 10; ++i) {
    const Reply mine = a.acquire("k", "ann");
    ASSERT_EQ(mine.verdict, Verdict::granted);
    EXPECT_EQ(b.acquire("k", "bob").verdict, Verdict::busy);
    EXPECT_EQ(a.renew("k", "ann", mine.token).verdict, Verdict::granted);
    EXPECT_EQ(c.acquire("k", "cat").owner, "ann");
    EXPECT_EQ(a.release("k", "ann", mine.token).verdict, Verdict::released);
  }
}

TEST_F(Pooler, a_waiter_polls_and_gets_it) {
  Client first = open(pooled()), second = open(pooled());
  auto lease = first.acquire("k");
  std::jthread releasing([&] {
    EXPECT_TRUE(await([&] { return Admin(first).list({.what = Query::What::places}).places.size() == 1; }));
    lease.release();
  });
  EXPECT_TRUE(second.acquire("k", {.wait = 20s}).held());
}

TEST_F(Pooler, settings_of_ours_do_not_stay_on_the_servers_connections) {
  Caller ours(pooled());
  for (int i = 0; i < 5; ++i) {
    ours.acquire("k", "ann");
    ours.release("k", "ann");
  }
  Psql other(bouncer_.url());
  EXPECT_EQ(other.value("SHOW lock_timeout"), "0");
  EXPECT_EQ(other.value("SHOW plan_cache_mode"), "auto");
}

// Answers that no server here can give.
TEST(Findings, of_what_is_not_really_postgresql_and_of_a_queue_that_fills) {
  const postgres::ServerProbe probe{.tables = postgres::Tables::named("locks").value()};
  const auto of = [&](postgres::Server server) { return topics_of(postgres::findings_of(server, probe)); };
  EXPECT_TRUE(of({.version = "PostgreSQL 15.18 (Debian 15.18-1)"}).empty());
  EXPECT_THAT(of({.version = "CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu)"}),
              ::testing::ElementsAre("warning postgres.kind"));
  EXPECT_THAT(of({.version = "PostgreSQL 11.2-YB-2.18.0.0-b0 on x86_64"}),
              ::testing::ElementsAre("warning postgres.kind"));
  EXPECT_THAT(of({.version = "Greenplum 7"}), ::testing::ElementsAre("note postgres.kind"));
  EXPECT_THAT(of({.queue_fills = true}), ::testing::ElementsAre("warning postgres.notify-queue"));
  const auto deep = [&](postgres::Depth depth) {
    return topics_of(postgres::findings_of(depth, probe, "postgres://db/app"));
  };
  EXPECT_THAT(deep({.several_primaries = true}), ::testing::Contains("warning postgres.kind"));
  EXPECT_THAT(deep({.aurora = true}), ::testing::Contains("note postgres.kind"));
  EXPECT_THAT(deep({.far = true, .in_tls = true}), ::testing::Contains("warning postgres.tls"));
  EXPECT_THAT(deep({.far = true, .in_tls = true, .verified = true}),
              ::testing::Not(::testing::Contains("warning postgres.tls")));
  EXPECT_EQ(postgres::name_in("PostgreSQL 15.18 (Debian 15.18-1) on x86_64"), "PostgreSQL 15.18");
  EXPECT_EQ(postgres::name_in("odd"), "odd");
}

TEST(Findings, that_keep_every_client_out_say_that_no_lease_is_granted) {
  using ::testing::ElementsAre;
  const auto table = postgres::Tables::named("locks").value();
  const auto of = [](const postgres::ServerProbe& probe) {
    return blocking_topics_of(postgres::findings_of(postgres::Server{.fsync = false}, probe));
  };
  EXPECT_TRUE(of({.tables = table}).empty());
  EXPECT_THAT(of({.tables = table, .standby = true}), ElementsAre("postgres.recovery"));
  EXPECT_THAT(of({.tables = table, .read_only = true}), ElementsAre("postgres.read-only"));
  const auto deep = [](const postgres::Depth& depth, const postgres::ServerProbe& probe) {
    return blocking_topics_of(postgres::findings_of(depth, probe, "postgres://db/app"));
  };
  const postgres::ServerProbe whole{
      .tables = table, .table = true, .sequence = true, .one_row_per_key = true};
  EXPECT_TRUE(deep({.superuser = true, .servers = 2}, whole).empty());
  EXPECT_THAT(deep({}, {.tables = table}), ElementsAre("postgres.tables"));
  EXPECT_THAT(deep({}, {.tables = table, .wrong = "it is another"}), ElementsAre("postgres.columns"));
  EXPECT_THAT(deep({.no_tables = "locks"}, whole), ElementsAre("postgres.columns"));
  EXPECT_THAT(deep({.grants = {"GRANT"}}, whole), ElementsAre("postgres.privileges"));
}

}  // namespace
}  // namespace holdfast::test
