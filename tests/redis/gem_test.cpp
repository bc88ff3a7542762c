// SPDX-License-Identifier: Apache-2.0
// The commands of Ruby's redis_exp_lock, played by hand, and ours on the same keys: both exclude each other.
#include <thread>

#include "tests/redis/suite.h"

namespace holdfast::test {
namespace {

// RedisExpLock.new(key, redis:, expiry:), as it talks to Redis.
class Gem {
 public:
  Gem(const RedisServer& server, std::string key) : server_(server), key_(std::move(key)) {}

  // With a new UUID for each attempt.  A negative expiry: the gem's default, none.
  bool try_lock(int expiry_ms = -1) {
    const std::string hex = random_hex(32);
    uuid_ = hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-4" + hex.substr(13, 3) + "-a" + hex.substr(17, 3) +
            "-" + hex.substr(20);
    std::vector<std::string> words{"set", key_, uuid_};
    if (expiry_ms >= 0) words.insert(words.end(), {"PX", std::to_string(expiry_ms)});
    words.push_back("NX");
    return server_.command(words) == "OK";
  }
  bool unlock() {
    return server_.command({"eval",
                            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) "
                            "else return 0 end",
                            "1", key_, uuid_}) == "1";
  }
  bool key_locked() const { return server_.command({"exists", key_}) == "1"; }
  bool key_owned() const { return server_.command({"get", key_}) == uuid_; }
  const std::string& uuid() const { return uuid_; }

