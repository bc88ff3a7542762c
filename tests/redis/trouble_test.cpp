// SPDX-License-Identifier: Apache-2.0
// Servers that are killed, stopped, full or not Redis: the errors that a caller gets, and what really
// happened.
#include <atomic>
#include <csignal>
#include <thread>

#include "tests/redis/suite.h"
#include "tests/support/leases.h"
#include "tests/support/listener.h"
#include "tests/support/servers/port.h"

namespace holdfast::test {
namespace {

class TroubleOfRedis : public RedisTest {
 protected:
  Caller caller_{server_.url()};
};

TEST_F(TroubleOfRedis, leases_and_tokens_survive_a_killed_server_that_keeps_a_file) {
  redis({"CONFIG", "SET", "appendfsync", "always"});
  const Reply mine = caller_.acquire("k", "ann");
  server_.kill();
  const auto down = caller_.try_acquire("l");
  ASSERT_FALSE(down);
  EXPECT_TRUE(down.error().retryable()) << down.error().detail;
  EXPECT_EQ(caller_.try_acquire("l").error().code, Errc::unavailable) << "no connection: nothing was sent";
  server_.start();
  EXPECT_EQ(caller_.renew("k", "ann", mine.token).verdict, Verdict::granted);
  EXPECT_EQ(caller_.acquire("k", "bob").verdict, Verdict::busy);
}

TEST_F(TroubleOfRedis, a_client_keeps_its_lease_across_a_short_restart) {
  Client client = open(server_.url());
  const Lease lease = client.acquire("k", {.ttl = 10s, .renew_every = 200ms});
  server_.kill();
  server_.start();
  const Instant before = lease.deadline();
  EXPECT_TRUE(await([&] { return lease.deadline() > before; }));
  EXPECT_TRUE(lease.held());
}

TEST_F(TroubleOfRedis, a_connection_that_was_closed_while_idle_is_replaced_without_an_error) {
  caller_.acquire("k", "ann");
  redis({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  let_pass(60ms);  // idle
  const auto reply = caller_.try_acquire("k");
  EXPECT_TRUE(reply) << reply.error().detail;
}

TEST_F(TroubleOfRedis, a_frozen_server_makes_the_loss_fire_at_the_deadline_and_not_at_the_thaw) {
  Client client = open(server_.url());
  const Lease lease = short_lease(client, "k", {.ttl = 400ms});
  server_.pause();
  EXPECT_TRUE(await([&] { return lease.stop_token().stop_requested(); })) << "while it is still frozen";
  EXPECT_TRUE(await([&] { return !lease.held(); }));
  EXPECT_EQ(lease.lost().reason, Loss::unreachable);
  server_.resume();
}

// The request waits in the server's socket, and its sender has given up: nobody may hold the key then.
TEST_F(TroubleOfRedis, an_acquire_that_a_frozen_server_reads_too_late_grants_nothing) {
  caller_.acquire("warm", "ann");
  server_.pause();
  const auto reply = caller_.try_acquire("k", "ghost", BootClock::now() + 2s);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::in_doubt) << reply.error().detail;
  server_.resume();
  // The server reads what was in the socket before it answers later clients.
  Caller later(server_.url());
  EXPECT_EQ(redis({"GET", "k"}), "(nil)");
  EXPECT_EQ(later.acquire("k", "bob").verdict, Verdict::granted);
}

TEST_F(TroubleOfRedis, a_call_returns_in_time_from_a_server_that_takes_connections_and_says_nothing) {
  server_.pause();
  const Status status = try_connect(server_.url(), BootClock::now() + 100ms);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::unavailable) << status.error().detail;
  server_.resume();
}

TEST_F(TroubleOfRedis, a_call_returns_in_time_also_if_signals_come_all_the_while) {
  struct sigaction quiet {};
  quiet.sa_handler = [](int) {};
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGUSR2, &quiet, &before), 0);
  server_.pause();
  std::atomic<bool> over = false;
  const pthread_t waits = pthread_self();
  std::jthread signals([&] {
    // Far longer than the call may take: it ends with the call, not the call with it.
    const Instant end = BootClock::now() + 10s;
    while (!over && BootClock::now() < end) {
      pthread_kill(waits, SIGUSR2);
      let_pass(2ms);
    }
    EXPECT_TRUE(over) << "the call did not come back while signals came";
  });
  EXPECT_FALSE(caller_.try_acquire("k", "ann", BootClock::now() + 300ms));
  over = true;
  signals.join();
  server_.resume();
  sigaction(SIGUSR2, &before, nullptr);
}

