// SPDX-License-Identifier: Apache-2.0
// Servers that are killed, frozen or missing: the errors that a caller gets, and what really happened.
#include <atomic>
#include <map>
#include <thread>

#include "tests/mongodb/suite.h"
#include "tests/support/leases.h"
#include "tests/support/servers/port.h"

namespace holdfast::test {
namespace {

class TroubleOfMongo : public OwnMongoTest {};

TEST_F(TroubleOfMongo, leases_and_tokens_survive_a_killed_server) {
  Caller caller(url());
  const Reply mine = caller.acquire("k", "ann");
  server_->kill();
  const auto down = caller.try_acquire("l");
  ASSERT_FALSE(down);
  EXPECT_TRUE(down.error().retryable()) << down.error().detail;
  EXPECT_EQ(caller.try_acquire("l").error().code, Errc::unavailable) << "no connection: nothing was sent";
  server_->start();
  EXPECT_EQ(caller.renew("k", "ann", mine.token).verdict, Verdict::granted);
  EXPECT_EQ(caller.acquire("k", "bob").verdict, Verdict::busy);
  caller.release("k", "ann");
  EXPECT_GT(caller.acquire("k", "bob").token, mine.token);
}

// What was acknowledged is there afterwards, whatever was under way when it died.
TEST_F(TroubleOfMongo, no_acknowledged_grant_is_lost_by_a_server_that_is_killed_under_load) {
  constexpr int callers = 4;
  std::map<std::string, Token> granted[callers];
  std::atomic<int> acknowledged = 0;
  std::atomic<bool> over = false;
  std::vector<std::jthread> threads;
  for (int t = 0; t < callers; ++t) {
    threads.emplace_back([&, t, connected = std::make_unique<Caller>(url())] {
      Caller& caller = *connected;
      for (int i = 0; !over; ++i) {
        const std::string key = std::to_string(t) + "/" + std::to_string(i);
        const auto reply = caller.try_acquire(key, "ann", BootClock::now() + 2s);
        if (!reply) return;  // it is down
        granted[t].emplace(key, reply->token);
        ++acknowledged;
      }
    });
  }
  EXPECT_TRUE(await([&] { return acknowledged > 300; }));
  server_->kill();
  over = true;
  threads.clear();
  server_->start();
  Caller later(url());
  int seen = 0;
  for (const auto& mine : granted) {
    for (const auto& [key, token] : mine) {
      const Reply reply = later.acquire(key, "bob");
      EXPECT_EQ(reply.verdict, Verdict::busy) << key;
      EXPECT_EQ(reply.token, token) << key;
      if (++seen % 50 != 0) continue;
      later.release(key, "ann", token);
      EXPECT_GT(later.acquire(key, "bob").token, token);
    }
  }
  EXPECT_GT(seen, 300);
}

TEST_F(TroubleOfMongo, a_client_keeps_its_lease_across_a_short_restart) {
  Client client = open(url());
  const Lease lease = client.acquire("k", {.ttl = 20s, .renew_every = 200ms});
  server_->kill();
  server_->start();
  const Instant before = lease.deadline();
  EXPECT_TRUE(await([&] { return lease.deadline() > before; }));
  EXPECT_TRUE(lease.held());
}

TEST_F(TroubleOfMongo, a_connection_that_was_closed_while_idle_is_replaced_without_an_error) {
  Caller caller(url());
  caller.acquire("k", "ann");
  server_->stop();
  server_->start();
  const auto reply = caller.try_acquire("k");
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->verdict, Verdict::granted);
}

// What the server reported to the old connection may have changed, and one check is not enough.
TEST_F(TroubleOfMongo, a_server_that_is_unfit_when_it_comes_back_stays_refused) {
  Caller caller(url());
  caller.acquire("k", "ann");
  server_->command("app", R"({"createIndexes": "locks", "indexes":
      [{"key": {"expires_at": 1}, "name": "tidy", "expireAfterSeconds": 0}]})");
  server_->stop();
  server_->start();
  for (int i = 0; i < 3; ++i) {
    const auto reply = caller.try_acquire("k");
    ASSERT_FALSE(reply) << i;
    EXPECT_EQ(reply.error().code, Errc::refused) << reply.error().detail;
  }
}

