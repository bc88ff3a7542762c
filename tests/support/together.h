// SPDX-License-Identifier: Apache-2.0
// together.h - requests of different callers that travel in one batch.
#pragma once
#include <future>
#include <span>
#include <thread>
#include <vector>

#include "holdfast/spi/store.h"
#include "stores/decorators/batched.h"
#include "tests/support/await.h"

namespace holdfast::test {

// Returns the answer to each request.  Every request has a thread of its own; all come during a call, so that
// the next one takes them all.
inline std::vector<Result<Reply>> ask_together(StoreConnection& connection,
                                               std::span<const Request> requests) {
  struct Held final : StoreConnection {
    explicit Held(StoreConnection& s) : connection(s) {}
    Status apply(std::span<const Request> in, std::span<Reply> out, Instant until) override {
      if (in.empty()) go.get_future().wait();
      return connection.apply(in, out, until);
    }
    Result<Page> list(const Query& query, Instant until) override { return connection.list(query, until); }
    Result<Traits> examine(Instant until) override { return connection.examine(until); }

    StoreConnection& connection;
    std::promise<void> go;
  } held(connection);
  Batched batched(held);
  const Instant until = BootClock::now() + std::chrono::seconds(20);
  std::vector<Result<Reply>> told(requests.size(), Reply{});
  std::vector<std::jthread> threads;
  threads.emplace_back([&] { (void)batched.apply({}, {}, until); });
  for (std::size_t i = 0; i < requests.size(); ++i) {
    // In their order.
    if (!await([&] { return batched.callers() == i + 1; })) break;
    threads.emplace_back([&, i] {
      if (Status status = batched.apply({&requests[i], 1}, {&*told[i], 1}, until); !status)
        told[i] = std::move(status).error();
    });
  }
  (void)await([&] { return batched.callers() == requests.size() + 1; });
  held.go.set_value();
  threads.clear();
  return told;
}

}  // namespace holdfast::test
