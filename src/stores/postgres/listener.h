// SPDX-License-Identifier: Apache-2.0
// listener.h - LISTEN on a connection of its own.
#pragma once
#include <memory>
#include <optional>

#include "base/fd.h"
#include "holdfast/spi/store.h"
#include "stores/postgres/config.h"
#include "stores/postgres/connection.h"

namespace holdfast::postgres {

// A line on which nothing happens may be dead without a word.  So a server that has been silent for a few
// seconds is asked for a sign of life, and one that gives none is connected to anew.
class PostgresListener final : public StoreListener {
 public:
  // One that cannot connect by then tries again whenever ready() is called, about once a second.
  PostgresListener(std::shared_ptr<const StoreConfig> config, Instant until);

  // Of the connection and of a timer, which says when to ask, or to connect again.
  int fd() const noexcept override { return either_.get(); }
  // A key "" where something came but nothing rang.
  Result<std::vector<std::string>> ready() override;

 private:
  void listen(Instant until) noexcept;
  void hang_up() noexcept;
  // The server may still be there; `time_is_over`: nothing was heard since the timer was set.
  bool is_alive(bool time_is_over);

  const std::shared_ptr<const StoreConfig> config_;
  const Fd timer_, either_;
  std::optional<Connection> connection_;
};

}  // namespace holdfast::postgres