// The driver's own timeouts are minutes long, and the same for every call.
TEST_F(TroubleOfMongo, a_frozen_server_delays_nobody) {
  Caller caller(url());
  caller.acquire("k", "ann");
  server_->pause();
  const Instant before = BootClock::now();
  const auto reply = caller.try_acquire("k", "bob", before + 2s);  // so that it is sent, however busy we are
  const auto fresh = try_connect(url(), BootClock::now() + 300ms);
  const auto listed = caller.connection().list({}, BootClock::now() + 300ms);
  const Instant after = BootClock::now();
  server_->resume();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::in_doubt) << reply.error().detail;
  ASSERT_FALSE(fresh);
  EXPECT_EQ(fresh.error().code, Errc::unavailable) << fresh.error().detail;
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code, Errc::unavailable) << listed.error().detail;
  EXPECT_LT(after - before, 10s) << "not the driver's timeouts";
}

// The request waits in the server's socket, and its sender has given up: nobody may hold the key then.
TEST_F(TroubleOfMongo, an_acquire_that_a_frozen_server_reads_too_late_grants_nothing) {
  Caller caller(url()), other(url());
  caller.acquire("warm", "ann");
  const auto late = [&](const std::vector<std::string>& keys) {
    std::vector<Request> requests;
    for (const std::string& key : keys)
      requests.push_back({.verb = Verb::acquire, .key = {key}, .owner = {"ghost"}, .ttl = 1h});
    std::vector<Reply> replies(requests.size());
    server_->pause();
    const Status status = caller.connection().apply(requests, replies, BootClock::now() + 2500ms);
    server_->resume();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Errc::in_doubt) << status.error().detail;
    for (const std::string& key : keys) {
      // It is read in its turn, and leaves the mark of an empty document where there was none.
      EXPECT_TRUE(await([&] {
        return mentions(server_->command("app", R"({"find": "locks", "filter": {"_id": ")" + key + "\"}}"),
                        "token");
      }));
      EXPECT_EQ(other.acquire(key, "bob").verdict, Verdict::granted) << key;
    }
  };
  late({"new"});
  caller.acquire("warm", "ann");  // a new connection
  late({"one", "two"});
  for (const LeaseRow& row : other.list({}).leases) EXPECT_NE(row.owner, "ghost") << row.key;
}

// After a long pause we know its clock less well, and a call with little time may seem late to the server.
TEST_F(TroubleOfMongo, a_batch_that_seems_late_is_granted_only_if_it_was_prolonged) {
  Caller caller(url());
  const auto ask = [&](Millis ttl, Millis time) {
    std::vector<Request> requests;
    for (const char* key : {"a", "b"})
      requests.push_back({.verb = Verb::acquire, .key = {key}, .owner = {"ann"}, .ttl = ttl});
    std::vector<Reply> replies(2);
    const Status status = caller.connection().apply(requests, replies, BootClock::now() + time);
    return status ? replies : std::vector<Reply>();
  };
  ASSERT_FALSE(ask(10min, 20s).empty());
  std::vector<Reply> replies;
  for (const Millis idle : {5s, 10s, 20s, 35s}) {  // more time each time, for a slow machine
    let_pass(idle);
    replies = ask(2h, idle / 125);  // less than the part in a hundred by which clocks may differ
    if (!replies.empty()) break;
  }
  ASSERT_FALSE(replies.empty()) << "never in time";
  for (const Reply& reply : replies) {
    EXPECT_EQ(reply.verdict, Verdict::granted);
    EXPECT_GT(reply.remaining, 1h);
  }
}

TEST_F(TroubleOfMongo, a_frozen_server_makes_the_loss_fire_at_the_deadline_and_not_at_the_thaw) {
  Client client = open(url());
  const Lease lease = short_lease(client, "k", {.ttl = 600ms});
  server_->pause();
  EXPECT_TRUE(await([&] { return lease.stop_token().stop_requested(); })) << "while it is still frozen";
  EXPECT_TRUE(await([&] { return !lease.held(); }));
  EXPECT_EQ(lease.lost().reason, Loss::unreachable);
  server_->resume();
}

TEST(NowhereOfMongo, nobody_listens_there) {
  const Status status =
      try_connect("mongodb://ann:s3cr3t@127.0.0.1:" + std::to_string(free_port()) + "/app", soon());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::unavailable);
  EXPECT_TRUE(mentions(status.error().detail, "127.0.0.1")) << status.error().detail;
  EXPECT_FALSE(mentions(status.error().detail, "s3cr3t")) << status.error().detail;
}

TEST(NowhereOfMongo, a_host_that_does_not_exist_is_named) {
  const Status status = try_connect("mongodb://nowhere.invalid/app?tls=false", BootClock::now() + 5s);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::unavailable);
  EXPECT_TRUE(mentions(status.error().detail, "nowhere.invalid")) << status.error().detail;
}

}  // namespace
}  // namespace holdfast::test