TEST_F(TroubleOfRedis, full_memory_grants_nothing_and_still_renews_and_releases) {
  const Reply mine = caller_.acquire("k", "ann", 1min);
  redis({"CONFIG", "SET", "maxmemory", "1"});
  for (const char* key : {"new", "k"}) {
    const auto reply = caller_.try_acquire(key, "bob");
    if (std::string_view(key) == "k") {
      ASSERT_TRUE(reply);
      EXPECT_EQ(reply->verdict, Verdict::busy);
      continue;
    }
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, Errc::unavailable) << reply.error().detail;
    EXPECT_TRUE(mentions(reply.error().detail, "memory is full")) << reply.error().detail;
  }
  EXPECT_EQ(redis({"EXISTS", "new", "holdfast:facts:{new}"}), "0") << "nothing was written";
  EXPECT_EQ(caller_.renew("k", "ann", mine.token, 1h).verdict, Verdict::granted);
  EXPECT_EQ(caller_.evict("k", mine.token).verdict, Verdict::released);
  redis({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(caller_.acquire("new", "bob").verdict, Verdict::granted) << "on the same connection";
}

TEST_F(TroubleOfRedis, a_server_that_needs_replicas_and_has_none_grants_nothing) {
  redis({"CONFIG", "SET", "min-replicas-to-write", "1"});
  const auto reply = caller_.try_acquire("k");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::unavailable) << reply.error().detail;
  EXPECT_EQ(redis({"EXISTS", "k"}), "0");
}

TEST_F(TroubleOfRedis, a_server_that_reads_its_data_is_unavailable_and_then_is_not) {
  // It checks its clients once in 1024 commands.
  RedisServer slow({.lines = {"key-load-delay 500", "enable-debug-command yes"}});
  slow.command({"EVAL", "for i = 1, 4000 do redis.call('SET', 'filler' .. i, i) end", "0"});
  Caller caller(slow.url());
  const Reply mine = caller.acquire("k", "ann");
  std::jthread reading([&] { slow.command({"DEBUG", "LOADAOF"}); });
  ASSERT_TRUE(await([&] {
    const auto reply = caller.try_acquire("l");
    if (reply || !mentions(reply.error().detail, "LOADING")) return false;
    EXPECT_EQ(reply.error().code, Errc::unavailable) << reply.error().detail;
    return true;
  }));
  reading.join();
  EXPECT_EQ(Caller(slow.url()).renew("k", "ann", mine.token).verdict, Verdict::granted);
}

TEST_F(TroubleOfRedis, a_script_of_somebody_elses_that_never_ends_is_waited_for_no_longer_than_asked) {
  redis({"CONFIG", "SET", "busy-reply-threshold", "1"});
  std::jthread hog([&] { redis({"EVAL", "while true do end", "0"}); });
  EXPECT_TRUE(await([&] {
    const auto reply = caller_.try_acquire("k", "ann", BootClock::now() + 100ms);
    return !reply && reply.error().code == Errc::unavailable && mentions(reply.error().detail, "BUSY");
  }));
  redis({"SCRIPT", "KILL"});
}

TEST_F(TroubleOfRedis, a_key_that_is_something_else_is_refused_by_name_and_left_alone) {
  redis({"HSET", "cart", "item", "1"});
  const auto reply = caller_.try_acquire("cart");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::refused);
  EXPECT_TRUE(mentions(reply.error().detail, "cart")) << reply.error().detail;
  EXPECT_TRUE(mentions(reply.error().detail, "hash")) << reply.error().detail;
  EXPECT_EQ(redis({"HGET", "cart", "item"}), "1");
}

