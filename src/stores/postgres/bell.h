// SPDX-License-Identifier: Apache-2.0
// bell.h - LISTEN on a connection of its own.
#pragma once
#include <memory>
#include <optional>

#include "base/fd.h"
#include "holdfast/store.h"
#include "stores/postgres/connection.h"
#include "stores/postgres/site.h"

namespace holdfast::postgres {

class ListenBell final : public Bell {
 public:
  // Does not fail: one that cannot connect tries again whenever it is asked what rang, about once a second.
  explicit ListenBell(std::shared_ptr<const Site> site);

  // Of the connection, or of a timer while there is none.
  int fd() const noexcept override { return connection_ ? connection_->fd() : timer_.get(); }
  Result<std::vector<std::string>> rung() override;

 private:
  void listen() noexcept;

  const std::shared_ptr<const Site> site_;
  const Fd timer_;  // readable when it is time to connect again
  std::optional<Connection> connection_;
};

}  // namespace holdfast::postgres
