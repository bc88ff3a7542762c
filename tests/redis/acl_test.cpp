// SPDX-License-Identifier: Apache-2.0
// The rights that a user of Redis needs: exactly those in docs/stores/redis.md.
#include <thread>

#include "tests/redis/documented_acl.h"
#include "tests/redis/suite.h"
#include "tests/support/together.h"
#include "tests/support/worker.h"

namespace holdfast::test {
namespace {

class AclOfRedis : public RedisTest {
 protected:
  void SetUp() override {
    const auto words = documented_acl(HOLDFAST_SOURCE "/docs/stores/redis.md");
    ASSERT_GT(words.size(), 10u) << "docs/stores/redis.md has no line ACL SETUSER";
    ASSERT_EQ(words[2], "app");
    ASSERT_EQ(redis(words), "OK");
  }
  std::string url() const {
    return "redis://app:secret@127.0.0.1:" + std::to_string(server_.port()) + "?prefix=locks:";
  }
};

TEST_F(AclOfRedis, what_is_documented_is_enough_for_everything) {
  Client client = open(url()), other = open(url());
  {
    Lease lease = client.acquire("k", {.ttl = 10s, .note = "n"});
    std::jthread waiter([&] { EXPECT_TRUE(other.try_acquire("k", {.wait = 20s})); });
    ASSERT_TRUE(await([&] { return redis({"ZCARD", "holdfast:queue:{locks:k}"}) == "1"; }));
    ASSERT_TRUE(await([&] { return mentions(redis({"PUBSUB", "CHANNELS"}), "holdfast:bell:"); }));
    EXPECT_TRUE(lease.try_renew(20s));
    EXPECT_TRUE(lease.try_renew(never));
    EXPECT_TRUE(lease.try_release());
  }
  Admin by_hand(client);
  const Lease lease = client.acquire("l", {.ttl = never, .owner = "ann"});
  EXPECT_TRUE(by_hand.try_list());
  EXPECT_TRUE(by_hand.try_inspect("l"));
  EXPECT_TRUE(by_hand.try_list({.what = Query::What::places}));
  EXPECT_TRUE(by_hand.try_break_lease("l", lease.token(), {.by = "op", .reason = "why"}));
  EXPECT_EQ(by_hand.list({.what = Query::What::log}).log.size(), 1u);
  Caller brief(url());
  brief.acquire("brief", "ann", 1ms);
  ASSERT_TRUE(await([&] { return redis({"EXISTS", "locks:brief"}) == "0"; }));
  brief.acquire("brief", "bob");  // taken over, written down
  EXPECT_EQ(redis({"ZADD", "holdfast:kept:locks:", "1", "gone"}), "1");
  brief.acquire("new", "bob");  // sweeps
  EXPECT_EQ(redis({"ZSCORE", "holdfast:kept:locks:", "gone"}), "(nil)");
  redis({"DEL", "holdfast:held:locks:"});
  EXPECT_TRUE(by_hand.try_plan());
  EXPECT_TRUE(by_hand.try_init());
  EXPECT_EQ(redis({"EXISTS", "holdfast:held:locks:"}), "1");
  EXPECT_TRUE(by_hand.try_purge({.free_for = 0ms, .log_older_than = 0ms}));
  EXPECT_TRUE(by_hand.try_examine());
}

TEST_F(AclOfRedis, what_is_documented_is_enough_for_jobs) {
  for (const std::string layout : {"own", "active_job_lock"}) {
    Worker worker(url() + "&layout=" + layout);
    const NewJob often{.on_conflict = OnConflict::wait, .tick_name = "t", .window = 1ms};
    worker.loner(layout, often);
    worker.enqueue(layout, {.in = 1ms, .on_conflict = OnConflict::wait});
    const Claimed first = worker.claim("w1");
    EXPECT_EQ(first.what, Got::running);
    ASSERT_TRUE(await([&] {
      worker.claim("w2");
      return worker.list({.key = layout}).at(0).parked;
    }));
    EXPECT_TRUE(worker.renew(first.job.id, "w1", 2h));
    worker.finish(first);
    const Claimed second = worker.claim("w2", 1ms);
    EXPECT_EQ(second.what, Got::running);
    ASSERT_TRUE(await([&] { return worker.claim("w3").recovered; }));
    EXPECT_TRUE(worker.change(second.job.id, JobChange::cancel));
    EXPECT_TRUE(worker.change(second.job.id, JobChange::retry));
    EXPECT_TRUE(worker.change(second.job.id, JobChange::remove));
    EXPECT_EQ(worker.list({}).size(), 1u);
    EXPECT_TRUE(worker.engine().take_tick({.name = "n", .tick = 1}, soon()).value().taken ||
                layout == "active_job_lock");
    EXPECT_TRUE(worker.engine().note_success("n", "me", soon()));
    EXPECT_TRUE(await([&] { return worker.engine().purge({.older_than = 1ms}, soon()).value() == 1; }));
  }
}

TEST_F(AclOfRedis, it_gives_no_access_to_keys_of_others) {
  const auto as_app = [&](const std::vector<std::string>& words) {
    std::vector<std::string> dry{"ACL", "DRYRUN", "app"};
    dry.insert(dry.end(), words.begin(), words.end());
    return redis(dry);
  };
  EXPECT_EQ(as_app({"GET", "locks:k"}), "OK");
  EXPECT_NE(as_app({"GET", "cart"}), "OK");
  EXPECT_NE(as_app({"FLUSHALL"}), "OK");
  EXPECT_NE(as_app({"KEYS", "*"}), "OK");
  EXPECT_NE(as_app({"CONFIG", "GET", "*"}), "OK");
}

TEST_F(AclOfRedis, a_user_who_lacks_a_right_is_refused_with_what_is_missing) {
  redis({"ACL", "SETUSER", "app", "-evalsha", "-eval"});
  Caller caller(url());
  const auto reply = caller.try_acquire("k");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::refused) << reply.error().detail;
  EXPECT_TRUE(mentions(reply.error().detail, "evalsha")) << reply.error().detail;
}

TEST_F(AclOfRedis, a_right_that_is_missing_before_anything_is_written_refuses_and_behind_that_is_in_doubt) {
  redis({"ACL", "SETUSER", "app", "-set"});
  Caller caller(url());
  auto reply = caller.try_acquire("k");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::refused) << reply.error().detail;
  EXPECT_EQ(redis({"EXISTS", "locks:k"}), "0");
  redis({"ACL", "SETUSER", "app", "+set", "-hset"});
  reply = caller.try_acquire("k");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::in_doubt) << reply.error().detail;
  EXPECT_EQ(redis({"EXISTS", "locks:k"}), "1") << "it was half done";
}

