// SPDX-License-Identifier: Apache-2.0
// More leases than a store can renew in one call.
#include <algorithm>

#include "base/fd.h"
#include "base/wakeup.h"
#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

// Each renewal in a call takes the store so long; a call that does not finish in time was for nothing.
class Slow final : public StoreConnection {
 public:
  using Cost = std::atomic<Millis>;
  Slow(std::unique_ptr<StoreConnection> inner, const Cost& cost) : inner_(std::move(inner)), cost_(cost) {}
  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    const bool renews = requests[0].verb == Verb::renew;
    const Instant end = clamped_add(BootClock::now(),
                                    renews ? cost_.load() * static_cast<Millis::rep>(requests.size()) : 0ms);
    Wakeup().wait(std::min(end, until));
    if (end > until) return Error{Errc::in_doubt, "did not answer before the time was over"};
    return inner_->apply(requests, replies, until);
  }
  Result<Page> list(const Query& query, Instant until) override { return inner_->list(query, until); }
  Result<Traits> examine(Instant until) override { return inner_->examine(until); }

 private:
  const std::unique_ptr<StoreConnection> inner_;
  const Cost& cost_;
};

class KeepMany : public ClientTest {
 protected:
  std::vector<Lease> leases(std::size_t many, Millis ttl) {
    std::vector<Lease> leases;
    while (leases.size() < many)
      leases.push_back(client_.acquire(std::to_string(leases.size()), {.ttl = ttl}));
    for (Lease& lease : leases) lease.on_jeopardy([this] { ++in_jeopardy_; });
    return leases;
  }
  static Instant first_deadline(const std::vector<Lease>& leases) {
    Instant first = Instant::max();
    for (const Lease& lease : leases) first = std::min(first, lease.deadline());
    return first;
  }
  static auto lost(const std::vector<Lease>& leases) {
    return std::count_if(leases.begin(), leases.end(), [](const Lease& lease) { return !lease.held(); });
  }

  Slow::Cost cost_ = 0ms;
  std::atomic<int> in_jeopardy_ = 0;
  Client client_{wrapped(database_->new_client(), [this](std::unique_ptr<StoreConnection> s) {
    return std::make_unique<Slow>(std::move(s), cost_);
  })};
};

// A call gets a second.
TEST_P(KeepMany, none_is_lost_or_ever_in_jeopardy_where_all_of_them_are_too_many_for_one_call) {
  cost_ = 3ms;
  const auto kept = leases(500, 6s);
  const Instant end = BootClock::now() + 6s;
  ASSERT_TRUE(await([&] { return BootClock::now() > end || lost(kept) > 0; }));
  EXPECT_EQ(lost(kept), 0);
  EXPECT_EQ(in_jeopardy_, 0);
}

TEST_P(KeepMany, none_is_lost_when_the_store_becomes_too_slow_for_what_it_managed_before) {
  const auto kept = leases(300, 6s);
  const Instant first = first_deadline(kept);
  ASSERT_TRUE(await([&] { return first_deadline(kept) > first; })) << "all were renewed";
  cost_ = 5ms;
  const Instant end = BootClock::now() + 6s;
  ASSERT_TRUE(await([&] { return BootClock::now() > end || lost(kept) > 0; }));
  EXPECT_EQ(lost(kept), 0);
}

HOLDFAST_ON_EVERY_STORE(KeepMany);

}  // namespace
}  // namespace holdfast::test
