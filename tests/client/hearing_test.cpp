// SPDX-License-Identifier: Apache-2.0
// How soon a holder hears what became of its lease.
#include <atomic>

#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

class Hearing : public ClientTest {};

// The replies of a store whose clock was set back by a minute after the grant.
class SetBack final : public StoreConnection {
 public:
  explicit SetBack(std::unique_ptr<StoreConnection> inner) : inner_(std::move(inner)) {}
  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    Status status = inner_->apply(requests, replies, until);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].verb == Verb::renew && replies[i].verdict == Verdict::granted)
        replies[i].remaining += 1min;
    }
    return status;
  }
  Result<Page> list(const Query& query, Instant until) override { return inner_->list(query, until); }
  Result<Traits> examine(Instant until) override { return inner_->examine(until); }

 private:
  const std::unique_ptr<StoreConnection> inner_;
};

TEST_P(Hearing, of_a_break_is_no_later_where_the_clock_of_the_store_was_set_back) {
  Client client(wrapped(database_->new_client(), [](std::unique_ptr<StoreConnection> s) {
    return std::make_unique<SetBack>(std::move(s));
  }));
  Lease lease = short_lease(client, "k", {.ttl = 6s});
  const Instant granted = lease.deadline();
  ASSERT_TRUE(await([&] { return lease.deadline() > granted; }));
  EXPECT_LE(lease.remaining(), 6s);
  by_hand_.break_lease("k", lease.token(), {.by = "olga", .reason = "stuck"});
  EXPECT_TRUE(await([&] { return lease.stop_token().stop_requested(); }));
  EXPECT_EQ(lease.lost().reason, Loss::broken);
}

TEST_P(Hearing, of_a_break_is_no_later_for_a_lease_that_was_extended_far) {
  Client client = new_client();
  Lease lease = short_lease(client, "k", {.ttl = 6s});
  lease.extend_by(1min);
  EXPECT_GT(lease.remaining(), 30s);
  by_hand_.break_lease("k", lease.token(), {.by = "olga", .reason = "stuck"});
  EXPECT_TRUE(await([&] { return lease.stop_token().stop_requested(); }));
  EXPECT_EQ(lease.lost().reason, Loss::broken);
}

// The stop comes first: a stop callback still finds the lease held, and code that finds it lost finds the
// stop requested.
TEST_P(Hearing, of_a_loss_by_stop_comes_before_held_turns_false) {
  Client client = new_client();
  for (int i = 0; i < 50; ++i) {
    Lease lease = short_lease(client, "k", {.ttl = 6s});
    const std::stop_token stop = lease.stop_token();
    std::atomic<bool> was_held = false;
    const std::stop_callback heard(stop, [&] { was_held = lease.held(); });
    by_hand_.break_lease("k", lease.token(), {.by = "olga", .reason = "stuck"});
    EXPECT_EQ(lease.try_renew().error().code, Errc::lost);
    EXPECT_FALSE(lease.held());
    ASSERT_TRUE(stop.stop_requested()) << i;
    ASSERT_TRUE(was_held) << i;
  }
}

TEST_P(Hearing, of_a_loss_by_stop_comes_before_the_deadline_too) {
  Client client = new_client();
  std::atomic<int> first = 0;  // of a dozen one may be late, on a machine that stood still just then
  for (int i = 0; i < 12; ++i) {
    const Lease lease = short_lease(client, "k" + std::to_string(i), {.ttl = 600ms, .keep = false});
    const std::stop_callback heard(lease.stop_token(), [&] { first += lease.held() ? 1 : 0; });
    EXPECT_TRUE(await([&] { return !lease.held() && lease.stop_token().stop_requested(); }));
  }
  EXPECT_GT(first, 0);
}

