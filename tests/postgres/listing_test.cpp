// SPDX-License-Identifier: Apache-2.0
// What a look costs a server that remembers many keys.
#include <gmock/gmock.h>

#include "tests/postgres/suite.h"

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Listing : public PostgresTest {
 protected:
  Listing() { make_tables(url()); }

  void remember(int keys) const {
    psql()->run(
        "INSERT INTO locks (key, sequence, locked_until) SELECT 'key ' || i, i, now() FROM "
        "generate_series(1, " +
        std::to_string(keys) + ") AS i");
  }
  // By the server's own count, to which a connection adds when it ends, if not before.
  long rows_read() const {
    return std::stol(psql()->value(
        "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables WHERE "
        "relname = 'locks' AND schemaname = $1",
        {schema_}));
  }
  // How many of `locks` were read for that.  REQUIRES: it finds something.
  long rows_read_for(const Query& query) const {
    const long before = rows_read();
    {
      Ours ours(url());
      EXPECT_FALSE(ours.store().list(query, soon()).value().leases.empty());
    }
    EXPECT_TRUE(await([&] { return rows_read() > before; }));
    return rows_read() - before;
  }
};

TEST_F(Listing, keys_that_are_free_are_not_read_for_those_that_are_held) {
  constexpr int many = 20'000;
  remember(many);
  Ours ours(url());
  ours.acquire("key 777", "ann");
  EXPECT_GE(rows_read_for({}), many) << "or the server does not count";
  EXPECT_LT(rows_read_for({.free = false}), many / 100);
  EXPECT_LT(rows_read_for({.prefix = "key 7", .after = "key 70", .free = false}), many / 100);
}

TEST_F(Listing, a_table_without_our_index_works_and_init_adds_it) {
  psql()->run("DROP INDEX holdfast_held");
  remember(10);
  Ours ours(url());
  ours.acquire("key 7", "ann");
  EXPECT_EQ(ours.store().list({.free = false}, soon()).value().leases.size(), 1u);
  EXPECT_THAT(ours.origin().steward()->plan(soon()).value(), ElementsAre(HasSubstr("holdfast_held")));
  make_tables(url());
  EXPECT_THAT(ours.origin().steward()->plan(soon()).value(), ElementsAre());
}

}  // namespace
}  // namespace holdfast::test
