// SPDX-License-Identifier: Apache-2.0
// What people see of a server that has a million keys of others.
#include <algorithm>

#include "tests/redis/suite.h"

namespace holdfast::test {
namespace {

class ListingOfRedis : public RedisTest {
 protected:
  Caller caller_{server_.url()};
};

TEST_F(ListingOfRedis, never_scans_the_keys_of_others) {
  redis({"EVAL", "for i = 1, 100000 do redis.call('SET', 'foreign:' .. i, i) end", "0"});
  for (int i = 0; i < 450; ++i) caller_.acquire("key " + std::to_string(1000 + i), "ann");
  redis({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(caller_.list({}).leases.size(), 450u);
  EXPECT_EQ(caller_.list({.prefix = "foreign:"}).leases.size(), 0u);
  EXPECT_EQ(caller_.list({.what = Query::What::places}).places.size(), 0u);
  (void)caller_.store().admin()->purge({}, soon()).value();
  const std::string stats = redis({"INFO", "commandstats"});
  EXPECT_FALSE(mentions(stats, "cmdstat_scan:")) << stats;
  EXPECT_FALSE(mentions(stats, "cmdstat_keys:")) << stats;
  EXPECT_TRUE(mentions(stats, "cmdstat_zrangebylex:")) << stats;
}

TEST_F(ListingOfRedis, goes_page_by_page_in_the_order_of_bytes) {
  for (int i = 0; i < 450; ++i) caller_.acquire("key " + std::to_string(1000 + i), "ann");
  std::string after;
  std::vector<std::string> keys;
  while (true) {
    const auto page = caller_.list({.prefix = "key ", .after = after, .limit = 70}).leases;
    if (page.empty()) break;
    EXPECT_LE(page.size(), 70u);
    for (const LeaseRow& row : page) keys.push_back(row.key);
    after = keys.back();
  }
  ASSERT_EQ(keys.size(), 450u);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
}

TEST_F(ListingOfRedis, leaves_out_what_has_run_out_and_goes_on_behind_it) {
  for (int i = 0; i < 450; ++i) caller_.acquire("key " + std::to_string(1000 + i), "ann", 1ms);
  for (int i = 0; i < 440; ++i) redis({"DEL", "holdfast:facts:{key " + std::to_string(1000 + i) + "}"});
  ASSERT_TRUE(await([&] { return redis({"EXISTS", "key 1000"}) == "0"; }));
  EXPECT_EQ(caller_.list({.limit = 5}).leases.size(), 5u);
  EXPECT_EQ(caller_.list({}).leases.size(), 10u);
}

TEST_F(ListingOfRedis, the_log_is_read_in_pages_and_kept_short) {
  for (int i = 0; i < 500; ++i) {
    const char* const key = i % 100 == 0 ? "seldom" : "often";
    caller_.evict(key, caller_.acquire(key, "ann").token);
  }
  const auto log = [&](Query q) {
    q.what = Query::What::log;
    return caller_.list(q).log;
  };
  EXPECT_EQ(log({}).size(), 500u);
  EXPECT_EQ(log({.prefix = "seldom", .exact = true}).size(), 5u);
  EXPECT_EQ(log({.prefix = "seldom", .exact = true, .limit = 2}).size(), 2u);
  EXPECT_GT(log({.limit = 2})[0].at, log({.limit = 2})[1].at);
}

TEST_F(ListingOfRedis, a_key_that_is_something_else_is_refused_by_name_as_an_acquire_is) {
  redis({"RPUSH", "list", "1"});
  for (const char* key : {"list", "holdfast:index"}) {
    const auto page = caller_.connection().list({.prefix = key, .exact = true}, soon());
    ASSERT_FALSE(page) << key;
    EXPECT_EQ(page.error().code, Errc::refused);
    EXPECT_EQ(page.error().detail, caller_.try_acquire(key).error().detail);
  }
}

TEST_F(ListingOfRedis, a_key_that_has_become_something_else_is_among_others_shown_as_that) {
  for (const char* key : {"list", "lock"}) caller_.acquire(key, "ann");
  redis({"DEL", "list"});
  redis({"RPUSH", "list", "1"});
  const auto shown = caller_.list({}).leases;
  ASSERT_EQ(shown.size(), 2u);
  EXPECT_EQ(shown[0].owner, "(not a lease: a list)");
  EXPECT_EQ(shown[0].token, no_token);
  EXPECT_EQ(shown[1].owner, "ann");
}

TEST_F(ListingOfRedis, prefixes_and_databases_are_apart) {
  Caller prefixed(server_.url() + "?prefix=a:"), numbered(server_.url() + "/1");
  EXPECT_EQ(caller_.acquire("k", "ann").verdict, Verdict::granted);
  EXPECT_EQ(prefixed.acquire("k", "bob").verdict, Verdict::granted);
  EXPECT_EQ(numbered.acquire("k", "cat").verdict, Verdict::granted);
  EXPECT_EQ(caller_.list({}).leases.size(), 1u);
  EXPECT_EQ(prefixed.list({}).leases.size(), 1u);
  EXPECT_EQ(numbered.list({}).leases.at(0).owner, "cat");
  EXPECT_EQ(redis({"GET", "a:k"}), "bob");
  const auto table = caller_.store().in("a").value();
  EXPECT_EQ(table->connect(soon()).value()->list({}, soon()).value().leases.at(0).owner, "bob")
      << "a table is a prefix";
}

TEST_F(ListingOfRedis, keys_with_braces_are_keys_like_others) {
  const std::vector<std::string> keys{"{a}", "a}:{a", "{a}:a}:{a", "{}", "}", "{", "{user:1}:mail", "a{b}c"};
  for (const std::string& key : keys)
    EXPECT_EQ(caller_.acquire(key, "h" + key).verdict, Verdict::granted) << key;
  for (const std::string& key : keys)
    EXPECT_EQ(caller_.renew(key, "h" + key).verdict, Verdict::granted) << key;
  EXPECT_EQ(caller_.list({}).leases.size(), keys.size());
}

}  // namespace
}  // namespace holdfast::test
