// SPDX-License-Identifier: Apache-2.0
// listener.h - hears when a key may have become free: a connection of its own, subscribed to this client's
// channel.  After a while of silence it subscribes once more, which the server answers and which needs no
// right beside (PING would), and if no answer comes the connection is made anew: a proxy or a firewall may
// have forgotten it without telling anybody.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "holdfast/spi/store.h"
#include "stores/redis/wire.h"

namespace holdfast::redis {

class RedisListener final : public StoreListener {
 public:
  // Subscribed when this returns, if the server can be reached within a second.
  explicit RedisListener(std::shared_ptr<const StoreConfig> config);

  // Readable when something came on the connection, or when it is time to ask or to try again.
  int fd() const noexcept override { return events_.get(); }
  // Never fails.  A connection that was lost, and is made anew if possible, may have lost notifications too.
  Result<std::vector<std::string>> ready() override;

 private:
  void connect() noexcept;
  void disconnect() noexcept;
  // Whether anything came.
  bool take(std::vector<std::string>& keys);
  void subscribe(Wire& wire, Instant until) const;
  void ask_for_life();

  const std::shared_ptr<const StoreConfig> config_;
  const Fd timer_;
  const Fd events_;  // of the timer and of the connection
  std::unique_ptr<Wire> wire_;
  bool asked_ = false;  // for a sign of life, and none has come yet
  int failures_ = 0;
};

}  // namespace holdfast::redis
