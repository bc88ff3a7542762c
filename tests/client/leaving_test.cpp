// SPDX-License-Identifier: Apache-2.0
// What is done with the user's functions once their lease or client goes.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>

#include "holdfast/holdfast.h"
#include "holdfast/memory.h"
#include "stores/decorators/faulty.h"
#include "tests/support/await.h"
#include "tests/support/databases.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class Leaving : public ::testing::Test {
 protected:
  const std::shared_ptr<Store> store_ = memory::store(memory::make_database());
};

TEST_F(Leaving, nobody_keeps_the_functions_of_a_lease_that_has_gone) {
  Client client(store_);
  const auto owned = std::make_shared<int>();
  std::atomic<bool> asked = false;
  {
    Lease lease = client.acquire("k", {.ttl = 1h, .renew_every = 5ms, .max_renewals = 1, .finished = [&] {
                                         asked = true;
                                         return false;
                                       }});
    lease.on_lost([owned](const Lost&) {});
    ASSERT_TRUE(await([&] { return asked.load(); }));
  }
  EXPECT_TRUE(await([&] { return owned.use_count() == 1; })) << "the keeper sleeps with it";
}

TEST_F(Leaving, a_lease_waits_for_what_is_being_asked_on_its_behalf) {
  Client client(store_);
  std::atomic<bool> asked = false, leaving = false;
  std::optional<Lease> lease = client.acquire("k", {.ttl = 1h, .renew_every = 1ms, .finished = [&] {
                                                      asked = true;
                                                      EXPECT_TRUE(await([&] { return leaving.load(); }));
                                                      let_pass(50ms);
                                                      asked = false;
                                                      return false;
                                                    }});
  ASSERT_TRUE(await([&] { return asked.load(); }));
  leaving = true;
  lease.reset();
  EXPECT_FALSE(asked) << "what it looks at may go now";
}

TEST_F(Leaving, finished_may_release_the_lease) {
  Client client(store_);
  std::promise<void> released;
  std::optional<Lease> lease;
  std::atomic<bool> there = false;
  lease = client.acquire("k", {.ttl = 1h, .renew_every = 1ms, .finished = [&] {
                                 if (!there) return false;
                                 lease->release();
                                 released.set_value();
                                 return true;
                               }});
  there = true;
  EXPECT_EQ(released.get_future().wait_for(5s), std::future_status::ready) << "it waits for nobody";
  lease.reset();
}

TEST_F(Leaving, a_log_that_waits_for_the_thread_that_ends_the_client_does_not_block_it) {
  struct Shared {
    std::atomic<bool> fails = false, logging = false;
    std::promise<void> go;
  };
  const auto shared = std::make_shared<Shared>();
  const auto may_go = shared->go.get_future().share();
  std::optional<Client> client(Client(
      wrapped(store_,
              [shared](std::unique_ptr<StoreConnection> connection) {
                return std::make_unique<Faulty>(std::move(connection), [shared](std::span<const Request>) {
                  return Fault{shared->fails ? Fault::Kind::refuse_before : Fault::Kind::none, 0ms};
                });
              }),
      {.log = [shared, may_go](std::string_view) {
        shared->logging = true;
        may_go.wait();
      }}));
  std::optional<Lease> lease = client->acquire("k", {.ttl = 1h, .renew_every = 1ms});
  shared->fails = true;
  ASSERT_TRUE(await([&] { return shared->logging.load(); }));
  auto gone = std::async(std::launch::async, [&] {
    lease.reset();
    client.reset();
  });
  EXPECT_EQ(gone.wait_for(20s), std::future_status::ready);
  shared->go.set_value();
}

}  // namespace
}  // namespace holdfast::test
