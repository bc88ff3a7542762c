// SPDX-License-Identifier: Apache-2.0
// bell.h - hears when a key may have become free: a connection of its own, subscribed to this client's
// channel.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "holdfast/store.h"
#include "stores/redis/wire.h"

namespace holdfast::redis {

class RedisBell final : public Bell {
 public:
  // Subscribed when this returns, if the server can be reached within a second.
  explicit RedisBell(std::shared_ptr<const Site> site);

  // The connection's; while there is none, a timer's that says when to try again.
  int fd() const noexcept override;
  // Never fails.  A connection that was lost, and is made anew if possible, may have lost rings too.
  Result<std::vector<std::string>> rung() override;

 private:
  void connect() noexcept;
  void take(std::vector<std::string>& keys);

  const std::shared_ptr<const Site> site_;
  const Fd timer_;
  std::unique_ptr<Wire> wire_;
  int failures_ = 0;
};

}  // namespace holdfast::redis
