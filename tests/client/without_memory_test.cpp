// SPDX-License-Identifier: Apache-2.0
// A client that gets no memory: it ends no process and forgets no lease.
#include <cstdlib>
#include <new>

#include "tests/client/suite.h"

namespace {

thread_local int allocations_left = -1;  // of this thread; below zero: as many as it likes

}  // namespace

void* operator new(std::size_t size) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace holdfast::test {
namespace {

// There is no memory to read a log or the notifications of a listener.
class NoMemory final : public StoreConnection {
 public:
  explicit NoMemory(std::unique_ptr<StoreConnection> inner) : inner_(std::move(inner)) {}
  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    return inner_->apply(requests, replies, until);
  }
  Result<Page> list(const Query&, Instant) override { throw std::bad_alloc(); }
  Result<Traits> examine(Instant until) override { return inner_->examine(until); }
  Result<std::unique_ptr<StoreListener>> listener(Instant until) override {
    struct Mute final : StoreListener {
      explicit Mute(std::unique_ptr<StoreListener> b) : listener(std::move(b)) {}
      int fd() const noexcept override { return listener->fd(); }
      Result<std::vector<std::string>> ready() override { throw std::bad_alloc(); }
      const std::unique_ptr<StoreListener> listener;
    };
    auto listener = inner_->listener(until);
    if (listener && *listener) *listener = std::make_unique<Mute>(*std::move(listener));
    return listener;
  }

 private:
  const std::unique_ptr<StoreConnection> inner_;
};

class WithoutMemory : public ClientTest {
 protected:
  Client client_{
      wrapped(database_->new_client(),
              [](std::unique_ptr<StoreConnection> s) { return std::make_unique<NoMemory>(std::move(s)); }),
      {.place = 2min}};
};

TEST_P(WithoutMemory, a_loss_is_reported_though_the_log_cannot_be_read) {
  const Lease lease = short_lease(client_, "k", {.ttl = 6s});
  by_hand_.break_lease("k", lease.token(), {.by = "olga", .reason = "stuck"});
  EXPECT_TRUE(await([&] { return lease.stop_token().stop_requested(); }));
  EXPECT_EQ(lease.lost().reason, Loss::gone);
}

TEST_P(WithoutMemory, a_release_wakes_the_waiters_though_notifications_cannot_be_read) {
  Lease lease = observer_.acquire("k");
  std::jthread waiter([&] { EXPECT_TRUE(client_.try_acquire("k", {.wait = 1min})); });
  ASSERT_TRUE(await([&] { return waiting("k") == 1; }));
  lease.release();
}

// In memory alone, since a store that fails is asked again for seconds.  The first allocation of an acquire
// fails and all that follow, then the second and all that follow, ...
class GivingBack : public ClientTest {};

TEST_P(GivingBack, needs_no_memory_that_was_not_there_before_the_acquire) {
  Client client = new_client();
  bool granted = false;
  for (int n = 0; !granted; ++n) {
    const std::string key = "k" + std::to_string(n);
    try {
      const AcquireOptions options{.ttl = 10min};
      allocations_left = n;
      const auto lease = client.try_acquire(key, options);
      allocations_left = -1;
      granted = lease.has_value();
    } catch (const std::bad_alloc&) {
      allocations_left = -1;
    }
    EXPECT_TRUE(await([&] { return is_free(key); })) << n << " allocations worked";
  }
}

HOLDFAST_ON_EVERY_STORE(WithoutMemory);
HOLDFAST_ON_STORES(GivingBack, kinds_named({"memory"}));

}  // namespace
}  // namespace holdfast::test
