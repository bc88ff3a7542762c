// SPDX-License-Identifier: Apache-2.0
// suite.h - short words for what the ancestors and other lock libraries got wrong.
#pragma once
#include "tests/client/suite.h"

namespace holdfast::test {

class AsTheAncestors : public ClientTest {
 protected:
  // For tests that see the end of a lease: it is short, and whoever was paused while it came asks again.
  static Lease short_lease(Client& client, std::string_view key, const AcquireOptions& options) {
    Lease lease;
    EXPECT_TRUE(await([&] {
      auto result = client.try_acquire(key, options);
      if (result) lease = *std::move(result);
      return result.has_value();
    }));
    return lease;
  }
  LeaseRow row(std::string_view key) { return by_hand_.inspect(key).lease; }
};

}  // namespace holdfast::test
