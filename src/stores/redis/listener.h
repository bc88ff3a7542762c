// SPDX-License-Identifier: Apache-2.0
// listener.h - learns when a key may have become free: a connection of its own, subscribed to this client's
// channel.  After a while of silence it subscribes once more, which the server answers and which needs no
// further right (PING would).  If no answer comes, it connects again: a proxy or a firewall may have dropped
// the connection without notice.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "holdfast/spi/store.h"
#include "stores/redis/connection.h"

namespace holdfast::redis {

class RedisListener final : public StoreListener {
 public:
  // Subscribed when this returns, if the server can be reached by then.
  RedisListener(std::shared_ptr<const StoreConfig> config, Instant until);

  // Readable when something came on the connection, or when it is time to check it or to connect again.
  int fd() const noexcept override { return events_.get(); }
  // Never fails.  A connection that was lost, and is made anew if possible, may have lost notifications too.
  Result<std::vector<std::string>> ready() override;

 private:
  void connect(Instant until) noexcept;
  void disconnect() noexcept;
  // Whether anything came.
  bool take(std::vector<std::string>& keys);
  void subscribe(Connection& connection, Instant until) const;
  void check_alive();

  const std::shared_ptr<const StoreConfig> config_;
  const Fd timer_;
  const Fd events_;  // of the timer and of the connection
  std::unique_ptr<Connection> connection_;
  bool checking_ = false;  // subscribed once more, and no answer has come yet
  int failures_ = 0;
};

}  // namespace holdfast::redis
