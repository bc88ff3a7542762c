// SPDX-License-Identifier: Apache-2.0
// How long a lease is believed in, and what the reply to a renewal changes.
#include <array>
#include <atomic>
#include <future>

#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

class Renewing : public ClientTest {};

TEST_P(Renewing, lets_a_lease_be_believed_in_for_its_ttl_less_the_margin) {
  Client client = new_client({.margin = 20s});
  Lease lease = short_lease(client, "k", {.ttl = 1min});
  EXPECT_LE(lease.deadline(), BootClock::now() + 40s);
  ASSERT_TRUE(await([&] { return lease.try_renew().has_value(); }));
  EXPECT_LE(lease.deadline(), BootClock::now() + 40s);
}

TEST_P(Renewing, counts_from_when_it_was_sent) {
  std::atomic<Instant::rep> reached = 0;  // when the last request came to the store: after it was sent
  std::atomic<int> renewed = 0, too_long = 0;
  Client client = chosen_client(
      [&](std::span<const Request>) {
        reached = BootClock::now().time_since_epoch().count();
        return Fault{Fault::Kind::hang_after, 50ms};
      },
      {.margin = 0ms});
  Lease lease = short_lease(client, "k", {.ttl = 1min, .renew_every = 200ms});
  lease.on_renewed([&](Instant deadline) {
    if (deadline > Instant(Instant::duration(reached)) + 1min) ++too_long;
    ++renewed;
  });
  EXPECT_TRUE(await([&] { return renewed >= 2; }));
  EXPECT_EQ(too_long, 0);
  lease.release();
}

// A store answers each request of a batch, and may fail to do what one of them asks for.
class FailingOne final : public StoreConnection {
 public:
  explicit FailingOne(std::unique_ptr<StoreConnection> inner) : inner_(std::move(inner)) {}
  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    Status status = inner_->apply(requests, replies, until);
    for (std::size_t i = 0; i < requests.size() && status; ++i) {
      if (requests[i].verb == Verb::renew && requests[i].key.text == "b")
        replies[i].error = Error{Errc::unavailable, "planted fault: not this one"};
    }
    return status;
  }
  Result<Page> list(const Query& query, Instant until) override { return inner_->list(query, until); }
  Result<Traits> examine(Instant until) override { return inner_->examine(until); }

 private:
  const std::unique_ptr<StoreConnection> inner_;
};

TEST_P(Renewing, of_one_lease_of_a_batch_may_fail_and_the_others_are_renewed) {
  std::array<std::atomic<int>, 3> renewed{};
  Client client(wrapped(database_->new_client(), [](std::unique_ptr<StoreConnection> connection) {
    return std::make_unique<FailingOne>(std::move(connection));
  }));
  std::array<Lease, 3> leases;
  for (std::size_t i = 0; i < leases.size(); ++i) {
    const std::string key(1, static_cast<char>('a' + i));
    leases[i] = short_lease(client, key, {.ttl = 20s, .renew_every = 200ms});
    leases[i].on_renewed([&renewed, i](Instant) { ++renewed[i]; });
  }
  EXPECT_TRUE(await([&] { return renewed[0] >= 2 && renewed[2] >= 2; }));
  EXPECT_EQ(renewed[1], 0);
  for (Lease& lease : leases) (void)lease.try_release();
}

TEST_P(Renewing, ends_the_jeopardy_also_for_a_function_that_is_set_later) {
  std::atomic<int> told = 0, renewed = 0;
  std::promise<void> jeopardy;
  Trouble trouble;
  Client client = troubled_client(trouble);
  Lease lease = short_lease(client, "k", {.ttl = 9s});
  lease.on_jeopardy([&] { jeopardy.set_value(); });
  trouble.set(Fault::Kind::refuse_before);
  jeopardy.get_future().wait();
  trouble.end();
  ASSERT_TRUE(await([&] { return lease.try_renew().has_value(); }));
  lease.on_jeopardy([&] { ++told; });
  // All functions run on one thread, one after the other.
  lease.on_renewed([&](Instant) { ++renewed; });
  ASSERT_TRUE(await([&] { return lease.try_renew().has_value(); }));
  EXPECT_TRUE(await([&] { return renewed >= 1; }));
  EXPECT_EQ(told, 0);
  lease.release();
}

HOLDFAST_ON_EVERY_STORE(Renewing);

}  // namespace
}  // namespace holdfast::test
