// SPDX-License-Identifier: Apache-2.0
// faulty.h - a store that fails on demand.
#pragma once
#include <functional>

#include "holdfast/spi/store.h"

namespace holdfast {

// What goes wrong with one call of apply.
struct Fault {
  enum class Kind : std::uint8_t {
    none,
    refuse_before,  // unavailable, nothing applied
    lose_before,    // in doubt, nothing applied: the request got lost
    lose_after,     // in doubt, applied: the answer got lost
    hang_before,    // nothing happens for `length`, but at most until `until`; then in doubt, not applied
    hang_after,     // applied, and the answer is late by `length`; past `until` it is in doubt
    deaf,           // as hang_before, but ignores `until`: a driver stuck in the kernel
  };
  Kind kind = Kind::none;
  Millis length{};
};

// Asks before each call which fault it gets.  The choice is made by whoever makes this, so that a test
// can fail the first call, then the second, then the third, until the operation succeeds untouched.
class Faulty final : public StoreConnection {
 public:
  using Choose = std::function<Fault(std::span<const Request>)>;
  Faulty(std::unique_ptr<StoreConnection> connection, Choose choose)
      : connection_(std::move(connection)), choose_(std::move(choose)) {}

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override;
  Result<Page> list(const Query& query, Instant until) override { return connection_->list(query, until); }
  Result<Traits> examine(Instant until) override { return connection_->examine(until); }
  Result<std::unique_ptr<StoreListener>> listener(Instant until) override {
    return connection_->listener(until);
  }

 private:
  const std::unique_ptr<StoreConnection> connection_;
  const Choose choose_;
};

}  // namespace holdfast
