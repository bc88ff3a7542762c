// SPDX-License-Identifier: Apache-2.0
// What is left of a key that is purged: its log, and how far its tokens had come.
#include "tests/mongodb/suite.h"

namespace holdfast::test {
namespace {

class PurgeOfMongo : public MongoTest {
 protected:
  Purged purge(Caller& caller, Ttl log_older_than = never) {
    return caller.store().admin()->purge({0ms, log_older_than}, soon()).value();
  }
};

TEST_F(PurgeOfMongo, the_log_outlives_the_key_and_is_listed_once) {
  Caller caller(url());
  for (const char* why : {"one", "two"}) caller.evict("k", caller.acquire("k", "ann").token, why);
  let_pass(2ms);
  EXPECT_EQ(purge(caller).keys, 1u);
  EXPECT_TRUE(caller.list({}).leases.empty());
  caller.evict("k", caller.acquire("k", "ann").token, "three");
  let_pass(2ms);
  EXPECT_EQ(purge(caller).keys, 1u);
  const auto log = caller.list({.what = Query::What::log, .prefix = "k", .exact = true}).log;
  ASSERT_EQ(log.size(), 3u);
  EXPECT_EQ(log[0].reason, "three");
  EXPECT_EQ(log[2].reason, "one");
  EXPECT_EQ(purge(caller, 0ms).log, 3u);
  EXPECT_TRUE(caller.list({.what = Query::What::log}).log.empty());
}

// A document that somebody acquired again while it was being purged stays, and its log is not listed twice.
TEST_F(PurgeOfMongo, a_log_entry_in_both_places_is_listed_once) {
  Caller caller(url());
  const Token token = caller.acquire("k", "ann").token;
  caller.evict("k", token, "why");
  const std::string number = std::to_string(holdfast::to_number(token));
  mongo(R"({"insert": "locks.holdfast_log", "documents": [{"_id": {"key": "k"}, "key": "k", "event": "broken",
            "at": {"$date": "2026-01-01T00:00:00Z"}, "token": {"$numberLong": ")" +
        number + R"("}}]})");
  EXPECT_EQ(caller.list({.what = Query::What::log}).log.size(), 1u);
}

TEST_F(PurgeOfMongo, a_new_key_starts_behind_all_that_are_gone) {
  mongo(R"({"insert": "locks.holdfast_log",
            "documents": [{"_id": "purged", "token": {"$numberLong": "8000000000000000000"}}]})");
  Caller caller(url());
  EXPECT_EQ(to_number(caller.acquire("k", "ann").token), 8'000'000'000'000'000'001u);
  const Request batch[] = {{.verb = Verb::acquire, .key = {"l"}, .owner = {"ann"}, .ttl = 1h},
                           {.verb = Verb::acquire, .key = {"m"}, .owner = {"ann"}, .ttl = 1h}};
  for (const Reply& reply : caller.ask_all({batch[0], batch[1]}))
    EXPECT_EQ(to_number(reply.token), 8'000'000'000'000'000'001u);
}

TEST_F(PurgeOfMongo, how_far_tokens_had_come_is_written_before_a_key_goes) {
  Caller caller(url());
  const Token token = caller.acquire("k", "ann").token;
  caller.release("k", "ann");
  let_pass(2ms);
  EXPECT_EQ(purge(caller).keys, 1u);
  EXPECT_TRUE(mentions(mongo(R"({"find": "locks.holdfast_log", "filter": {"_id": "purged"}})"),
                       std::to_string(to_number(token))));
}

TEST_F(PurgeOfMongo, a_key_whose_token_is_ahead_of_the_clock_stays) {
  mongo(R"({"insert": "locks", "documents": [{"_id": "k", "owner": "", "queue": [],
            "token": {"$numberLong": "8000000000000000000"}, "expires_at": {"$date": "2026-01-01T00:00:00Z"}}]})");
  Caller caller(url());
  EXPECT_EQ(purge(caller).keys, 0u);
  EXPECT_EQ(to_number(caller.acquire("k", "ann").token), 8'000'000'000'000'000'001u);
}

}  // namespace
}  // namespace holdfast::test
