// SPDX-License-Identifier: Apache-2.0
// A token never falls, whatever the server forgets.
#include "tests/redis/suite.h"

namespace holdfast::test {
namespace {

const std::string facts = "holdfast:facts:{k}";

class Tokens : public RedisTest {
 protected:
  Token grant(std::string_view owner = "ann") {
    const Reply r = caller_.acquire("k", owner);
    EXPECT_EQ(r.verdict, Verdict::granted);
    caller_.release("k", owner);
    return r.token;
  }
  std::int64_t now_s() {
    return std::chrono::floor<std::chrono::seconds>(wall_now().time_since_epoch()).count();
  }
  Caller caller_{server_.url()};
};

TEST_F(Tokens, rise_across_flushall) {
  const Token before = grant();
  redis({"FLUSHALL"});
  EXPECT_GT(grant(), before);
}

TEST_F(Tokens, rise_across_the_loss_of_the_facts) {
  Token last = grant();
  for (int i = 0; i < 3; ++i) {
    redis({"DEL", facts});
    const Token next = grant();
    EXPECT_GT(next, last);
    last = next;
  }
}

// As if the clock had been set back: the token is ahead of it, and the facts are gone.
TEST_F(Tokens, rise_across_the_loss_of_the_facts_and_a_clock_set_back) {
  grant();
  const std::uint64_t ahead = static_cast<std::uint64_t>(now_s() + 3600) * 1'000'000;
  redis({"HSET", facts, "token", std::to_string(ahead)});
  const Token last = grant();
  ASSERT_GT(to_number(last), ahead);
  redis({"DEL", facts});
  EXPECT_GT(grant(), last) << "the server still knows until when the facts were kept";
}

TEST_F(Tokens, rise_when_the_facts_ran_out_and_were_swept_and_the_clock_was_set_back) {
  grant();
  // As it is when that time is over; a key that is new sweeps it.
  redis({"DEL", facts});
  redis({"ZADD", "holdfast:kept", std::to_string(now_s() - 5), "k"});
  caller_.acquire("new", "ann");
  EXPECT_EQ(redis({"ZSCORE", "holdfast:kept", "k"}), "(nil)");
  EXPECT_EQ(redis({"ZSCORE", "holdfast:index", "k"}), "(nil)");
  const std::uint64_t remembered = std::stoull(redis({"GET", "holdfast:purged"}));
  EXPECT_GT(remembered, static_cast<std::uint64_t>(now_s() - 60) * 1'000'000);
  const std::uint64_t ahead = static_cast<std::uint64_t>(now_s() + 3600) * 1'000'000;
  redis({"SET", "holdfast:purged", std::to_string(ahead)});
  EXPECT_GT(to_number(grant()), ahead);
}

TEST_F(Tokens, sweeping_takes_a_few_at_a_time_and_only_what_is_over) {
  for (int i = 0; i < 5; ++i) caller_.acquire("k" + std::to_string(i), "ann", 1ms);
  ASSERT_TRUE(await([&] { return redis({"EXISTS", "k0", "k1", "k2", "k3", "k4"}) == "0"; }));
  for (int i = 0; i < 4; ++i) {
    redis({"DEL", "holdfast:facts:{k" + std::to_string(i) + "}"});
    redis({"ZADD", "holdfast:kept", std::to_string(now_s() - 5), "k" + std::to_string(i)});
  }
  caller_.acquire("x", "ann");
  EXPECT_EQ(redis({"ZCARD", "holdfast:kept"}), "4");
  caller_.acquire("x", "ann");
  EXPECT_EQ(redis({"ZCARD", "holdfast:kept"}), "4") << "only who adds takes away";
  caller_.acquire("y", "ann");
  EXPECT_EQ(redis({"ZCARD", "holdfast:kept"}), "3");
  caller_.acquire("z", "ann");
  EXPECT_EQ(redis({"ZRANGE", "holdfast:index", "0", "-1"}), "k4\nx\ny\nz");
}

TEST_F(Tokens, rise_across_a_restart_without_persistence) {
  RedisServer forgetful({.lines = {"appendonly no", "save \"\""}});
  Caller caller(forgetful.url());
  const Token before = caller.acquire("k", "ann").token;
  forgetful.kill();
  forgetful.start();
  ASSERT_EQ(forgetful.command({"DBSIZE"}), "0");
  const Reply after = Caller(forgetful.url()).acquire("k", "bob");
  EXPECT_EQ(after.verdict, Verdict::granted);
  EXPECT_GT(after.token, before);
}

TEST_F(Tokens, rise_across_script_flush_and_a_script_is_sent_again) {
  const Token before = grant();
  redis({"SCRIPT", "FLUSH"});
  EXPECT_GT(grant(), before);
  EXPECT_EQ(caller_.list({}).leases.size(), 1u);
  redis({"SCRIPT", "FLUSH"});
  EXPECT_EQ(caller_.list({}).leases.size(), 1u);
}

TEST_F(Tokens, facts_outlive_the_lease_by_a_day_and_no_longer_than_three) {
  const auto seconds_left = [&] { return std::stoll(redis({"TTL", facts})); };
  caller_.acquire("k", "ann", 1h);
  EXPECT_GE(seconds_left(), 25 * 3600 - 1);
  EXPECT_LE(seconds_left(), 49 * 3600 + 1);
  caller_.renew("k", "ann", no_token, std::chrono::hours(100));
  EXPECT_GE(seconds_left(), 124 * 3600 - 1);
  EXPECT_EQ(redis({"ZSCORE", "holdfast:kept", "k"}), redis({"HGET", facts, "kept"}));
}

TEST_F(Tokens, facts_of_a_lease_without_end_stay_until_it_ends) {
  caller_.acquire("k", "ann", never);
  EXPECT_EQ(redis({"TTL", facts}), "-1");
  caller_.release("k", "ann");
  EXPECT_GT(std::stoll(redis({"TTL", facts})), 86'000);
  caller_.acquire("k", "ann");
  caller_.renew("k", "ann", no_token, never);
  EXPECT_EQ(redis({"TTL", facts}), "-1");
  const Token token = caller_.renew("k", "ann").token;
  EXPECT_EQ(caller_.evict("k", token).verdict, Verdict::released);
  EXPECT_GT(std::stoll(redis({"TTL", facts})), 86'000);
}

TEST_F(Tokens, facts_of_a_lease_without_end_that_somebody_took_away_run_out_too) {
  for (const std::string key : {"gone", "{gone}:too", "held"}) caller_.acquire(key, "ann", never);
  redis({"DEL", "gone", "{gone}:too"});
  // As if all of it were two days ago.
  for (const std::string key : {"gone", "{gone}:too", "held"})
    redis({"ZINCRBY", "holdfast:kept", "-172800", key});
  for (const char* key : {"other 1", "other 2", "other 3", "other 4"}) caller_.acquire(key, "ann");
  EXPECT_NE(redis({"TTL", "holdfast:facts:{gone}"}), "-1");
  EXPECT_NE(redis({"TTL", "holdfast:facts:={gone}:too"}), "-1");
  EXPECT_EQ(redis({"TTL", "holdfast:facts:{held}"}), "-1") << "it is held";
  EXPECT_EQ(redis({"ZCOUNT", "holdfast:kept", "10000000000000", "+inf"}), "1");
  EXPECT_EQ(caller_.renew("held", "ann").remaining, never);
  const Token before{std::stoull(redis({"HGET", "holdfast:facts:{gone}", "token"}))};
  EXPECT_GT(caller_.acquire("gone", "bob").token, before);
}

TEST_F(Tokens, facts_are_not_touched_by_every_grant) {
  grant();
  const std::string kept = redis({"HGET", facts, "kept"});
  redis({"EXPIREAT", facts, std::to_string(now_s() + 1'000'000)});
  grant();
  EXPECT_EQ(redis({"HGET", facts, "kept"}), kept);
  EXPECT_GT(std::stoll(redis({"TTL", facts})), 900'000) << "was not set again";
}

TEST_F(Tokens, queues_expire_with_their_waiters) {
  caller_.acquire("k", "ann");
  Caller other(server_.url());
  other.acquire("k", "bob", 1h, 1h);
  EXPECT_GT(std::stoll(redis({"TTL", "holdfast:queue:{k}"})), 86'400);
  EXPECT_GT(std::stoll(redis({"TTL", "holdfast:places:{k}"})), 86'400);
  EXPECT_GT(std::stoll(redis({"TTL", facts})), 86'400);
}

TEST_F(Tokens, without_facts_a_token_proves_nothing_and_the_name_alone_does) {
  const Reply mine = caller_.acquire("k", "ann");
  redis({"DEL", facts});
  EXPECT_EQ(caller_.renew("k", "ann", mine.token).verdict, Verdict::lost);
  EXPECT_EQ(caller_.release("k", "ann", mine.token).verdict, Verdict::lost);
  const Reply again = caller_.acquire("k", "ann");
  EXPECT_EQ(again.verdict, Verdict::granted);
  EXPECT_GT(again.token, mine.token);
  EXPECT_EQ(caller_.renew("k", "ann", again.token).verdict, Verdict::granted);
}

TEST_F(Tokens, a_lost_half_of_a_queue_blocks_nobody) {
  caller_.acquire("k", "ann");
  Caller other(server_.url());
  other.acquire("k", "bob", 1h, 1h);
  redis({"DEL", "holdfast:places:{k}"});  // as an eviction would
  caller_.release("k", "ann");
  EXPECT_EQ(caller_.acquire("k", "cat").verdict, Verdict::granted);
}

}  // namespace
}  // namespace holdfast::test
