// SPDX-License-Identifier: Apache-2.0
// What a list costs a server with many keys.
#include <gtest/gtest.h>

#include "tests/postgres/suite.h"

namespace holdfast::test {
namespace {

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
  // How many of `locks` were read for all pages of that.
  long rows_read_for(Query query) const {
    const long before = rows_read();
    {
      Caller ours(url());
      std::string last(query.after);
      Page page;
      do {
        query.after = last;
        page = ours.list(query);
        if (!page.leases.empty()) last = page.leases.back().key;
      } while (page.leases.size() == query.limit);
    }
    EXPECT_TRUE(await([&] { return rows_read() > before; }));
    return rows_read() - before;
  }
};

// Ruby's locker may call one so; a key of ours has a byte at least.
void expect_listed_with_an_empty_name(const std::string& url, const std::string& table = "locks") {
  Caller ours(url);
  const std::size_t others = ours.list({}).leases.size();
  Psql psql(url.substr(0, url.find('?')));
  psql.run("INSERT INTO " + table + " (key, locked_by, locked_until) VALUES ('', 'ruby', '2500-01-01')");
  for (const bool free : {true, false}) {
    const Page page = ours.list({.free = free, .limit = others + 1});
    ASSERT_EQ(page.leases.size(), others + 1) << free;
    EXPECT_EQ(page.leases[0].key, "");
    EXPECT_EQ(page.leases[0].owner, "ruby");
    EXPECT_TRUE(ours.list({.after = page.leases.back().key, .free = free}).leases.empty());
    const Page one = ours.list({.free = free, .limit = 1});
    ASSERT_EQ(one.leases.size(), 1u);
    EXPECT_NE(one.leases[0].key, "") << "behind a page of only that one it would come again";
  }
  psql.run("DELETE FROM " + table + " WHERE key = ''");
}

TEST_F(Listing, has_a_lock_of_ruby_whose_name_is_empty) {
  Caller(url()).acquire("k", "ann");
  expect_listed_with_an_empty_name(url(), schema_ + ".locks");
}

TEST_F(Listing, keys_that_are_free_fill_no_pages_of_those_that_are_held) {
  constexpr int many = 20'000;
  remember(many);
  Caller ours(url());
  ours.acquire("key 777", "ann");
  EXPECT_GE(rows_read_for({.free = true}), many) << "or the server does not count";
  EXPECT_LT(rows_read_for({.free = false}), 2 * many);
  EXPECT_LT(rows_read_for({.prefix = "key 7", .after = "key 70", .free = false}), 2 * many);
}

TEST_F(Listing, a_page_costs_its_own_rows_where_the_index_has_the_keys_in_order) {
  constexpr int many = 5'000;
  remember(many);
  psql()->run("ANALYZE locks");  // which the server does by itself, a little later
  EXPECT_LT(rows_read_for({.free = true}), 3 * many);
  psql()->run("UPDATE locks SET locked_by = 'ann', locked_until = NULL");
  psql()->run("ANALYZE locks");
  EXPECT_LT(rows_read_for({.free = false}), 3 * many);
}

// Its name is C, and only its provider shows that it is not.
TEST_F(Listing, is_bytewise_whatever_the_order_of_the_database) {
  const std::string database = "icu_" + random_hex(16);
  shared_postgres().execute("CREATE DATABASE " + database +
                            " TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER icu ICU_LOCALE "
                            "'en-US'");
  {
    const std::string url = shared_postgres().url(PostgresAddress::superuser, database);
    make_tables(url);
    Caller ours(url);
    for (const char* key : {"a", "B", "c", "D"}) ours.acquire(key, "ann");
    expect_listed_with_an_empty_name(url);
    for (const bool free : {true, false}) {
      std::string keys;
      for (std::string last; keys.size() < 4;) {
        const Page page = ours.list({.after = last, .free = free, .limit = 1});
        ASSERT_EQ(page.leases.size(), 1u) << keys;
        last = page.leases[0].key;
        keys += last;
      }
      EXPECT_EQ(keys, "BDac");
    }
  }
  shared_postgres().execute("DROP DATABASE " + database + " WITH (FORCE)");
}

}  // namespace
}  // namespace holdfast::test
