// SPDX-License-Identifier: Apache-2.0
// Fail the first call, then the second, then the third, until the operation succeeds untouched.
#include <future>

#include "stores/decorators/batched.h"
#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

class Faults : public ClientTest {
 protected:
  static constexpr Fault::Kind kinds[] = {Fault::Kind::refuse_before, Fault::Kind::lose_before,
                                          Fault::Kind::lose_after, Fault::Kind::hang_before,
                                          Fault::Kind::hang_after};

  // A client whose n-th call of apply, counted over all its stores, has this fault.
  Client failing_at(int n, Fault::Kind kind) {
    const auto calls = std::make_shared<std::atomic<int>>(0);
    return chosen_client([=](std::span<const Request>) {
      return ++*calls == n ? Fault{kind, Millis(60)} : Fault{};
    });
  }
};

TEST_P(Faults, at_every_step_of_acquire_renew_release_leave_no_ghost) {
  for (const Fault::Kind kind : kinds) {
    for (int n = 1; n <= 5; ++n) {
      const std::string key = "k" + std::to_string(static_cast<int>(kind)) + "-" + std::to_string(n);
      SCOPED_TRACE(key);
      {
        Client client = failing_at(n, kind);
        if (auto lease = client.try_acquire(key, {.ttl = 1min})) {
          (void)lease->try_renew();
          (void)lease->try_release();
        }
      }
      EXPECT_TRUE(await([&] { return is_free(key); }));  // far sooner than the ttl
    }
  }
}

TEST_P(Faults, at_every_step_of_waiting_leave_no_ghost_and_no_place) {
  const auto key_of = [](Fault::Kind kind, int n) {
    return "k" + std::to_string(static_cast<int>(kind)) + "-" + std::to_string(n);
  };
  std::vector<std::jthread> threads;  // side by side, as they only wait
  for (const Fault::Kind kind : kinds) {
    threads.emplace_back([&, kind] {
      for (int n = 1; n <= 5; ++n) {
        const std::string key = key_of(kind, n);
        SCOPED_TRACE(key);
        Lease blocker = observer_.acquire(key);
        {
          Client client = failing_at(n, kind);
          EXPECT_FALSE(client.try_acquire(key, {.ttl = 1min, .wait = 150ms}));
        }
        blocker.release();
      }
    });
  }
  threads.clear();
  for (const Fault::Kind kind : kinds) {
    for (int n = 1; n <= 5; ++n) {
      const std::string key = key_of(kind, n);
      SCOPED_TRACE(key);
      EXPECT_TRUE(await([&] { return is_free(key) && waiting(key) == 0; }));
      EXPECT_TRUE(observer_.try_acquire(key));
    }
  }
}

TEST_P(Faults, a_lost_answer_is_asked_for_again_and_the_token_is_the_same) {
  Client client = failing_at(1, Fault::Kind::lose_after);
  Lease lease = client.acquire("k");
  EXPECT_EQ(lease.attempts(), 2);
  EXPECT_EQ(by_hand_.list({.prefix = "k"}).leases.at(0).token, lease.token());
}

TEST_P(Faults, an_acquire_that_stays_unclear_is_in_doubt_and_given_back) {
  Trouble trouble;
  Client client = troubled_client(trouble);
  trouble.set(Fault::Kind::lose_after);
  const auto result = client.try_acquire("k", {.ttl = 1min});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::in_doubt);
  EXPECT_TRUE(result.error().in_doubt());
  trouble.end();
  EXPECT_TRUE(await([&] { return is_free("k"); }));
}

TEST_P(Faults, a_store_that_is_not_there_is_unavailable) {
  Trouble trouble;
  Client client = troubled_client(trouble);
  trouble.set(Fault::Kind::refuse_before);
  EXPECT_EQ(client.try_acquire("k").error().code, Errc::unavailable);
  EXPECT_EQ(client.try_acquire("k", {.wait = 50ms}).error().code, Errc::unavailable);
  trouble.end();
  EXPECT_TRUE(client.try_acquire("k"));
}

