// SPDX-License-Identifier: Apache-2.0
// connection.h - a store that is connected when it is needed.
#pragma once
#include <memory>

#include "holdfast/store.h"

namespace holdfast {

// Connects on first use, and anew after a call that was not answered (whatever that connection still has in
// flight, nobody waits for it any more) or refused: behind the same address another server may answer by now.
//
// A call that finds no connection goes to `spare`, if there is one: a server that is full lets nobody in, but
// answers those who are connected.  Connecting then gets half of the time, so that some is left.
class Connection final : public Store {
 public:
  explicit Connection(std::shared_ptr<Origin> origin, std::shared_ptr<Store> spare = nullptr)
      : origin_(std::move(origin)), spare_(std::move(spare)) {}

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    return with_store(until, [&](Store& store) { return store.apply(requests, replies, until); });
  }
  Result<Page> list(const Query& query, Instant until) override {
    return with_store(until, [&](Store& store) { return store.list(query, until); });
  }
  Result<Traits> examine(Instant until) override {
    return with_store(until, [&](Store& store) { return store.examine(until); });
  }
  std::unique_ptr<Bell> bell() override { return store_ ? store_->bell() : nullptr; }

 private:
  template <class Call>
  auto with_store(Instant until, Call call) -> decltype(call(std::declval<Store&>())) {
    if (!store_) {
      auto connected = origin_->connect(spare_ ? halfway(until) : until);
      if (!connected && spare_) return call(*spare_);
      if (!connected) return std::move(connected).error();
      store_ = *std::move(connected);
    }
    auto result = answered(call);
    const auto is = [&](Errc code) { return result.error().code == code; };
    if (!result && (is(Errc::unavailable) || is(Errc::in_doubt) || is(Errc::refused))) store_.reset();
    return result;
  }

  static Instant halfway(Instant until) {
    const Instant now = BootClock::now();
    return until == Instant::max() || until <= now ? until : now + (until - now) / 2;
  }

  // Without memory an answer may be left half read.
  template <class Call>
  auto answered(Call& call) -> decltype(call(std::declval<Store&>())) {
    try {
      return call(*store_);
    } catch (...) {
      store_.reset();
      throw;
    }
  }

  const std::shared_ptr<Origin> origin_;
  const std::shared_ptr<Store> spare_;
  std::unique_ptr<Store> store_;
};

}  // namespace holdfast
