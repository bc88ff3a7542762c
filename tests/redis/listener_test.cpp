// SPDX-License-Identifier: Apache-2.0
// The listener returns the key, and works again after the server was down.
#include <thread>

#include "tests/redis/suite.h"
#include "tests/support/servers/relay.h"

namespace holdfast::test {
namespace {

class ListenerOfRedis : public RedisTest {
 protected:
  bool rings(int patience_ms = 20'000) {
    pollfd line{listener_->fd(), POLLIN, 0};
    return ::poll(&line, 1, patience_ms) == 1;
  }
  std::string subscribers() { return redis({"PUBSUB", "NUMSUB", channel()}); }
  std::string channel() { return "holdfast:bell:" + waiter_.store().client(); }

  Caller owner_{server_.url()}, waiter_{server_.url()};
  std::unique_ptr<StoreListener> listener_ = waiter_.listener();
};

TEST_F(ListenerOfRedis, says_which_key) {
  for (const char* key : {"k", "l"}) {
    owner_.acquire(key, "ann");
    waiter_.acquire(key, "bob", 1h, 1h);
  }
  owner_.release("k", "ann");
  owner_.release("l", "ann");
  ASSERT_TRUE(rings());
  std::vector<std::string> keys;
  ASSERT_TRUE(await([&] {
    for (std::string& key : listener_->ready().value()) keys.push_back(std::move(key));
    std::erase(keys, "");
    return keys.size() >= 2;
  }));
  EXPECT_EQ(keys, (std::vector<std::string>{"k", "l"}));
}

TEST_F(ListenerOfRedis, says_the_key_without_its_prefix) {
  Caller owner(server_.url() + "?prefix=p:"), waiter(server_.url() + "?prefix=p:");
  listener_ = waiter.listener();
  owner.acquire("k", "ann");
  waiter.acquire("k", "bob", 1h, 1h);
  owner.release("k", "ann");
  ASSERT_TRUE(rings());
  EXPECT_EQ(listener_->ready().value(), std::vector<std::string>{"k"});
}

TEST_F(ListenerOfRedis, notifies_all_when_its_connection_was_lost_and_is_subscribed_again) {
  redis({"CLIENT", "KILL", "TYPE", "pubsub"});
  ASSERT_TRUE(rings()) << "that it is gone";
  EXPECT_TRUE(listener_->ready().value().empty()) << "anything may have happened";
  EXPECT_EQ(subscribers(), channel() + "\n1");
  EXPECT_FALSE(rings(0));
}

TEST_F(ListenerOfRedis, tries_again_while_the_server_is_away) {
  server_.kill();
  ASSERT_TRUE(rings());
  EXPECT_TRUE(listener_->ready().value().empty());
  ASSERT_TRUE(rings()) << "a timer's, now and then";
  EXPECT_TRUE(listener_->ready().value().empty());
  server_.start();
  EXPECT_TRUE(await([&] {
    if (rings(0)) (void)listener_->ready();
    return subscribers() == channel() + "\n1";
  }));
}

// A proxy or a firewall drops a connection, and neither end is notified: no FIN, no RST.
TEST_F(ListenerOfRedis, notices_a_connection_that_was_forgotten_and_subscribes_again) {
  Relay relay({server_.port()});
  Caller waiter("redis://127.0.0.1:" + std::to_string(relay.port()));
  listener_ = waiter.listener();
  const std::string subscribed = "holdfast:bell:" + waiter.store().client();
  relay.forget_connections();
  std::vector<std::string> keys{"not asked yet"};
  EXPECT_TRUE(await([&] {
    if (!rings(0)) return false;
    keys = listener_->ready().value();
    return keys.empty();
  })) << "anything may have happened meanwhile";
  EXPECT_EQ(redis({"PUBSUB", "NUMSUB", subscribed}), subscribed + "\n2") << "the server knows of the old one";
  redis({"PUBLISH", subscribed, "k"});
  EXPECT_TRUE(await([&] { return rings(0) && listener_->ready().value() == std::vector<std::string>{"k"}; }));
}

TEST_F(ListenerOfRedis, stays_connected_without_notifications_for_long) {
  redis({"CONFIG", "RESETSTAT"});
  const std::string before = redis({"CLIENT", "LIST", "TYPE", "pubsub"});
  ASSERT_TRUE(await([&] {
    if (rings(0)) {
      EXPECT_EQ(listener_->ready().value(), std::vector<std::string>{""}) << "nobody needs to poll";
    }
    return mentions(redis({"INFO", "commandstats"}), "cmdstat_subscribe:calls=2");
  }));
  const std::string after = redis({"CLIENT", "LIST", "TYPE", "pubsub"});
  EXPECT_EQ(after.substr(0, after.find(' ')), before.substr(0, before.find(' '))) << "the same connection";
}

TEST_F(ListenerOfRedis, a_client_without_a_listener_still_gets_its_turn) {
  RedisServer quiet({.lines = {"user default on nopass ~* +@all resetchannels"}});
  Client client = open(quiet.url()), other = open(quiet.url());
  Lease lease = client.acquire("k");
  std::jthread waiter([&] { EXPECT_TRUE(other.try_acquire("k", {.wait = 20s})); });
  ASSERT_TRUE(await([&] { return quiet.command({"ZCARD", "holdfast:queue:{k}"}) == "1"; }));
  EXPECT_TRUE(lease.try_release()) << "a release succeeds even if it cannot notify anybody";
}

TEST_F(ListenerOfRedis, a_release_without_waiters_notifies_nobody) {
  redis({"CONFIG", "RESETSTAT"});
  owner_.acquire("k", "ann");
  owner_.release("k", "ann");
  EXPECT_FALSE(mentions(redis({"INFO", "commandstats"}), "cmdstat_publish"));
}

}  // namespace
}  // namespace holdfast::test