TEST_P(Faults, a_waiter_outlives_an_outage) {
  Trouble trouble;
  Client client = troubled_client(trouble);
  trouble.set(Fault::Kind::refuse_before);
  std::jthread waiter([&] { EXPECT_TRUE(client.try_acquire("k", {.wait = 60s})); });
  let_pass(50ms);
  trouble.end();
}

TEST_P(Faults, a_grant_that_comes_late_is_given_back_and_reported) {
  // With this margin the belief in a fresh lease lasts 6.1 s; answered after 200 ms, less than half of 12 s
  // is left.
  Client client = chosen_client(
      [](std::span<const Request> requests) {
        return requests[0].verb == Verb::acquire ? Fault{Fault::Kind::hang_after, 200ms} : Fault{};
      },
      {.margin = 5900ms});
  const Instant before = BootClock::now();
  const auto result = client.try_acquire("k", {.ttl = 12s});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::too_late) << result.error().detail;
  EXPECT_TRUE(await([&] { return is_free("k"); }));
  EXPECT_LT(BootClock::now(), before + 12s) << "it did not run out, it was given back";
}

TEST_P(Faults, a_hung_store_delays_no_caller_past_its_own_deadline) {
  Trouble trouble;
  Client client = troubled_client(trouble);
  trouble.set(Fault::Kind::hang_before, 20s);
  const Instant start = BootClock::now();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      // One attempt of a 300 ms lease gets 50 ms.
      EXPECT_FALSE(client.try_acquire("k" + std::to_string(i), {.ttl = 300ms}));
      EXPECT_LT(BootClock::now(), start + 20s);
    });
  }
  threads.clear();
  EXPECT_LT(BootClock::now(), start + 20s);
  trouble.end();
}

// Its first call waits until it may go on.  Refuses what is asked for the key "bad".
struct Held final : StoreConnection {
  explicit Held(StoreConnection& s) : connection(s) {}
  Status apply(std::span<const Request> in, std::span<Reply> out, Instant until) override {
    sizes.push_back(in.size());
    if (sizes.size() == 1) go.get_future().wait();
    Status status = connection.apply(in, out, until);
    for (std::size_t i = 0; i < in.size() && status; ++i) {
      if (in[i].key.text == "bad") out[i].error = Error{Errc::refused, "planted fault: not this one"};
    }
    return status;
  }
  Result<Page> list(const Query& q, Instant until) override { return connection.list(q, until); }
  Result<Traits> examine(Instant until) override { return connection.examine(until); }

  StoreConnection& connection;
  std::promise<void> go;
  std::vector<std::size_t> sizes;  // of the batches
};

TEST_P(Faults, requests_that_come_during_a_call_are_sent_together_in_the_next_one) {
  const auto connection = database_->new_client()->connect(BootClock::now() + 5s).value();
  Held held(*connection);
  Batched batched(held);
  constexpr std::size_t others = 16;
  std::vector<Token> tokens(1 + others);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    threads.emplace_back([&, i] {
      const std::string key = "key " + std::to_string(i);
      const Request request{.verb = Verb::acquire, .key = {key}, .owner = {"ann"}, .ttl = 1min};
      Reply reply;
      ASSERT_TRUE(batched.apply({&request, 1}, {&reply, 1}, Instant::max()));
      tokens[i] = reply.token;
    });
    ASSERT_TRUE(await([&] { return batched.callers() == i + 1; }));
  }
  held.go.set_value();
  threads.clear();
  EXPECT_EQ(held.sizes, (std::vector<std::size_t>{1, others}));
  for (std::size_t i = 0; i < tokens.size(); ++i) {  // each has its own answer
    const auto rows = by_hand_.list({.prefix = "key " + std::to_string(i), .exact = true}).leases;
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].token, tokens[i]);
  }
}