// Of a key that is known and free, and of a lease that nobody waits for, the script decides in other lines.
TEST_F(AclOfRedis, the_same_is_true_for_uncontended_requests) {
  Caller caller(url());
  const auto told = [&](Verb verb, std::string_view key) {
    const auto reply = caller.try_ask({.verb = verb, .key = {key}, .owner = {"ann"}, .ttl = 2h});
    return reply ? Errc{} : reply.error().code;
  };
  for (const char* key : {"k", "l", "m"}) {
    caller.acquire(key, "ann", 3h);  // what is kept of it stays long enough for all that follows
    caller.release(key, "ann");
  }
  redis({"ACL", "SETUSER", "app", "-set"});
  EXPECT_EQ(told(Verb::acquire, "k"), Errc::refused);
  redis({"ACL", "SETUSER", "app", "+set", "-hset"});
  EXPECT_EQ(told(Verb::acquire, "k"), Errc::in_doubt);
  EXPECT_EQ(redis({"GET", "locks:k"}), "ann") << "half done";
  redis({"ACL", "SETUSER", "app", "+hset", "-zadd"});
  EXPECT_EQ(told(Verb::acquire, "m"), Errc::in_doubt);
  EXPECT_EQ(redis({"GET", "locks:m"}), "ann") << "half done";
  redis({"ACL", "SETUSER", "app", "+zadd"});
  caller.acquire("l", "ann", 1h);
  for (const char* right : {"pttl", "pexpire"}) {
    redis({"ACL", "SETUSER", "app", std::string("-") + right});
    EXPECT_EQ(told(Verb::renew, "l"), Errc::refused) << right;
    redis({"ACL", "SETUSER", "app", std::string("+") + right});
  }
  redis({"ACL", "SETUSER", "app", "-del"});
  EXPECT_EQ(told(Verb::release, "l"), Errc::refused);
  redis({"ACL", "SETUSER", "app", "+del", "-hset"});
  EXPECT_EQ(told(Verb::renew, "l"), Errc::in_doubt);
  EXPECT_EQ(told(Verb::release, "l"), Errc::in_doubt);
  EXPECT_EQ(redis({"EXISTS", "locks:l"}), "0") << "half done";
  redis({"ACL", "SETUSER", "app", "+hset"});
  EXPECT_EQ(told(Verb::acquire, "l"), Errc{});
  redis({"ACL", "SETUSER", "app", "-zrem"});
  EXPECT_EQ(told(Verb::release, "l"), Errc::in_doubt);
  EXPECT_EQ(redis({"EXISTS", "locks:l"}), "0") << "half done";
}