// A store whose first listener cannot connect.
class Deaf final : public StoreConnection {
 public:
  struct Asked {
    std::atomic<int> times = 0;
    std::atomic<bool> in_time = true;
  };
  Deaf(std::unique_ptr<StoreConnection> inner, Asked& asked) : inner_(std::move(inner)), asked_(asked) {}
  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    last_until_ = until;
    return inner_->apply(requests, replies, until);
  }
  Result<Page> list(const Query& query, Instant until) override { return inner_->list(query, until); }
  Result<Traits> examine(Instant until) override { return inner_->examine(until); }
  Result<std::unique_ptr<StoreListener>> listener(Instant until) override {
    if (until > last_until_) asked_.in_time = false;
    if (++asked_.times == 1) return Error{Errc::unavailable, "the server does not answer"};
    return inner_->listener(until);
  }

 private:
  const std::unique_ptr<StoreConnection> inner_;
  Asked& asked_;
  Instant last_until_{};
};

TEST_P(Hearing, of_a_release_is_asked_for_within_a_calls_time_and_again_after_a_failure) {
  Deaf::Asked asked;
  Client client(wrapped(database_->new_client(), [&](std::unique_ptr<StoreConnection> s) {
    return std::make_unique<Deaf>(std::move(s), asked);
  }));
  Lease lease = observer_.acquire("k");
  std::jthread waiter([&] { EXPECT_TRUE(client.try_acquire("k", {.wait = 1min})); });
  EXPECT_TRUE(await([&] { return asked.times == 2; }));
  EXPECT_TRUE(asked.in_time);
  lease.release();
}

// Its log does not answer before it may, whatever time it was given.
class SlowLog final : public StoreConnection {
 public:
  SlowLog(std::unique_ptr<StoreConnection> inner, const std::atomic<bool>& answers)
      : inner_(std::move(inner)), answers_(answers) {}
  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    return inner_->apply(requests, replies, until);
  }
  Result<Page> list(const Query& query, Instant until) override {
    await([this] { return answers_.load(); }, 1min);
    return inner_->list(query, until);
  }
  Result<Traits> examine(Instant until) override { return inner_->examine(until); }

 private:
  const std::unique_ptr<StoreConnection> inner_;
  const std::atomic<bool>& answers_;
};

TEST_P(Hearing, of_a_renewal_comes_before_anybody_asks_why_another_was_lost) {
  std::atomic<bool> asked = false, may_renew = false, log_answers = false;
  Client client(wrapped(database_->new_client(), [&](std::unique_ptr<StoreConnection> s) {
    return std::make_unique<Faulty>(std::make_unique<SlowLog>(std::move(s), log_answers),
                                    [&](std::span<const Request> requests) {
                                      if (requests[0].verb == Verb::renew) {
                                        asked = true;
                                        await([&] { return may_renew.load(); });
                                      }
                                      return Fault{};
                                    });
  }));
  // The keeper is busy with the first until the other two are due: so they travel together.
  const Lease first = client.acquire("first", {.ttl = 1h, .renew_every = 1ms});
  ASSERT_TRUE(await([&] { return asked.load(); }));
  const Lease lost = client.acquire("lost", {.ttl = 1h, .renew_every = 1ms});
  const Lease renewed = client.acquire("renewed", {.ttl = 1h, .renew_every = 1ms});
  by_hand_.break_lease("lost", lost.token(), {.by = "olga", .reason = "stuck"});
  const Instant before = renewed.deadline();
  let_pass(2ms);
  may_renew = true;
  EXPECT_TRUE(await([&] { return renewed.deadline() > before; }));
  log_answers = true;
  EXPECT_TRUE(await([&] { return !lost.held(); }));
}

TEST_P(Hearing, of_a_loss_by_the_clock_needs_no_thread) {
  Client client(database_->new_client());
  const Lease first = client.acquire("first", {.ttl = 200ms, .keep = false});
  const Lease second = client.acquire("second", {.ttl = 400ms, .keep = false});
  std::atomic<bool> held = true, over = false;
  const std::stop_callback slow(first.stop_token(), [&] {  // on that thread
    await([&] { return BootClock::now() >= second.deadline(); });
    held = second.held();
    over = true;
  });
  ASSERT_TRUE(await([&] { return over.load(); }));
  EXPECT_FALSE(held);
}

HOLDFAST_ON_EVERY_STORE(Hearing);

}  // namespace
}  // namespace holdfast::test
