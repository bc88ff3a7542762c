// SPDX-License-Identifier: Apache-2.0
// telemetry.h - the only way to the user's log and observer.
#pragma once
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sync.h"
#include "base/worker.h"
#include "client/lease_state.h"
#include "holdfast/observer.h"
#include "holdfast/options.h"
#include "holdfast/rows.h"
#include "holdfast/spi/store.h"

namespace holdfast {

// Calls the user's log and observer.  Exceptions that they throw are ignored: no lease may suffer from them.
//
// REQUIRES: the caller holds no mutex of the client.  (measured() may be called under one.)
class Telemetry {
 public:
  Telemetry(const ClientOptions& options, const Store& store)
      : log_(options.log),
        on_finding_(options.on_finding),
        observer_(options.observer),
        store_(store.name()) {}

  bool observes() const noexcept { return observer_ != nullptr; }
  bool logs() const noexcept { return log_ || observer_; }

  // notify(&Observer::on_lost, LostEvent{about(lease), lost})
  template <class Event>
  void notify(void (Observer::*function)(const Event&), const Event& event) const noexcept {
    if (observer_) guarded([&] { (*observer_.*function)(event); });
  }
  LeaseEvent about(const LeaseState& lease) const noexcept {
    return {store_, lease.key, lease.owner, lease.token};
  }
  LeaseEvent about(Key key, OwnerView owner, Token token = no_token) const noexcept {
    return {store_, key.text, owner.text, token};
  }

  // Adds the field "store" to `fields`.
  void log(LogLevel level, std::string_view text, std::initializer_list<LogField> fields = {}) const noexcept;
  void log(const Finding& finding) const noexcept;

  // Calls the store, and records the call for report_calls().  It does not call the observer itself, because
  // other threads may be waiting for the caller's connection.
  template <class Call>
  auto measured(StoreOperation operation, std::size_t requests, const Call& call) -> decltype(call()) {
    if (!observer_) return call();
    const Instant start = BootClock::now();
    auto result = call();
    const auto took = std::chrono::floor<Micros>(BootClock::now() - start);
    guarded([&] {
      remember({operation, requests, took, result ? std::nullopt : std::optional<Error>(result.error())});
    });
    return result;
  }
  void report_calls() noexcept;
  template <class Call>
  auto reported(StoreOperation operation, const Call& call) -> decltype(call()) {
    auto result = measured(operation, 0, call);
    report_calls();
    return result;
  }

  // For the client's own threads: runs `call`, which uses the members above, unless the client is closed.  A
  // thread whose store hangs can outlive its client, and must not call the user's functions then.
  template <class Call>
  void in_background(const Call& call) noexcept {
    if (!logs() || !enter()) return;
    const Telemetry* const outer = std::exchange(here_, this);
    guarded(call);
    here_ = outer;
    leave();
  }
  // Waits until no other thread is in in_background(), but not longer than `patience`: a user's function may
  // be waiting for something that the thread that ends the client holds.
  void close(Millis patience);

 private:
  struct StoreCall {
    StoreOperation operation;
    std::size_t requests;
    Micros took;
    std::optional<Error> error;
  };
  void remember(StoreCall call);
  bool enter();
  void leave();

  const std::function<void(const LogRecord&)> log_;
  const std::function<void(const Finding&, std::string_view)> on_finding_;
  const std::shared_ptr<Observer> observer_;
  const std::string store_;

  Mutex calls_mutex_;
  std::vector<StoreCall> calls_;  // guarded by it

  Mutex background_mutex_;  // guards what follows
  bool closed_ = false;
  int inside_ = 0;  // threads that are in in_background()
  Condition left_;
  static thread_local const Telemetry* here_;  // this thread is in in_background() of it
};

}  // namespace holdfast
