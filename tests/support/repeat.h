// SPDX-License-Identifier: Apache-2.0
// repeat.h - a batch that meets locked rows is sent again.
#pragma once
#include <span>

#include "holdfast/spi/store.h"
#include "tests/support/await.h"

namespace holdfast::test {

struct Repeated {
  Status status;
  bool again = false;  // it was sent more than once: a release that was done at first is then lost
};

// On a busy machine a row may stay locked for longer than a call waits.  Every verb may be repeated.
inline Repeated apply_again(StoreConnection& connection, std::span<const Request> requests,
                            std::span<Reply> replies) {
  const auto send = [&] {
    Status status = connection.apply(requests, replies, BootClock::now() + std::chrono::seconds(10));
    for (const Reply& reply : replies)
      if (status && reply.error) status = *reply.error;
    return status;
  };
  Repeated done{send()};
  for (int tries = 1; tries < 10 && !done.status && done.status.error().code == Errc::unavailable; ++tries)
    done = {send(), true};
  return done;
}

}  // namespace holdfast::test
