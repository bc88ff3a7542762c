// SPDX-License-Identifier: Apache-2.0
// link.h - a connection that has been let in and looked at, and is made anew when it broke.
#pragma once
#include <memory>
#include <optional>

#include "core/timing.h"
#include "stores/redis/server.h"
#include "stores/redis/wire.h"

namespace holdfast::redis {

// Throws Failure.  Used by one thread at a time.
class Link {
 public:
  explicit Link(std::shared_ptr<const StoreConfig> config) : config_(std::move(config)) {}

  // A wire on which nothing is in flight.  A server that has closed an idle connection (`timeout`), or was
  // restarted meanwhile, is connected to anew: nothing has been asked of it yet.
  Wire& ready(Instant until);

  // What a server said when it was connected to.
  const ServerInfo& info() const { return *info_; }
  const core::StoreOffset& offset() const noexcept { return offset_; }
  void learn(Instant sent, Instant received, Micros store);
  // Asks for the time if what we know of it is too old to say when a call that ends then is void.
  //
  // REQUIRES: ready().
  void look_at_clock(Instant until);
  const StoreConfig& config() const noexcept { return *config_; }
  const std::shared_ptr<const StoreConfig>& shared_config() const noexcept { return config_; }

 private:
  void connect(Instant until);

  const std::shared_ptr<const StoreConfig> config_;
  std::unique_ptr<Wire> wire_;
  std::optional<ServerInfo> info_;
  core::StoreOffset offset_;
  Instant used_{}, learned_{};
};

// TIME's answer.
Micros time_of(const Value& answer);

}  // namespace holdfast::redis