TEST_P(Faults, a_batch_is_no_larger_than_the_limit_and_each_is_told_its_own_failure) {
  const auto connection = database_->new_client()->connect(BootClock::now() + 5s).value();
  Held held(*connection);
  Batched batched(held, 3);
  const std::vector<std::string> keys{"a", "b", "bad", "c", "d"};
  std::vector<Status> told(keys.size(), Status{});
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    threads.emplace_back([&, i] {
      const Request request{.verb = Verb::acquire, .key = {keys[i]}, .owner = {"ann"}, .ttl = 1min};
      Reply reply;
      told[i] = batched.apply({&request, 1}, {&reply, 1}, Instant::max());
    });
    ASSERT_TRUE(await([&] { return batched.callers() == i + 1; }));
  }
  held.go.set_value();
  threads.clear();
  EXPECT_EQ(held.sizes, (std::vector<std::size_t>{1, 3, 1}));
  for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(told[i].has_value(), keys[i] != "bad") << keys[i];
}

TEST_P(Faults, a_store_that_throws_leaves_nobody_behind) {
  struct Throwing final : StoreConnection {
    Status apply(std::span<const Request> in, std::span<Reply>, Instant) override {
      if (calls++ == 0) go.get_future().wait();
      throw std::runtime_error(in.size() == 1 ? "one" : "many");
    }
    Result<Page> list(const Query&, Instant) override { throw std::runtime_error("list"); }
    Result<Traits> examine(Instant) override { return Traits{}; }

    std::promise<void> go;
    std::atomic<int> calls = 0;
  } throwing;
  Batched batched(throwing);
  std::atomic<int> in_doubt = 0;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const Request request{.verb = Verb::release, .key = {"k"}, .owner = {"ann"}};
      Reply reply;
      const Status status = batched.apply({&request, 1}, {&reply, 1}, Instant::max());
      in_doubt += !status && status.error().in_doubt();
    });
    ASSERT_TRUE(await([&] { return batched.callers() == i + 1; }));
  }
  throwing.go.set_value();
  threads.clear();
  EXPECT_EQ(in_doubt, 8);
  EXPECT_EQ(throwing.calls, 2);
  EXPECT_THROW((void)batched.list({}, Instant::max()), std::runtime_error);
  EXPECT_TRUE(batched.examine(Instant::max()));
  EXPECT_EQ(batched.callers(), 0u);
}

TEST_P(Faults, a_batch_takes_only_followers_with_as_much_time_as_its_leader) {
  const auto connection = database_->new_client()->connect(BootClock::now() + 5s).value();
  std::atomic<int> calls = 0;
  class Slow final : public StoreConnection {
   public:
    Slow(StoreConnection& s, std::atomic<int>& c) : connection_(s), calls_(c) {}
    Status apply(std::span<const Request> in, std::span<Reply> out, Instant until) override {
      ++calls_;
      let_pass(100ms);
      return connection_.apply(in, out, until);
    }
    Result<Page> list(const Query& q, Instant until) override { return connection_.list(q, until); }
    Result<Traits> examine(Instant until) override { return connection_.examine(until); }

   private:
    StoreConnection& connection_;
    std::atomic<int>& calls_;
  } slow(*connection, calls);
  Batched batched(slow);
  const auto send = [&](const char* key, Millis time) {
    const Request request{.verb = Verb::acquire, .key = {key}, .owner = {"ann"}, .ttl = 1min};
    Reply reply;
    return batched.apply({&request, 1}, {&reply, 1}, BootClock::now() + time);
  };
  std::jthread leader([&] { EXPECT_TRUE(send("a", 10s)); });
  ASSERT_TRUE(await([&] { return calls == 1; }));
  std::jthread patient([&] { EXPECT_TRUE(send("b", 10s)); }),
      patient_too([&] { EXPECT_TRUE(send("c", 11s)); });
  const Status hasty = send("d", 20ms);
  ASSERT_FALSE(hasty);
  EXPECT_EQ(hasty.error().code, Errc::unavailable);  // never sent: clean
  leader.join();
  patient.join();
  patient_too.join();
  EXPECT_TRUE(is_free("d"));
}

