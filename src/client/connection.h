// SPDX-License-Identifier: Apache-2.0
// connection.h - a store that is connected when it is needed.
#pragma once
#include <memory>

#include "holdfast/store.h"

namespace holdfast {

// Connects on first use, and anew after a call that was not answered (whatever that connection still has in
// flight, nobody waits for it any more) or refused: behind the same address another server may answer by now.
class Connection final : public Store {
 public:
  explicit Connection(std::shared_ptr<Origin> origin) : origin_(std::move(origin)) {}

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
      auto connected = origin_->connect(until);
      if (!connected) return std::move(connected).error();
      store_ = *std::move(connected);
    }
    auto result = answered(call);
    const auto is = [&](Errc code) { return result.error().code == code; };
    if (!result && (is(Errc::unavailable) || is(Errc::in_doubt) || is(Errc::refused))) store_.reset();
    return result;
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
  std::unique_ptr<Store> store_;
};

}  // namespace holdfast
