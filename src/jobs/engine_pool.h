// SPDX-License-Identifier: Apache-2.0
// engine_pool.h - job engines, which are connections of their own, made when needed and used by one thread at
// a time.
#pragma once
#include <memory>
#include <vector>

#include "base/sync.h"
#include "client/telemetry.h"
#include "holdfast/spi/job_engine.h"

namespace holdfast::jobs {

class EnginePool {
 public:
  EnginePool(std::shared_ptr<Store> store, std::shared_ptr<Telemetry> telemetry)
      : store_(std::move(store)), telemetry_(std::move(telemetry)) {}

  // Calls `call(engine)` with an idle engine.  If the call got no reply or was refused, the engine is
  // destroyed, because the reply may still arrive on its connection.  The caller reports the calls.
  template <class Call>
  auto with(Instant until, Call call) -> decltype(call(std::declval<JobEngine&>())) {
    auto engine = take(until);
    if (!engine) return std::move(engine).error();
    auto result = telemetry_->measured(StoreOperation::jobs, 0, [&] { return call(**engine); });
    const auto is = [&](Errc code) { return result.error().code == code; };
    const bool broken = !result && (is(Errc::unavailable) || is(Errc::in_doubt) || is(Errc::refused));
    if (!broken) give_back(*std::move(engine));
    return result;
  }

 private:
  Result<std::unique_ptr<JobEngine>> take(Instant until) {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto engine = std::move(idle_.back());
        idle_.pop_back();
        return engine;
      }
    }
    return telemetry_->measured(StoreOperation::connect, 0, [&] { return store_->jobs(until); });
  }
  void give_back(std::unique_ptr<JobEngine> engine) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(engine));
  }

  const std::shared_ptr<Store> store_;
  const std::shared_ptr<Telemetry> telemetry_;  // the client's
  Mutex mutex_;
  std::vector<std::unique_ptr<JobEngine>> idle_;
};

}  // namespace holdfast::jobs