TEST_P(Faults, an_acquire_that_arrives_after_the_release_of_its_successor_leaves_no_ghost) {
  // The first acquire is lost on the way and arrives, on a connection nobody listens to any more, after the
  // second one was granted and released.
  const auto arrives = [&](const std::string& key) {
    const auto stray = database_->new_client()->connect(BootClock::now() + 5s).value();
    std::string owner;
    int calls = 0;
    Client client = chosen_client([&](std::span<const Request> requests) {
      if (++calls != 1) return Fault{};
      owner = requests[0].owner.text;
      return Fault{Fault::Kind::lose_before};
    });
    Lease lease = client.acquire(key, {.ttl = 1min});
    const Instant until = BootClock::now() + 1s;
    lease.release();
    return is_given_back({.verb = Verb::acquire, .key = {key}, .owner = {owner}, .ttl = 1min}, *stray, until);
  };
  int times = 0;  // if we were paused for so long that it was never sent: again
  EXPECT_TRUE(await([&] { return arrives("k" + std::to_string(++times)); }));
}

TEST_P(Faults, giving_up_under_a_shared_name_frees_nothing_that_others_of_that_name_hold) {
  Trouble trouble;
  Client client = troubled_client(trouble, {.place = 2min});
  const Lease theirs = observer_.acquire("k", {.owner = "team"});
  trouble.set(Fault::Kind::lose_after);
  EXPECT_EQ(client.try_acquire("k", {.ttl = 1min, .owner = "team"}).error().code, Errc::in_doubt);
  trouble.end();
  const Lease other = observer_.acquire("l", {.owner = "blocker"});
  EXPECT_EQ(client.try_acquire("l", {.wait = 20ms, .owner = "team"}).error().code, Errc::timeout);
  EXPECT_TRUE(await([&] { return waiting("l") == 0; }));
  let_pass(300ms);  // whatever would be given back has been by now
  EXPECT_FALSE(is_free("k"));
}

// A server that became a replica under its clients.
class Demoted final : public StoreConnection {
 public:
  Demoted(std::unique_ptr<StoreConnection> inner, Trouble trouble)
      : inner_(std::move(inner)), trouble_(std::move(trouble)) {}
  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    if (trouble_.now().kind != Fault::Kind::none) return Error{Errc::refused, "a replica takes no writes"};
    return inner_->apply(requests, replies, until);
  }
  Result<Page> list(const Query& query, Instant until) override { return inner_->list(query, until); }
  Result<Traits> examine(Instant until) override { return inner_->examine(until); }

 private:
  const std::unique_ptr<StoreConnection> inner_;
  const Trouble trouble_;
};

// Behind the same address another server may answer by now: one that was the primary is a replica.
TEST_P(Faults, a_refusal_ends_the_connection_and_the_next_call_has_a_new_one) {
  std::atomic<int> connections = 0;
  Trouble trouble;
  Client client(wrapped(database_->new_client(), [&, trouble](std::unique_ptr<StoreConnection> connection) {
    ++connections;
    return std::make_unique<Demoted>(std::move(connection), trouble);
  }));
  trouble.set(Fault::Kind::refuse_before);
  const auto refused = client.try_acquire("k");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused);
  trouble.end();
  const int before = connections;
  EXPECT_TRUE(client.try_acquire("k"));
  EXPECT_GT(connections, before);
}

TEST_P(Faults, a_store_that_throws_at_a_renewal_or_a_pending_release_is_asked_again) {
  std::atomic<int> renewals = 0, releases = 0;
  Client client = chosen_client([&](std::span<const Request> requests) {
    if (requests[0].verb == Verb::renew && ++renewals <= 2) throw std::runtime_error("renew");
    if (requests[0].verb == Verb::release && ++releases <= 2) throw std::runtime_error("release");
    return Fault{};
  });
  Lease lease = short_lease(client, "k", {.ttl = 6s});
  const Instant first = lease.deadline();
  EXPECT_TRUE(await([&] { return lease.deadline() > first; }));
  EXPECT_EQ(lease.try_release().error().code, Errc::in_doubt);
  EXPECT_TRUE(await([&] { return releases > 2 && is_free("k"); }));
}

HOLDFAST_ON_EVERY_STORE(Faults);

}  // namespace
}  // namespace holdfast::test
