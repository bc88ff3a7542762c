// SPDX-License-Identifier: Apache-2.0
// session.h - a connection to a server that was checked, made anew when it broke, and the server's clock.
#pragma once
#include <memory>

#include "core/timing.h"
#include "stores/redis/connection.h"

namespace holdfast::redis {

// Throws Failure.  Used by one thread at a time.
class Session {
 public:
  explicit Session(std::shared_ptr<const StoreConfig> config) : config_(std::move(config)) {}

  // A connection on which nothing is in flight.  If the server has closed an idle one (`timeout`), or was
  // restarted meanwhile, connects again: nothing has been sent to it yet.
  Connection& ready(Instant until);

  // The moment on the server's clock after which a request that must end by `until` is void.  Reads the
  // server's clock first if what we know of it is too old.  REQUIRES: ready().
  Micros void_after(Instant until);
  void learn(Instant sent, Instant received, Micros server_clock);

  const StoreConfig& config() const noexcept { return *config_; }
  const std::shared_ptr<const StoreConfig>& shared_config() const noexcept { return config_; }

 private:
  void connect(Instant until);

  const std::shared_ptr<const StoreConfig> config_;
  std::unique_ptr<Connection> connection_;
  core::StoreOffset offset_;
  Instant used_{}, learned_{};
};

// Of an answer to TIME.
Micros time_in(const Value& answer);

}  // namespace holdfast::redis