 private:
  const RedisServer& server_;
  const std::string key_;
  std::string uuid_;
};

class BesideTheGem : public RedisTest {
 protected:
  Gem gem_{server_, "nightly"};
  Caller ours_{server_.url()};
};

TEST_F(BesideTheGem, what_we_hold_is_locked_for_it_and_free_after_our_release) {
  ours_.acquire("nightly", "ann");
  EXPECT_FALSE(gem_.try_lock(1000));
  EXPECT_TRUE(gem_.key_locked());
  EXPECT_FALSE(gem_.key_owned());
  EXPECT_FALSE(gem_.unlock()) << "it is not its own";
  EXPECT_EQ(ours_.renew("nightly", "ann").verdict, Verdict::granted);
  ours_.release("nightly", "ann");
  EXPECT_FALSE(gem_.key_locked());
  EXPECT_TRUE(gem_.try_lock(1000));
}

TEST_F(BesideTheGem, what_it_holds_is_busy_for_us_and_free_after_its_unlock) {
  ASSERT_TRUE(gem_.try_lock(60'000));
  const Reply busy = ours_.acquire("nightly", "ann");
  EXPECT_EQ(busy.verdict, Verdict::busy);
  EXPECT_EQ(busy.owner, gem_.uuid());
  EXPECT_EQ(busy.token, no_token);
  EXPECT_GT(busy.remaining, 50s);
  EXPECT_LE(busy.remaining, 60s);
  EXPECT_EQ(ours_.renew("nightly", "ann").verdict, Verdict::lost);
  EXPECT_EQ(ours_.release("nightly", "ann").verdict, Verdict::lost);
  EXPECT_TRUE(gem_.key_owned());
  EXPECT_TRUE(gem_.unlock());
  EXPECT_EQ(ours_.acquire("nightly", "ann").verdict, Verdict::granted);
}

TEST_F(BesideTheGem, its_key_that_ran_out_is_ours_for_the_taking) {
  ASSERT_TRUE(gem_.try_lock(1));
  ASSERT_TRUE(await([&] { return !gem_.key_locked(); }));
  EXPECT_EQ(ours_.acquire("nightly", "ann").verdict, Verdict::granted);
  EXPECT_FALSE(gem_.unlock()) << "it is ours now";
  EXPECT_EQ(ours_.renew("nightly", "ann").verdict, Verdict::granted);
}

TEST_F(BesideTheGem, its_key_without_expiry_is_held_without_end) {
  ASSERT_TRUE(gem_.try_lock());
  EXPECT_EQ(ours_.acquire("nightly", "ann").remaining, never);
}

TEST_F(BesideTheGem, ours_without_end_has_no_expiry_for_it) {
  ours_.acquire("nightly", "ann", never);
  EXPECT_EQ(redis({"pttl", "nightly"}), "-1");
  EXPECT_FALSE(gem_.try_lock(1000));
}

TEST_F(BesideTheGem, it_takes_over_our_expired_lease_and_we_learn_it) {
  const Reply mine = ours_.acquire("nightly", "ann", 2ms);
  ASSERT_TRUE(await([&] { return gem_.try_lock(60'000); }));
  const Reply lost = ours_.renew("nightly", "ann", mine.token);
  EXPECT_EQ(lost.verdict, Verdict::lost);
  EXPECT_EQ(lost.owner, gem_.uuid());
  EXPECT_EQ(ours_.release("nightly", "ann", mine.token).verdict, Verdict::lost);
  EXPECT_TRUE(gem_.key_owned());
  ASSERT_TRUE(gem_.unlock());
  EXPECT_GT(ours_.acquire("nightly", "bob").token, mine.token) << "a grant in between moves no token";
}

TEST_F(BesideTheGem, a_client_is_notified_that_its_lease_was_taken_over) {
  Client client = open(server_.url());
  const Lease lease = client.acquire("nightly", {.renew_every = 100ms});
  redis({"set", "nightly", "some-uuid", "PX", "60000"});  // as if it had run out and the gem had come
  ASSERT_TRUE(await([&] { return lease.stop_token().stop_requested(); }));
  EXPECT_EQ(lease.lost().reason, Loss::stolen);
  EXPECT_TRUE(mentions(lease.lost().detail, "some-uuid")) << lease.lost().detail;
}

TEST_F(BesideTheGem, a_waiter_of_ours_gets_the_key_that_it_unlocks) {
  ASSERT_TRUE(gem_.try_lock(60'000));
  EXPECT_EQ(ours_.acquire("nightly", "ann", 1h, 1h).verdict, Verdict::busy);
  ASSERT_TRUE(gem_.unlock());
  EXPECT_EQ(ours_.acquire("nightly", "ann", 1h, 1h).verdict, Verdict::granted);
}

TEST_F(BesideTheGem, a_client_waits_for_it_although_it_never_notifies) {
  ASSERT_TRUE(gem_.try_lock(60'000));
  Client client = open(server_.url());
  std::jthread waiter([&] { EXPECT_TRUE(client.try_acquire("nightly", {.wait = 20s})); });
  ASSERT_TRUE(await([&] { return redis({"zcard", "holdfast:queue:{nightly}"}) == "1"; }));
  ASSERT_TRUE(gem_.unlock());
}

TEST_F(BesideTheGem, an_acquire_with_its_owner_name_gets_a_token_of_its_own) {
  const Reply before = ours_.acquire("nightly", "ann");
  ours_.release("nightly", "ann");
  ASSERT_TRUE(gem_.try_lock(60'000));
  const Reply adopted = ours_.acquire("nightly", gem_.uuid(), 1s);
  EXPECT_EQ(adopted.verdict, Verdict::granted);
  EXPECT_GT(adopted.token, before.token);
  EXPECT_GT(adopted.remaining, 50s) << "and never shortens";
  EXPECT_EQ(ours_.renew("nightly", gem_.uuid(), adopted.token).verdict, Verdict::granted);
  EXPECT_EQ(ours_.renew("nightly", gem_.uuid(), before.token).verdict, Verdict::lost);
}

TEST_F(BesideTheGem, its_key_is_shown_although_no_holdfast_client_ever_had_it) {
  ASSERT_TRUE(gem_.try_lock(60'000));
  const auto shown = ours_.list({.prefix = "nightly", .exact = true}).leases;
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(shown[0].owner, gem_.uuid());
  EXPECT_GT(shown[0].remaining, 50s);
  EXPECT_TRUE(ours_.list({}).leases.empty()) << "the list is of what we have granted";
}

TEST_F(BesideTheGem, read_returns_that_the_key_is_locked_and_by_whom) {
  Client client = open(server_.url());
  EXPECT_TRUE(client.available("nightly"));
  ASSERT_TRUE(gem_.try_lock(60'000));
  EXPECT_FALSE(client.available("nightly"));
  EXPECT_EQ(client.read("nightly").owner, gem_.uuid());
  EXPECT_EQ(client.read("nightly").token, no_token);
  ASSERT_TRUE(gem_.unlock());
  EXPECT_TRUE(client.available("nightly"));
}

TEST_F(BesideTheGem, an_expiry_is_that_of_the_key_from_the_moment_it_is_set) {
  Client client = open(server_.url());
  const Lease lease = client.acquire("nightly", {.ttl = 60s, .keep = false});
  const int left_ms = std::stoi(redis({"pttl", "nightly"}));
  EXPECT_GT(left_ms, 50'000);
  EXPECT_LE(left_ms, 60'000);
}

TEST_F(BesideTheGem, its_lease_is_shown_without_facts_of_our_earlier_lease) {
  ours_.ask({.verb = Verb::acquire,
             .key = {"nightly"},
             .owner = {"ann"},
             .ttl = 2ms,
             .detached = true,
             .note = "ours"});
  ASSERT_TRUE(await([&] { return gem_.try_lock(60'000); }));
  for (const bool exact : {true, false}) {
    const LeaseRow row = ours_.list({.prefix = "nightly", .exact = exact}).leases.at(0);
    EXPECT_EQ(row.owner, gem_.uuid());
    EXPECT_EQ(row.token, no_token);
    EXPECT_FALSE(row.since);
    EXPECT_EQ(row.note, "");
    EXPECT_FALSE(row.detached);
  }
}

TEST_F(BesideTheGem, with_a_prefix_the_key_is_the_one_behind_it) {
  Caller prefixed(server_.url() + "?prefix=night");
  ASSERT_TRUE(gem_.try_lock(60'000));
  EXPECT_EQ(prefixed.acquire("ly", "ann").verdict, Verdict::busy);
  ASSERT_TRUE(gem_.unlock());
  EXPECT_EQ(prefixed.acquire("ly", "ann").verdict, Verdict::granted);
  EXPECT_EQ(redis({"get", "nightly"}), "ann");
  EXPECT_EQ(prefixed.list({}).leases.at(0).key, "ly");
}

}  // namespace
}  // namespace holdfast::test
