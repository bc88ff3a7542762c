// SPDX-License-Identifier: Apache-2.0
// connection.h - a connection to a store that is made when it is needed.
#pragma once
#include <functional>
#include <memory>

#include "client/telemetry.h"
#include "holdfast/spi/store.h"

namespace holdfast {

// Connects on first use, and again after a call that got no reply or was refused.  After a call without a
// reply, the reply may still arrive on the old connection; after a refusal, another server may answer at the
// same address.
//
// If connecting fails, the call goes to `spare`, if there is one: a server that has reached its limit refuses
// new connections, but answers on those that it has.  Then connecting gets half of the time.
class Connection final : public StoreConnection {
 public:
  // Without telemetry its calls are not observed.
  explicit Connection(std::shared_ptr<Store> store, std::shared_ptr<Telemetry> telemetry = nullptr,
                      std::shared_ptr<StoreConnection> spare = nullptr)
      : store_(std::move(store)), telemetry_(std::move(telemetry)), spare_(std::move(spare)) {}

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    return with_store({StoreOperation::apply, requests.size()}, until,
                      [&](StoreConnection& c) { return c.apply(requests, replies, until); });
  }
  Result<Page> list(const Query& query, Instant until) override {
    return with_store({StoreOperation::list}, until,
                      [&](StoreConnection& c) { return c.list(query, until); });
  }
  Result<Traits> examine(Instant until) override {
    return with_store({StoreOperation::examine}, until, [&](StoreConnection& c) { return c.examine(until); });
  }
  Result<std::unique_ptr<StoreListener>> listener(Instant until) override {
    if (!connection_)
      return Error{Errc::unavailable, "the connection was lost; the next request connects again"};
    return connection_->listener(until);
  }

 private:
  struct Kind {
    StoreOperation operation;
    std::size_t requests = 0;
  };

  template <class Call>
  auto with_store(Kind kind, Instant until, Call call) -> decltype(call(std::declval<StoreConnection&>())) {
    if (!connection_) {
      auto connected = measured({StoreOperation::connect},
                                [&] { return store_->connect(spare_ ? halfway(until) : until); });
      if (!connected && spare_) return call(*spare_);
      if (!connected) return std::move(connected).error();
      connection_ = *std::move(connected);
    }
    auto result = measured(kind, [&] { return answered(call); });
    const auto is = [&](Errc code) { return result.error().code == code; };
    if (!result && (is(Errc::unavailable) || is(Errc::in_doubt) || is(Errc::refused))) connection_.reset();
    return result;
  }

  static Instant halfway(Instant until) {
    const Instant now = BootClock::now();
    return until == Instant::max() || until <= now ? until : now + (until - now) / 2;
  }

  // After an exception (out of memory) a reply may be half read, so the connection is dropped.
  template <class Call>
  auto answered(Call& call) -> decltype(call(std::declval<StoreConnection&>())) {
    try {
      return call(*connection_);
    } catch (...) {
      connection_.reset();
      throw;
    }
  }

  template <class Call>
  auto measured(Kind kind, const Call& call) -> decltype(call()) {
    return telemetry_ ? telemetry_->measured(kind.operation, kind.requests, call) : call();
  }

  const std::shared_ptr<Store> store_;
  const std::shared_ptr<Telemetry> telemetry_;
  const std::shared_ptr<StoreConnection> spare_;
  std::unique_ptr<StoreConnection> connection_;
};

// Reports the calls of a Connection after each call, when no other thread waits for this one.
class ObservedConnection final : public StoreConnection {
 public:
  // `report` calls Telemetry::report_calls(), or is empty if there is no observer.  `connection` must outlive
  // this.
  ObservedConnection(StoreConnection& connection, std::function<void()> report)
      : connection_(connection), report_(std::move(report)) {}

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    return reported(connection_.apply(requests, replies, until));
  }
  Result<Page> list(const Query& query, Instant until) override {
    return reported(connection_.list(query, until));
  }
  Result<Traits> examine(Instant until) override { return reported(connection_.examine(until)); }
  Result<std::unique_ptr<StoreListener>> listener(Instant until) override {
    return reported(connection_.listener(until));
  }

 private:
  template <class T>
  Result<T> reported(Result<T> result) {
    if (report_) report_();
    return result;
  }

  StoreConnection& connection_;
  const std::function<void()> report_;
};

}  // namespace holdfast