TEST_F(TroubleOfRedis, a_key_that_is_something_else_does_not_spoil_the_batch_it_travels_in) {
  redis({"HSET", "cart", "item", "1"});
  const Request batch[] = {{.verb = Verb::acquire, .key = {"a"}, .owner = {"ann"}, .ttl = 1h},
                           {.verb = Verb::acquire, .key = {"cart"}, .owner = {"ann"}, .ttl = 1h},
                           {.verb = Verb::release, .key = {"cart"}, .owner = {"ann"}},
                           {.verb = Verb::acquire, .key = {"holdfast:index"}, .owner = {"ann"}, .ttl = 1h},
                           {.verb = Verb::acquire, .key = {"b"}, .owner = {"ann"}, .ttl = 1h}};
  Reply replies[5];
  ASSERT_TRUE(caller_.connection().apply(batch, replies, soon()));
  EXPECT_EQ(replies[0].verdict, Verdict::granted);
  ASSERT_TRUE(replies[1].error);
  EXPECT_EQ(replies[1].error->code, Errc::refused);
  EXPECT_EQ(replies[2].verdict, Verdict::lost);
  EXPECT_TRUE(replies[3].error);
  EXPECT_EQ(replies[4].verdict, Verdict::granted);
}

TEST_F(TroubleOfRedis, names_of_ours_cannot_be_leased) {
  const auto reply = caller_.try_acquire("holdfast:facts:{k}");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::refused);
  Caller other(server_.url() + "?prefix=hold");
  EXPECT_FALSE(other.try_acquire("fast:index"));
  EXPECT_TRUE(other.try_acquire("fast"));
  EXPECT_EQ(redis({"EXISTS", "holdfast:facts:{k}"}), "0");
}

// A server of another kind, which answers whatever comes with the same words.
class Impostor {
 public:
  explicit Impostor(std::string words) : words_(std::move(words)), thread_([this] { serve(); }) {}
  ~Impostor() { listener_.close(); }
  const std::string& place() const { return listener_.place(); }

 private:
  void serve() {
    while (const Fd caller = listener_.accept()) {
      if (!Listener::hear(caller).empty()) Listener::say(caller, words_);
    }
  }
  const std::string words_;
  const Listener listener_;
  std::jthread thread_;
};

TEST(ImpostorOfRedis, another_program_at_the_port_is_named_and_gets_no_lease) {
  const struct {
    std::string words;
    std::string_view told;
    Errc code;
  } table[] = {
      {"HTTP/1.1 400 Bad Request\r\n\r\n", "web server", Errc::refused},
      {"SSH-2.0-OpenSSH_9.2\r\n", "SSH", Errc::refused},
      {std::string("\x15\x03\x03\x00\x02\x02\x46", 7), "rediss://", Errc::refused},
      {"E\0\0\0", "is not a Redis server", Errc::refused},
      {"*1\r\n?x\r\n", "does not follow the Redis protocol", Errc::unavailable},
      {"", "it is probably not a Redis server; check host and port", Errc::unavailable},
      {"-ERR unknown command 'AUTH', with args beginning with: 'canary'\r\n+OK\r\n+OK\r\n+OK\r\n",
       "does not know AUTH", Errc::refused},
      {"-ERR odd word: 'canar'\r\n+OK\r\n+OK\r\n+OK\r\n", "refused user and password", Errc::refused},
      {"-WRONGPASS canar\r\n+OK\r\n+OK\r\n+OK\r\n", "password is wrong", Errc::refused},
  };
  for (const auto& row : table) {
    const Impostor impostor(row.words);
    const Status status = try_connect("redis://:canary@" + impostor.place());
    ASSERT_FALSE(status) << row.words;
    EXPECT_EQ(status.error().code, row.code) << status.error().detail;
    EXPECT_TRUE(mentions(status.error().detail, row.told)) << status.error().detail;
    EXPECT_FALSE(mentions(status.error().detail, "canar")) << status.error().detail;
  }
}

TEST(ImpostorOfRedis, nobody_there_is_unavailable_and_says_where) {
  const std::string place = "127.0.0.1:" + std::to_string(free_port());
  const Status status = try_connect("redis://" + place);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::unavailable);
  EXPECT_TRUE(mentions(status.error().detail, place)) << status.error().detail;
}

TEST(ImpostorOfRedis, a_host_that_does_not_exist_is_unavailable_and_named) {
  const Status status = try_connect("redis://no-such-host.invalid", BootClock::now() + 5s);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::unavailable);
  EXPECT_TRUE(mentions(status.error().detail, "no-such-host.invalid")) << status.error().detail;
}

}  // namespace
}  // namespace holdfast::test