TEST_F(AclOfRedis, what_is_refused_behind_a_request_that_was_granted_is_in_doubt) {
  Caller caller(url());
  caller.acquire("k", "ann", 3h);
  caller.release("k", "ann");
  redis({"ACL", "SETUSER", "app", "-pttl"});
  const Request batch[] = {{.verb = Verb::acquire, .key = {"k"}, .owner = {"ann"}, .ttl = 1h},
                           {.verb = Verb::renew, .key = {"k"}, .owner = {"ann"}, .ttl = 2h}};
  Reply replies[2];
  const Status status = caller.connection().apply(batch, replies, soon());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::in_doubt) << status.error().detail;
}

TEST_F(AclOfRedis, a_key_that_the_user_may_not_have_harms_no_other_of_its_batch) {
  redis({"ACL", "SETUSER", "app", "resetkeys", "~locks:good*", "~holdfast:*"});
  redis({"HSET", "locks:good hash", "item", "1"});
  Caller caller(url());
  std::vector<Request> requests;
  for (const char* key : {"good 1", "bad", "good 2", "good 3", "good hash", "bad", "good 4"})
    requests.push_back({.verb = Verb::acquire, .key = {key}, .owner = {"ann"}, .ttl = 1h});
  const auto told = ask_together(caller.connection(), requests);
  for (const std::size_t good : {0u, 2u, 3u, 6u}) {
    ASSERT_TRUE(told[good]) << told[good].error().detail;
    EXPECT_EQ(told[good]->verdict, Verdict::granted);
  }
  for (const std::size_t bad : {1u, 5u}) {
    ASSERT_FALSE(told[bad]);
    EXPECT_EQ(told[bad].error().code, Errc::refused) << told[bad].error().detail;
  }
  EXPECT_TRUE(!told[4] || told[4]->verdict == Verdict::busy) << "it is no lease, whoever travels beside it";
}

TEST_F(AclOfRedis, a_user_who_may_not_ask_about_the_server_is_refused_since_it_may_be_unsafe) {
  redis({"ACL", "SETUSER", "app", "-info"});
  const Status status = try_connect(url());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::refused);
  EXPECT_TRUE(mentions(status.error().detail, "info")) << status.error().detail;
}

TEST_F(AclOfRedis, a_user_whose_keys_are_others_is_refused) {
  Caller caller("redis://app:secret@127.0.0.1:" + std::to_string(server_.port()) + "?prefix=others:");
  const auto reply = caller.try_acquire("k");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::refused) << reply.error().detail;
}

}  // namespace
}  // namespace holdfast::test
