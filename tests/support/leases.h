// SPDX-License-Identifier: Apache-2.0
// leases.h - leases that end during a test, on a machine of any speed.
#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "holdfast/client.h"
#include "holdfast/spi/store.h"
#include "stores/decorators/faulty.h"
#include "tests/support/await.h"
#include "tests/support/databases.h"

namespace holdfast::test {

// One call for a short lease gets 50 ms, and an answer that leaves less than half of it is too late.  So it
// is asked for until it comes, and each time for longer.  REQUIRES: a ttl, and a test that does not count
// calls.
inline Lease short_lease(Client& client, std::string_view key, AcquireOptions options) {
  Lease lease;
  std::string why;
  EXPECT_TRUE(await([&] {
    auto result = client.try_acquire(key, options);
    if (result) {
      lease = *std::move(result);
      return true;
    }
    why = result.error().detail;
    if (!result.error().busy() && *options.ttl < std::chrono::seconds(3))
      options.ttl = Millis(*options.ttl) * 2;
    return false;
  })) << why;
  return lease;
}

// No renewal of this client reaches the store before `may_renew`: the first that does sees all that was done
// to the lease until then, and not half of it.  REQUIRES: `may_renew` outlives the client.
inline Client client_that_renews_later(std::shared_ptr<Store> store, const std::atomic<bool>& may_renew) {
  return Client(wrapped(std::move(store), [&may_renew](std::unique_ptr<StoreConnection> connection) {
    return std::make_unique<Faulty>(std::move(connection), [&may_renew](std::span<const Request> requests) {
      const bool refused = requests[0].verb == Verb::renew && !may_renew;
      return Fault{refused ? Fault::Kind::refuse_before : Fault::Kind::none};
    });
  }));
}

// What the store answers to the release of a lease that is over.  One call for a short lease gets 50 ms, so
// it is made until an answer comes.  REQUIRES: its deadline has passed.
inline std::optional<Released> release_of_lost(Lease& lease) {
  Result<Released> answer = Released::never_held;
  EXPECT_TRUE(await([&] { return (answer = lease.try_release()).has_value(); })) << answer.error().detail;
  return answer ? std::optional(*answer) : std::nullopt;
}

}  // namespace holdfast::test
